"""Tools for finding restaurants, dishes and addresses."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import time

from servers.food_delivery.model import (
    Cuisine,
    DeliveryAddress,
    DeliveryAddressId,
    Diet,
    Dish,
    DishId,
    Restaurant,
    RestaurantId,
)
from servers.food_delivery.rules import address_of, restaurant_of
from servers.food_delivery.seed import is_open
from servers.food_delivery.server import server
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.types import Money

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class RestaurantItem:
    """A restaurant in a list."""

    id: RestaurantId
    name: str
    cuisine: Cuisine
    city: str
    rating: float
    open_now: bool


@dataclass(frozen=True, slots=True)
class RestaurantDetails:
    """A restaurant's hours and terms; times are UTC."""

    id: RestaurantId
    name: str
    open_now: bool
    opens: time
    closes: time
    closed_on: str | None
    zones: tuple[str, ...]
    minimum: Money
    fee: Money
    prep_minutes: int


@dataclass(frozen=True, slots=True)
class MenuItem:
    """A dish on a menu; where there are choices, one must be made."""

    id: DishId
    name: str
    restaurant: str
    price: Money
    available: bool
    choices: tuple[str, ...] | None


@server.tool(read_only=True)
def search_restaurants(
    session: Session,
    query: Query = "",
    cuisine: Cuisine | None = None,
    deliver_to: DeliveryAddressId | None = None,
    open_now: bool = False,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[RestaurantItem]:
    """Search restaurants by name, cuisine or delivery address. Open ones first, then by rating.

    Args:
        query: words of the name, cuisine or city.
        cuisine: only this kitchen.
        deliver_to: only restaurants that deliver to this address.
        open_now: only restaurants that cook right now.
        limit: most restaurants to return.
        offset: how many to skip.
    """
    zone = address_of(session, deliver_to).zone if deliver_to else None
    rows = search(session.table(Restaurant).all(), query, lambda row: f"{row.name} {row.cuisine} {row.city}")
    items = [
        RestaurantItem(row.id, row.name, row.cuisine, row.city, row.rating, _cooks_now(session, row))
        for row in rows
        if (cuisine is None or row.cuisine == cuisine) and (zone is None or zone in row.zones)
    ]
    items = [item for item in items if item.open_now or not open_now]
    items.sort(key=lambda item: (not item.open_now, -item.rating, item.name, item.id))
    return paginate(items, limit, offset)


def _cooks_now(session: Session, restaurant: Restaurant) -> bool:
    return is_open(restaurant, session.now) and not restaurant.paused


@server.tool(read_only=True)
def get_restaurant(session: Session, restaurant_id: RestaurantId) -> RestaurantDetails:
    """Show a restaurant's opening hours, delivery zones, minimum order and delivery fee.

    Args:
        restaurant_id: the restaurant, from search_restaurants.
    """
    row = restaurant_of(session, restaurant_id)
    return RestaurantDetails(
        id=row.id,
        name=row.name,
        open_now=_cooks_now(session, row),
        opens=row.opens,
        closes=row.closes,
        closed_on=_DAYS[row.closed_on] if row.closed_on >= 0 else None,
        zones=row.zones,
        minimum=row.minimum,
        fee=row.fee,
        prep_minutes=row.prep_minutes,
    )


@server.tool(read_only=True)
def list_menu_dishes(
    session: Session,
    restaurant_id: RestaurantId,
    query: Query = "",
    diet: Diet | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[MenuItem]:
    """List a restaurant's dishes with ids, prices and required choices. Ordered by name.

    Args:
        restaurant_id: the restaurant, from search_restaurants.
        query: words of the dish's name.
        diet: only dishes that fit this diet.
        limit: most dishes to return.
        offset: how many to skip.
    """
    restaurant = restaurant_of(session, restaurant_id)
    rows = search(session.table(Dish).where(restaurant_id=restaurant_id), query, lambda dish: dish.name)
    items = [
        MenuItem(dish.id, dish.name, restaurant.name, dish.price, not dish.sold_out, dish.choices or None)
        for dish in rows
        if diet is None or diet in dish.diets
    ]
    return paginate(sorted(items, key=lambda item: (item.name, item.id)), limit, offset)


@server.tool(read_only=True)
def list_delivery_addresses(session: Session, query: Query = "") -> Page[DeliveryAddress]:
    """List the customer's saved delivery addresses with their ids and zones. Ordered by label.

    Args:
        query: words of the label, street, zone or city.
    """
    rows = search(
        session.table(DeliveryAddress).all(), query, lambda row: f"{row.label} {row.street} {row.zone} {row.city}"
    )
    return paginate(sorted(rows, key=lambda row: (row.label, row.id)), 10)
