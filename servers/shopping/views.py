"""What the shop's tools show."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from servers.kernel.types import Money
from servers.shopping.model import (
    CartLineId,
    CouponCode,
    CouponState,
    OrderId,
    OrderLineId,
    OrderStatus,
    PaymentMethodId,
    ProductCategory,
    ProductId,
    ShippingOptionId,
    VariantId,
    WishId,
)


@dataclass(frozen=True, slots=True)
class ProductSummary:
    """A product in a list, at its lowest price."""

    id: ProductId
    name: str
    category: ProductCategory
    price: Money
    rating: float | None


@dataclass(frozen=True, slots=True)
class VariantView:
    """A variant with the pieces that can be had now."""

    id: VariantId
    name: str
    price: Money
    available: int


@dataclass(frozen=True, slots=True)
class ProductDetails:
    """A product with its variants."""

    id: ProductId
    name: str
    rating: float | None
    reviews: int
    latest_review: str | None
    final_sale: bool
    max_per_order: int
    variants: list[VariantView]


@dataclass(frozen=True, slots=True)
class LineView:
    """A line of the cart."""

    id: CartLineId
    name: str
    quantity: int
    price: Money
    held_until: datetime


@dataclass(frozen=True, slots=True)
class CartView:
    """The cart with what it costs before shipping."""

    lines: list[LineView]
    coupon: str | None
    discount: Money | None
    total: Money | None


@dataclass(frozen=True, slots=True)
class LineChange:
    """What became of a cart line; quantity 0 means that it is gone."""

    id: CartLineId
    name: str
    quantity: int
    held_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class CouponView:
    """A coupon of the customer; it is its own code."""

    code: CouponCode
    percent: int
    minimum: Money
    valid_until: date
    state: CouponState
    only_for: str | None = None


@dataclass(frozen=True, slots=True)
class CouponApplied:
    """The cart after a coupon."""

    code: CouponCode
    discount: Money
    total: Money


@dataclass(frozen=True, slots=True)
class OptionView:
    """A way to send the present cart to an address."""

    id: ShippingOptionId
    name: str
    cost: Money
    arrives_on: date


@dataclass(frozen=True, slots=True)
class MethodView:
    """A saved card."""

    id: PaymentMethodId
    label: str
    last_four: str
    expires: date


@dataclass(frozen=True, slots=True)
class Receipt:
    """A finished purchase."""

    order_id: OrderId
    total: Money
    charged: Money
    points_earned: int
    arrives_on: date


@dataclass(frozen=True, slots=True)
class OrderItem:
    """What a list says of an order's line."""

    id: OrderLineId
    name: str


@dataclass(frozen=True, slots=True)
class OrderSummary:
    """An order in a list."""

    id: OrderId
    placed_on: date
    total: Money
    status: OrderStatus
    items: list[OrderItem]


@dataclass(frozen=True, slots=True)
class OrderLineView:
    """A line of an order; `refund` says where a return stands."""

    id: OrderLineId
    name: str
    quantity: int
    price: Money
    refund: str | None = None


@dataclass(frozen=True, slots=True)
class OrderDetails:
    """An order with its lines."""

    id: OrderId
    status: OrderStatus
    placed_on: date
    arrives_on: date
    address: str
    paid_with: str
    total: Money
    lines: list[OrderLineView]


@dataclass(frozen=True, slots=True)
class Cancellation:
    """A cancelled order and where its money went; `points_left` below zero is made up by later orders."""

    order_id: OrderId
    status: OrderStatus
    refunded_to_card: Money
    returned_credit: Money
    points_left: int


@dataclass(frozen=True, slots=True)
class ReturnView:
    """An accepted return."""

    order_line_id: OrderLineId
    quantity: int
    refund: Money
    refund_to: str
    refund_on: date


@dataclass(frozen=True, slots=True)
class ReviewView:
    """A published review."""

    name: str
    stars: int
    new_rating: float


@dataclass(frozen=True, slots=True)
class WishView:
    """A wish with today's price; `alert` says whether the wanted price is reached."""

    id: WishId
    name: str
    price: Money
    alert_at: Money | None = None
    alert: bool = False


@dataclass(frozen=True, slots=True)
class WalletView:
    """Store credit by currency, and loyalty points."""

    credit: list[Money]
    points: int


@dataclass(frozen=True, slots=True)
class CreditChange:
    """Store credit after something was turned into it."""

    added: Money
    new_credit: Money
    points_left: int | None = None
