"""The service's initial world: restaurants of two cities, a filled cart, and the customer's orders."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta

from servers.food_delivery.menus import MENUS, NAMES
from servers.food_delivery.model import (
    CartDish,
    Cuisine,
    DeliveryAddress,
    Dish,
    FoodOrder,
    FoodOrderLine,
    FoodPromo,
    Restaurant,
)
from servers.kernel.dice import Dice
from servers.kernel.server import SeedBuilder
from servers.kernel.session import EPOCH
from servers.kernel.store import Record
from servers.kernel.types import Money
from servers.shared.people import FIRST_NAMES
from servers.shared.places import address

ZONES = {
    "London": ("Camden", "Soho", "Shoreditch", "Brixton", "Hackney"),
    "Lisbon": ("Alfama", "Baixa", "Chiado", "Belem"),
}
CURRENCY = {"London": "GBP", "Lisbon": "EUR"}
_HOURS = ((7, 22), (8, 16), (11, 23), (17, 2), (0, 0), (6, 23), (12, 21))
_PLACES = (
    ("Home", "London"),
    ("Office", "London"),
    ("Studio", "London"),
    ("Grandma", "London"),
    ("Holiday Flat", "Lisbon"),
    ("Lisbon Office", "Lisbon"),
)


def is_open(restaurant: Restaurant, moment: datetime) -> bool:
    """Whether the kitchen works at a moment; equal opening and closing times mean all day."""
    day, now = moment.weekday(), moment.time()
    if restaurant.opens < restaurant.closes:
        return restaurant.opens <= now < restaurant.closes and day != restaurant.closed_on
    evening = now >= restaurant.opens and day != restaurant.closed_on
    return evening or (now < restaurant.closes and (day - 1) % 7 != restaurant.closed_on)


def build(make: SeedBuilder) -> Iterator[Record]:
    """Write restaurants and menus, then addresses, then cart and orders."""
    dice = make.dice
    addresses = [
        DeliveryAddress(make.new_id("DAD"), label, address(dice), dice.choice(ZONES[city]), city)
        for label, city in _PLACES
    ]
    favourite = [addresses[0].zone, addresses[1].zone]
    restaurants = list(_restaurants(make, dice, favourite))
    yield from addresses
    yield from restaurants
    menus = {row.id: list(_menu(make, dice, row)) for row in restaurants}
    for dishes in menus.values():
        yield from dishes
    yield from _promos()
    yield from _cart(make, menus[restaurants[0].id])
    yield from _orders(make, dice, restaurants, menus, addresses)


def _restaurants(make: SeedBuilder, dice: Dice, favourite: list[str]) -> Iterator[Restaurant]:
    for cuisine, names in NAMES.items():
        for n, name in enumerate(dice.shuffled(names)):
            first = n == 0 and cuisine == "bakery"
            city = "London" if n < 2 else "Lisbon" if n == 2 else dice.choice(tuple(ZONES))
            yield _restaurant(make, dice, name, cuisine, city, favourite if first else [])


def _restaurant(
    make: SeedBuilder, dice: Dice, name: str, cuisine: Cuisine, city: str, favourite: list[str]
) -> Restaurant:
    zones = [*favourite, *dice.sample(ZONES[city], dice.integer(2, 4))]
    early = bool(favourite) or dice.chance(0.4)
    opens, closes = (7, 22) if early else dice.choice(_HOURS)
    return Restaurant(
        id=make.new_id("FRS"),
        name=name,
        cuisine=cuisine,
        city=city,
        zones=tuple(dict.fromkeys(zones)),
        opens=time(opens),
        closes=time(closes),
        closed_on=dice.choice((0, 1, 2, 6)) if not favourite and dice.chance(0.3) else -1,
        minimum=Money(dice.choice((800, 1000, 1200, 1500)), CURRENCY[city]),
        fee=Money(dice.choice((0, 149, 199, 299)), CURRENCY[city]),
        rating=4.9 if favourite else dice.integer(33, 48) / 10,
        prep_minutes=dice.integer(10, 30),
        paused=not favourite and dice.chance(0.1),
    )


def _menu(make: SeedBuilder, dice: Dice, restaurant: Restaurant) -> Iterator[Dish]:
    for name, price, diets, choices in dice.shuffled(MENUS[restaurant.cuisine]):
        yield Dish(
            id=make.new_id("DSH"),
            restaurant_id=restaurant.id,
            name=name,
            price=Money(price * 100 + dice.choice((0, 25, 50, 90)), restaurant.minimum.currency),
            diets=diets,
            choices=choices,
            sold_out=dice.chance(0.12),
        )


def _promos() -> Iterator[FoodPromo]:
    yield FoodPromo("TASTY10", 10, 10, date(2026, 4, 30), 0, 24, False)
    yield FoodPromo("BIGFEAST20", 20, 40, date(2026, 3, 31), 0, 24, False)
    yield FoodPromo("LUNCH15", 15, 10, date(2026, 3, 31), 11, 15, False)
    yield FoodPromo("EARLY12", 12, 8, date(2026, 5, 31), 6, 11, False)
    yield FoodPromo("WELCOME25", 25, 10, date(2026, 6, 30), 0, 24, True)
    yield FoodPromo("FROST30", 30, 10, date(2026, 2, 28), 0, 24, False)


def _cart(make: SeedBuilder, dishes: list[Dish]) -> Iterator[CartDish]:
    on_sale = sorted((dish for dish in dishes if not dish.sold_out), key=lambda dish: -dish.price.minor)
    for dish, quantity in zip(on_sale, (2, 1, 1), strict=False):
        yield CartDish(make.new_id("CDI"), dish.id, quantity, dish.choices[0] if dish.choices else "")


_AGES = (
    *((-minutes, -minutes) for minutes in (180, 300, 420, 700, 1500)),
    *((minutes, minutes) for minutes in (1, 3, 5, 12, 34, 40)),
    *((80, 110), (90, 200), (300, 700), (600, 900), (750, 1000), (800, 1300), (1000, 1400)),
    *((2000, 60_000) for _ in range(14)),
)
"""How many minutes ago each order started, from and to; negative ones are scheduled."""


def _orders(
    make: SeedBuilder,
    dice: Dice,
    restaurants: list[Restaurant],
    menus: dict[str, list[Dish]],
    addresses: list[DeliveryAddress],
) -> Iterator[Record]:
    seen: set[tuple[str, date]] = set()
    for low, high in _AGES:
        starts = EPOCH - timedelta(minutes=dice.integer(low, high))
        where = dice.choice(addresses)
        day = starts.date() if low >= 2000 else EPOCH.date()
        reach = [row for row in restaurants if where.zone in row.zones and (row.id, day) not in seen]
        if not reach:
            continue
        restaurant = dice.choice([row for row in reach if is_open(row, starts)] or reach)
        seen.add((restaurant.id, day))
        placed = EPOCH - timedelta(hours=dice.integer(48, 120)) if low < 0 else starts
        order_id = make.new_id("FOD")
        lines = list(_lines(make, dice, order_id, menus[restaurant.id]))
        total = sum((line.price * line.quantity for line in lines), restaurant.fee)
        nothing = Money(0, total.currency)
        old = low > 60
        yield FoodOrder(
            id=order_id,
            restaurant_id=restaurant.id,
            address_id=where.id,
            total=total,
            discount=nothing,
            tip=Money(dice.choice((100, 150, 200)), total.currency) if old and dice.chance(0.3) else nothing,
            placed_at=placed,
            starts_at=starts,
            prep_minutes=restaurant.prep_minutes,
            ride_minutes=dice.integer(8, 25),
            courier=dice.choice(FIRST_NAMES),
            cancelled=old and dice.chance(0.08),
            stars=dice.integer(2, 5) if low >= 2000 and dice.chance(0.5) else 0,
        )
        yield from lines


def _lines(make: SeedBuilder, dice: Dice, order_id: str, dishes: list[Dish]) -> Iterator[FoodOrderLine]:
    for dish in dice.sample(dishes, dice.integer(2, 3)):
        yield FoodOrderLine(
            id=make.new_id("FOL"),
            order_id=order_id,
            dish_id=dish.id,
            quantity=dice.weighted((1, 2, 3), (6, 3, 1)),
            choice=dice.choice(dish.choices) if dish.choices else "",
            price=dish.price,
            refunded=dice.chance(0.06),
        )
