"""Tools for the cart and for placing an order from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field

from servers.food_delivery.model import (
    CartDish,
    CartDishId,
    DeliveryAddressId,
    Dish,
    DishId,
    Fault,
    FoodOrder,
    FoodOrderId,
    FoodOrderLine,
    OrderStatus,
    Restaurant,
    WhichCart,
)
from servers.food_delivery.rules import (
    COOKING_AFTER,
    EARLIEST,
    address_of,
    cart_restaurant,
    cart_rows,
    check_serves,
    delivered_at,
    discount_of,
    dish_of,
    order_of,
    order_status,
    restaurant_of,
    ride_minutes,
    subtotal_of,
)
from servers.food_delivery.server import server
from servers.kernel.errors import ToolError
from servers.kernel.session import Session
from servers.kernel.types import DateTime, Money
from servers.shared.people import FIRST_NAMES

MAX_PORTIONS = 20
LATEST = timedelta(days=7)

Quantity = Annotated[int, Field(ge=1, le=MAX_PORTIONS)]


@dataclass(frozen=True, slots=True)
class CartLine:
    """Portions of one dish in the cart; the price is for all of them."""

    id: CartDishId
    dish: str
    quantity: int
    choice: str | None
    price: Money


@dataclass(frozen=True, slots=True)
class CartView:
    """The cart; `missing` is what it lacks to the restaurant's minimum order."""

    restaurant: str | None
    items: list[CartLine]
    subtotal: Money | None
    missing: Money | None


@dataclass(frozen=True, slots=True)
class CartChange:
    """A dish in the cart after a change, and the new price of all dishes."""

    id: CartDishId
    dish: str
    quantity: int
    subtotal: Money | None


@dataclass(frozen=True, slots=True)
class Emptied:
    """How many dishes were taken out of the cart."""

    removed: int


@dataclass(frozen=True, slots=True)
class PlacedOrder:
    """An order that has just been placed; the time is UTC."""

    id: FoodOrderId
    status: OrderStatus
    total: Money
    discount: Money | None
    arrives_at: datetime


@server.tool(read_only=True)
def get_food_cart(session: Session) -> CartView:
    """Show the cart: its restaurant, dishes with their ids, and the price so far."""
    rows, restaurant, subtotal = cart_rows(session), cart_restaurant(session), subtotal_of(session)
    if restaurant is None or subtotal is None:
        return CartView(None, [], None, None)
    lines = []
    for row in rows:
        dish = dish_of(session, row.dish_id)
        lines.append(CartLine(row.id, dish.name, row.quantity, row.choice or None, dish.price * row.quantity))
    missing = restaurant.minimum - subtotal
    return CartView(restaurant.name, lines, subtotal, missing if missing.minor > 0 else None)


@server.tool()
def add_dish_to_cart(
    session: Session,
    dish_id: DishId,
    quantity: Quantity = 1,
    choice: Annotated[str, Field(max_length=20)] | None = None,
    cart: WhichCart = "current",
) -> CartChange:
    """Put a dish into the cart, which holds dishes of one restaurant only.

    A new cart throws away what the current one holds.

    Args:
        dish_id: the dish, from list_menu_dishes.
        quantity: how many portions.
        choice: one of the dish's choices, such as large or mild.
        cart: add to the current cart or start a new one.

    Raises:
        dish_sold_out: it can't be ordered today.
        choice_required: the dish has choices and none is made.
        unknown_choice: the dish has no such choice.
        other_restaurant_in_cart: the cart holds another restaurant's dishes.
        too_many_portions: the cart would hold more than 20.
    """
    dish = dish_of(session, dish_id)
    _check_dish(dish, choice)
    start_cart(session, restaurant_of(session, dish.restaurant_id), cart)
    row = add_portions(session, dish.id, choice or "", quantity)
    return CartChange(row.id, dish.name, row.quantity, subtotal_of(session))


def _check_dish(dish: Dish, choice: str | None) -> None:
    if dish.sold_out:
        raise ToolError(Fault.DISH_SOLD_OUT, f"{dish.name} is sold out; list_menu_dishes shows what is available.")
    if dish.choices and choice is None:
        raise ToolError(Fault.CHOICE_REQUIRED, f"{dish.name} needs a choice: {', '.join(dish.choices)}.")
    if choice is not None and choice not in dish.choices:
        known = f"choose {', '.join(dish.choices)}" if dish.choices else "leave choice out"
        raise ToolError(Fault.UNKNOWN_CHOICE, f"{dish.name} has no such choice; {known}.")


def _check_portions(total: int) -> None:
    if total > MAX_PORTIONS:
        raise ToolError(Fault.TOO_MANY_PORTIONS, f"A cart holds at most {MAX_PORTIONS} portions, not {total}.")


def start_cart(session: Session, restaurant: Restaurant, cart: WhichCart) -> None:
    """Make the cart ready for a restaurant's dishes, emptying it if a new one is wanted."""
    present = cart_restaurant(session)
    if cart == "new":
        for row in cart_rows(session):
            session.table(CartDish).remove(row.id)
    elif present is not None and present.id != restaurant.id:
        raise ToolError(
            Fault.OTHER_RESTAURANT_IN_CART,
            f"The cart holds dishes of {present.name}. Order those first, or use cart=new to drop them.",
        )


def add_portions(session: Session, dish_id: str, choice: str, quantity: int) -> CartDish:
    """Add portions to the cart, joining those of the same dish and choice."""
    rows = cart_rows(session)
    _check_portions(sum(row.quantity for row in rows) + quantity)
    for row in rows:
        if (row.dish_id, row.choice) == (dish_id, choice):
            return session.table(CartDish).put(replace(row, quantity=row.quantity + quantity))
    return session.table(CartDish).add(CartDish(session.new_id("CDI"), dish_id, quantity, choice))


@server.tool()
def change_cart_dish(
    session: Session, cart_dish_id: CartDishId, quantity: Annotated[int, Field(ge=0, le=MAX_PORTIONS)]
) -> CartChange:
    """Change how many portions of a dish the cart holds; 0 takes the dish out.

    Args:
        cart_dish_id: the dish in the cart, from get_food_cart.
        quantity: the new number of portions.

    Raises:
        too_many_portions: the cart would hold more than 20.
    """
    row = session.table(CartDish).require(cart_dish_id, "get_food_cart shows the valid ids.")
    _check_portions(sum(other.quantity for other in cart_rows(session) if other.id != row.id) + quantity)
    if quantity:
        session.table(CartDish).put(replace(row, quantity=quantity))
    else:
        session.table(CartDish).remove(row.id)
    return CartChange(row.id, dish_of(session, row.dish_id).name, quantity, subtotal_of(session))


@server.tool(destructive=True, idempotent=True)
def empty_food_cart(session: Session) -> Emptied:
    """Take every dish out of the cart, for example to order from another restaurant."""
    rows = cart_rows(session)
    for row in rows:
        session.table(CartDish).remove(row.id)
    return Emptied(len(rows))


@server.tool()
def place_food_order(
    session: Session,
    delivery_address_id: DeliveryAddressId,
    promo_code: Annotated[str, Field(max_length=20)] | None = None,
    deliver_at: DateTime | None = None,
) -> PlacedOrder:
    """Order what is in the cart to an address, now or for a later time, and empty the cart.

    Args:
        delivery_address_id: where to, from list_delivery_addresses.
        promo_code: a code for a discount.
        deliver_at: when the food should arrive, from an hour to a week ahead; as soon as possible when absent.

    Raises:
        cart_empty: nothing is in the cart.
        restaurant_paused: the restaurant takes no orders.
        outside_delivery_zone: it doesn't deliver there.
        restaurant_closed: it doesn't cook at that time.
        below_minimum: the dishes cost less than the minimum order.
        promo_unknown: there is no such code.
        promo_expired: the code's date has passed.
        promo_not_applicable: the code doesn't fit this order or this hour.
        schedule_not_allowed: the time is too early or too late.
    """
    restaurant, subtotal = cart_restaurant(session), subtotal_of(session)
    if restaurant is None or subtotal is None:
        raise ToolError(Fault.CART_EMPTY, "The cart is empty; add_dish_to_cart comes first.")
    address = address_of(session, delivery_address_id)
    ride = ride_minutes(restaurant, address) if address.city == restaurant.city else 0
    lead = COOKING_AFTER + timedelta(minutes=restaurant.prep_minutes + ride)
    starts = session.now if deliver_at is None else _start_for(session, deliver_at, lead)
    check_serves(session, restaurant, address, starts, lead)
    if subtotal < restaurant.minimum:
        raise ToolError(
            Fault.BELOW_MINIMUM,
            f"{restaurant.name} delivers from {restaurant.minimum}; add dishes for {restaurant.minimum - subtotal}.",
        )
    nothing = Money(0, subtotal.currency)
    discount = discount_of(session, promo_code, restaurant, subtotal) if promo_code else nothing
    order = FoodOrder(
        id=session.new_id("FOD"),
        restaurant_id=restaurant.id,
        address_id=address.id,
        total=subtotal - discount + restaurant.fee,
        discount=discount,
        tip=nothing,
        placed_at=session.now,
        starts_at=starts,
        prep_minutes=restaurant.prep_minutes,
        ride_minutes=ride,
        courier=FIRST_NAMES[sum(restaurant.id.encode()) % len(FIRST_NAMES)],
        cancelled=False,
        stars=0,
    )
    session.table(FoodOrder).add(order)
    _move_cart(session, order.id)
    placed = order_of(session, order.id)
    shown_discount = discount if discount.minor else None
    return PlacedOrder(order.id, order_status(session, placed), order.total, shown_discount, delivered_at(placed))


def _start_for(session: Session, deliver_at: datetime, lead: timedelta) -> datetime:
    first, last = session.now + EARLIEST, session.now + LATEST
    if not first <= deliver_at <= last:
        raise ToolError(
            Fault.SCHEDULE_NOT_ALLOWED,
            f"The time must lie between {first:%Y-%m-%d %H:%M} and {last:%Y-%m-%d %H:%M} UTC.",
        )
    return max(session.now, deliver_at - lead)


def _move_cart(session: Session, order_id: str) -> None:
    """Turn the cart's dishes into the order's lines."""
    for row in cart_rows(session):
        price = dish_of(session, row.dish_id).price
        line = FoodOrderLine(session.new_id("FOL"), order_id, row.dish_id, row.quantity, row.choice, price, False)
        session.table(FoodOrderLine).add(line)
        session.table(CartDish).remove(row.id)
