"""Records and error codes of the food delivery service."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from servers.kernel.store import Record
from servers.kernel.types import Entity, Money

RestaurantId: TypeAlias = Annotated[str, Entity("restaurant")]
DishId: TypeAlias = Annotated[str, Entity("dish")]
CartDishId: TypeAlias = Annotated[str, Entity("cart_dish")]
DeliveryAddressId: TypeAlias = Annotated[str, Entity("delivery_address")]
FoodOrderId: TypeAlias = Annotated[str, Entity("food_order")]
FoodOrderLineId: TypeAlias = Annotated[str, Entity("food_order_line")]

Cuisine: TypeAlias = Literal["indian", "italian", "japanese", "burgers", "bakery", "thai", "mexican", "salads"]
Diet: TypeAlias = Literal["vegan", "vegetarian", "gluten_free", "halal"]
OrderStatus: TypeAlias = Literal["scheduled", "placed", "accepted", "cooking", "picked_up", "delivered", "cancelled"]
WhichCart: TypeAlias = Literal["current", "new"]


class Fault(StrEnum):
    """What the service refuses, beyond bad arguments and unknown ids."""

    DISH_SOLD_OUT = "dish_sold_out"
    CHOICE_REQUIRED = "choice_required"
    UNKNOWN_CHOICE = "unknown_choice"
    OTHER_RESTAURANT_IN_CART = "other_restaurant_in_cart"
    TOO_MANY_PORTIONS = "too_many_portions"
    CART_EMPTY = "cart_empty"
    RESTAURANT_CLOSED = "restaurant_closed"
    RESTAURANT_PAUSED = "restaurant_paused"
    OUTSIDE_DELIVERY_ZONE = "outside_delivery_zone"
    BELOW_MINIMUM = "below_minimum"
    PROMO_UNKNOWN = "promo_unknown"
    PROMO_EXPIRED = "promo_expired"
    PROMO_NOT_APPLICABLE = "promo_not_applicable"
    SCHEDULE_NOT_ALLOWED = "schedule_not_allowed"
    ALREADY_COOKING = "already_cooking"
    ORDER_CANCELLED = "order_cancelled"
    NOT_DELIVERED = "not_delivered"
    REFUND_WINDOW_CLOSED = "refund_window_closed"
    ALREADY_REFUNDED = "already_refunded"
    RATING_CLOSED = "rating_closed"
    ALREADY_RATED = "already_rated"
    TIP_CLOSED = "tip_closed"
    ALREADY_TIPPED = "already_tipped"
    TIP_TOO_LARGE = "tip_too_large"
    NOTHING_TO_REORDER = "nothing_to_reorder"


@dataclass(frozen=True, slots=True)
class Restaurant(Record):
    """A kitchen. Hours are UTC and may pass midnight; `closed_on` is a weekday from Monday 0, or -1."""

    id: RestaurantId
    name: str
    cuisine: Cuisine
    city: str
    zones: tuple[str, ...]
    opens: time
    closes: time
    closed_on: int
    minimum: Money
    fee: Money
    rating: float
    prep_minutes: int
    paused: bool


@dataclass(frozen=True, slots=True)
class Dish(Record):
    """Something on a menu; with `choices`, one of them must be chosen."""

    id: DishId
    restaurant_id: RestaurantId
    name: str
    price: Money
    diets: tuple[str, ...]
    choices: tuple[str, ...]
    sold_out: bool


@dataclass(frozen=True, slots=True)
class CartDish(Record):
    """Portions of a dish in the customer's cart."""

    id: CartDishId
    dish_id: DishId
    quantity: int
    choice: str


@dataclass(frozen=True, slots=True)
class FoodPromo(Record):
    """A promo code (its id): percent off from a least subtotal, between certain hours, perhaps for newcomers only."""

    id: str
    percent: int
    least: int
    expires: date
    from_hour: int
    to_hour: int
    new_restaurant_only: bool


@dataclass(frozen=True, slots=True)
class DeliveryAddress(Record):
    """A place that the customer has food brought to."""

    id: DeliveryAddressId
    label: str
    street: str
    zone: str
    city: str


@dataclass(frozen=True, slots=True)
class FoodOrder(Record):
    """An order. It moves on by itself from `starts_at`, when the kitchen gets it; stars 0 means unrated."""

    id: FoodOrderId
    restaurant_id: RestaurantId
    address_id: DeliveryAddressId
    total: Money
    discount: Money
    tip: Money
    placed_at: datetime
    starts_at: datetime
    prep_minutes: int
    ride_minutes: int
    courier: str
    cancelled: bool
    stars: int


@dataclass(frozen=True, slots=True)
class FoodOrderLine(Record):
    """Portions of one dish in an order, at the price of one when it was ordered."""

    id: FoodOrderLineId
    order_id: FoodOrderId
    dish_id: DishId
    quantity: int
    choice: str
    price: Money
    refunded: bool
