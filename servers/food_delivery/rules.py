"""The service's rules: opening hours, the cart, promo codes, and where an order is at any moment."""

from __future__ import annotations

from datetime import datetime, timedelta

from servers.food_delivery.model import (
    CartDish,
    DeliveryAddress,
    Dish,
    Fault,
    FoodOrder,
    FoodPromo,
    OrderStatus,
    Restaurant,
)
from servers.food_delivery.seed import ZONES, is_open
from servers.kernel.errors import ToolError
from servers.kernel.session import Session
from servers.kernel.store import shown
from servers.kernel.types import Money

ACCEPTED_AFTER = timedelta(minutes=2)
COOKING_AFTER = timedelta(minutes=6)
EARLIEST = timedelta(hours=1)
"""How far ahead the earliest scheduled delivery is."""


def restaurant_of(session: Session, restaurant_id: str) -> Restaurant:
    """The restaurant, or an error that says how to find one."""
    return session.table(Restaurant).require(restaurant_id, "search_restaurants shows the valid ids.")


def dish_of(session: Session, dish_id: str) -> Dish:
    """The dish, or an error that says how to find one."""
    return session.table(Dish).require(dish_id, "list_menu_dishes shows the valid ids.")


def address_of(session: Session, address_id: str) -> DeliveryAddress:
    """The address, or an error that says how to find one."""
    return session.table(DeliveryAddress).require(address_id, "list_delivery_addresses shows the valid ids.")


def order_of(session: Session, order_id: str) -> FoodOrder:
    """The order, or an error that says how to find one."""
    return session.table(FoodOrder).require(order_id, "list_food_orders shows the valid ids.")


def next_opening(restaurant: Restaurant, moment: datetime) -> datetime:
    """When a closed kitchen opens next."""
    days = (moment.date() + timedelta(days=offset) for offset in range(9))
    starts = (datetime.combine(day, restaurant.opens, tzinfo=moment.tzinfo) for day in days)
    return next(start for start in starts if start > moment and start.weekday() != restaurant.closed_on)


def ride_minutes(restaurant: Restaurant, address: DeliveryAddress) -> int:
    """How long the courier rides from the restaurant's home zone."""
    zones = ZONES[restaurant.city]
    return 9 + 4 * abs(zones.index(restaurant.zones[0]) - zones.index(address.zone))


def cart_rows(session: Session) -> list[CartDish]:
    """What the cart holds, ordered by dish, options and id."""
    return sorted(session.table(CartDish).all(), key=lambda row: (row.dish_id, row.choice, row.id))


def cart_restaurant(session: Session) -> Restaurant | None:
    """Whose dishes the cart holds."""
    rows = cart_rows(session)
    return restaurant_of(session, dish_of(session, rows[0].dish_id).restaurant_id) if rows else None


def subtotal_of(session: Session) -> Money | None:
    """What the dishes of the cart cost; None when it is empty."""
    prices = [dish_of(session, row.dish_id).price * row.quantity for row in cart_rows(session)]
    return sum(prices[1:], prices[0]) if prices else None


def check_serves(
    session: Session, restaurant: Restaurant, address: DeliveryAddress, moment: datetime, lead: timedelta
) -> None:
    """Refuse what the restaurant can't cook at that moment and deliver within the lead."""
    if restaurant.paused:
        raise ToolError(
            Fault.RESTAURANT_PAUSED, f"{restaurant.name} takes no orders for now; search_restaurants shows others."
        )
    if address.zone not in restaurant.zones:
        raise ToolError(
            Fault.OUTSIDE_DELIVERY_ZONE,
            f"{restaurant.name} delivers to {', '.join(restaurant.zones)}, and {address.label} is in {address.zone}.",
        )
    if not is_open(restaurant, moment):
        opening = next_opening(restaurant, moment)
        soonest = max(opening + lead, session.now + EARLIEST + timedelta(minutes=5))
        raise ToolError(
            Fault.RESTAURANT_CLOSED,
            f"{restaurant.name} is closed then and opens {opening:%Y-%m-%d %H:%M} UTC; "
            f"use deliver_at from {soonest:%Y-%m-%d %H:%M} UTC on.",
        )


def discount_of(session: Session, code: str, restaurant: Restaurant, subtotal: Money) -> Money:
    """What a promo code takes off the dishes' price now."""
    promo = session.table(FoodPromo).get(code.strip().upper())
    if promo is None:
        raise ToolError(Fault.PROMO_UNKNOWN, f"There is no promo code {shown(code)}; order without it.")
    if promo.expires < session.now.date():
        raise ToolError(Fault.PROMO_EXPIRED, f"{promo.id} expired on {promo.expires}; order without it.")
    least = Money.of(promo.least, subtotal.currency)
    reason = ""
    if subtotal < least:
        reason = f"needs dishes for {least}, the cart has {subtotal}"
    elif not promo.from_hour <= session.now.hour < promo.to_hour:
        reason = f"works from {promo.from_hour}:00 to {promo.to_hour}:00 UTC"
    elif promo.new_restaurant_only and session.table(FoodOrder).where(restaurant_id=restaurant.id):
        reason = f"is for restaurants never ordered from, unlike {restaurant.name}"
    if reason:
        raise ToolError(Fault.PROMO_NOT_APPLICABLE, f"{promo.id} {reason}.")
    return subtotal.share(promo.percent, 100)


def picked_up_at(order: FoodOrder) -> datetime:
    """When the courier leaves the restaurant."""
    return order.starts_at + COOKING_AFTER + timedelta(minutes=order.prep_minutes)


def delivered_at(order: FoodOrder) -> datetime:
    """When the food arrives."""
    return picked_up_at(order) + timedelta(minutes=order.ride_minutes)


def order_status(session: Session, order: FoodOrder) -> OrderStatus:
    """Where an order is at this moment."""
    if order.cancelled:
        return "cancelled"
    now = session.now
    if now < order.starts_at:
        return "scheduled"
    if now < order.starts_at + ACCEPTED_AFTER:
        return "placed"
    if now < order.starts_at + COOKING_AFTER:
        return "accepted"
    if now < picked_up_at(order):
        return "cooking"
    return "picked_up" if now < delivered_at(order) else "delivered"


def check_delivered(session: Session, order: FoodOrder) -> None:
    """Refuse what can only be done with food that has arrived."""
    status = order_status(session, order)
    if status == "cancelled":
        raise ToolError(Fault.ORDER_CANCELLED, "The order was cancelled and has been refunded in full.")
    if status != "delivered":
        raise ToolError(
            Fault.NOT_DELIVERED,
            f"The order is {status} and arrives about {delivered_at(order):%Y-%m-%d %H:%M} UTC; try again then.",
        )
