"""Records and error codes of the shop."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from servers.kernel.store import Record
from servers.kernel.types import Entity, Hidden, Money

ProductId: TypeAlias = Annotated[str, Entity("shop_product")]
VariantId: TypeAlias = Annotated[str, Entity("shop_variant")]
CartLineId: TypeAlias = Annotated[str, Entity("shop_cart_line")]
CouponCode: TypeAlias = Annotated[str, Entity("shop_coupon", natural=True)]
AddressId: TypeAlias = Annotated[str, Entity("shop_address")]
ShippingOptionId: TypeAlias = Annotated[str, Entity("shop_shipping_option")]
PaymentMethodId: TypeAlias = Annotated[str, Entity("shop_payment_method")]
OrderId: TypeAlias = Annotated[str, Entity("shop_order")]
OrderLineId: TypeAlias = Annotated[str, Entity("shop_order_line")]
WishId: TypeAlias = Annotated[str, Entity("shop_wish")]

ProductCategory: TypeAlias = Literal["shoes", "clothing", "kitchen", "electronics", "outdoor", "books"]
OrderStatus: TypeAlias = Literal["processing", "shipped", "delivered", "cancelled"]
CouponState: TypeAlias = Literal["ready", "expired", "used"]
ReturnReason: TypeAlias = Literal["damaged", "faulty", "unwanted", "unsuitable"]
RefundTarget: TypeAlias = Literal["card", "credit"]


class Fault(StrEnum):
    """What the shop refuses, beyond bad arguments and unknown ids."""

    OUT_OF_STOCK = "out_of_stock"
    QUANTITY_LIMIT_EXCEEDED = "quantity_limit_exceeded"
    CART_CURRENCY_MISMATCH = "cart_currency_mismatch"
    CART_EMPTY = "cart_empty"
    HOLD_EXPIRED = "hold_expired"
    COUPON_EXPIRED = "coupon_expired"
    COUPON_USED = "coupon_used"
    COUPON_MINIMUM_NOT_MET = "coupon_minimum_not_met"
    COUPON_NOT_APPLICABLE = "coupon_not_applicable"
    COUPON_ALREADY_APPLIED = "coupon_already_applied"
    ADDRESS_NOT_SERVED = "address_not_served"
    ADDRESS_LABEL_TAKEN = "address_label_taken"
    INVALID_POSTCODE = "invalid_postcode"
    SHIPPING_NOT_AVAILABLE = "shipping_not_available"
    PAYMENT_METHOD_EXPIRED = "payment_method_expired"
    PAYMENT_DECLINED = "payment_declined"
    WRONG_CVV = "wrong_cvv"
    ORDER_ALREADY_SHIPPED = "order_already_shipped"
    ORDER_CANCELLED = "order_cancelled"
    NOT_DELIVERED_YET = "not_delivered_yet"
    RETURN_WINDOW_CLOSED = "return_window_closed"
    FINAL_SALE = "final_sale"
    ALREADY_RETURNED = "already_returned"
    ALREADY_REVIEWED = "already_reviewed"
    ALREADY_ON_WISH_LIST = "already_on_wish_list"
    ALERT_NOT_BELOW_PRICE = "alert_not_below_price"
    GIFT_CARD_UNKNOWN = "gift_card_unknown"
    GIFT_CARD_USED = "gift_card_used"
    GIFT_CARD_EXPIRED = "gift_card_expired"
    NOT_ENOUGH_POINTS = "not_enough_points"


@dataclass(frozen=True, slots=True)
class Product(Record):
    """Something on sale. `final_sale` goods come back only when damaged or faulty."""

    id: ProductId
    name: str
    brand: str
    category: ProductCategory
    final_sale: bool
    max_per_order: int


@dataclass(frozen=True, slots=True)
class Variant(Record):
    """A size or colour of a product; `stock` counts what no finished order has taken."""

    id: VariantId
    product_id: ProductId
    name: str
    price: Money
    stock: int


@dataclass(frozen=True, slots=True)
class Hold(Record):
    """Pieces that another shopper's cart keeps from sale until a moment."""

    id: str
    variant_id: VariantId
    quantity: int
    until: datetime


@dataclass(frozen=True, slots=True)
class Review(Record):
    """A buyer's stars and words."""

    id: str
    product_id: ProductId
    author: str
    stars: int
    text: str
    written_at: datetime


@dataclass(frozen=True, slots=True)
class CartLine(Record):
    """Pieces of one variant in the customer's cart, reserved until `held_until`."""

    id: CartLineId
    variant_id: VariantId
    quantity: int
    held_until: datetime


@dataclass(frozen=True, slots=True)
class Wallet(Record):
    """The customer's one row: store credit by currency, loyalty points, and the cart's coupon.

    Points fall below zero when an order is cancelled whose points were spent.
    """

    id: str
    credit: tuple[Money, ...]
    points: int
    coupon_code: str


@dataclass(frozen=True, slots=True)
class Coupon(Record):
    """A percentage off an order; `category` is empty when it covers everything."""

    id: CouponCode
    percent: int
    minimum: Money
    category: str
    valid_until: date
    used: bool


@dataclass(frozen=True, slots=True)
class Address(Record):
    """An entry of the address book."""

    id: AddressId
    label: str
    street: str
    city: str
    country: str
    postcode: str


@dataclass(frozen=True, slots=True)
class ShippingOption(Record):
    """A service to some countries; `cost` is in minor units of the cart's currency."""

    id: ShippingOptionId
    name: str
    countries: tuple[str, ...]
    cost: int
    days: int


@dataclass(frozen=True, slots=True)
class PaymentMethod(Record):
    """A saved card, known by its last four digits. `ceiling` is the most it pays at once, in major units."""

    id: PaymentMethodId
    label: str
    last_four: str
    expires: date
    ceiling: Annotated[int, Hidden]
    cvv: Annotated[str, Hidden]


@dataclass(frozen=True, slots=True)
class Order(Record):
    """A purchase whose status follows from its moments; `points` are what it earned."""

    id: OrderId
    placed_at: datetime
    ships_at: datetime
    arrives_at: datetime
    total: Money
    credit_used: Money
    points: int
    address: str
    paid_with: str
    cancelled: bool


@dataclass(frozen=True, slots=True)
class OrderLine(Record):
    """One variant of an order; `price` is what one piece cost after the discount."""

    id: OrderLineId
    order_id: OrderId
    variant_id: VariantId
    name: str
    quantity: int
    price: Money
    returned: int
    refund_due: datetime | None
    reviewed: bool


@dataclass(frozen=True, slots=True)
class Wish(Record):
    """A product on the wish list, with the price at which to tell the customer."""

    id: WishId
    product_id: ProductId
    alert_at: Money | None
    added_on: date


@dataclass(frozen=True, slots=True)
class GiftCard(Record):
    """A code that turns into store credit once."""

    id: str
    code: Annotated[str, Hidden]
    amount: Money
    valid_until: date
    redeemed: bool
