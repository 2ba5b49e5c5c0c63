"""The chain's initial world: shops, items, stock, goods on the road and reservations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, time, timedelta

from servers.kernel.dice import Dice
from servers.kernel.server import SeedBuilder
from servers.kernel.session import EPOCH
from servers.kernel.store import Record
from servers.kernel.types import Money
from servers.retail_chain.model import Department, Inbound, Item, Reservation, Stock, Store
from servers.shared.people import people
from servers.shared.places import CITIES

_STORES = (
    ("Lisbon", "Central"),
    ("Lisbon", "Harbour"),
    ("Berlin", "Central"),
    ("Berlin", "North"),
    ("Paris", "Riverside"),
    ("Paris", "Station"),
    ("Vienna", "Garden"),
    ("Madrid", "Station"),
    ("London", "Riverside"),
    ("London", "North"),
    ("New York", "Harbour"),
    ("Tokyo", "Station"),
)
_ITEMS: dict[Department, tuple[str, ...]] = {
    "tools": ("Cordless Drill", "Claw Hammer", "Socket Set", "Spirit Level", "Hand Saw", "Tool Box"),
    "garden": ("Garden Hose", "Pruning Shears", "Wheelbarrow", "Seed Tray", "Leaf Rake", "Watering Can"),
    "lighting": ("Ceiling Lamp", "LED Bulb Pack", "Floor Lamp", "Solar Lantern", "Reading Light", "Light Strip"),
    "paint": ("White Wall Paint", "Wood Varnish", "Paint Roller Set", "Masking Tape", "Drop Cloth", "Metal Primer"),
    "kitchen": ("Kitchen Tap", "Spice Rack", "Dish Drainer", "Wall Hook Set", "Sink Strainer", "Drawer Organiser"),
}
_BRANDS = ("Ferro", "Halden", "Brightly", "Verda", "Monti", "Kilo")
HOUR = timedelta(hours=1)


def build(make: SeedBuilder) -> Iterator[Record]:
    """Write shops and items, then each shop's stock, then what moves and waits."""
    dice = make.dice
    stores = [_store(make, dice, city, part) for city, part in _STORES]
    old = dice.sample([name for names in _ITEMS.values() for name in names], 4)
    items = [_item(make, dice, kind, name, name in old) for kind, names in _ITEMS.items() for name in names]
    prices = {item.id: dice.integer(4, 140) * 100 - dice.choice((1, 10, 50)) for item in items}
    stock = [_stock(dice, store, item, prices[item.id]) for store in stores for item in items]
    yield from stores
    yield from items
    yield from stock
    yield from _inbound(make, dice, stores, items)
    yield from _reservations(make, dice, stock, items)


def stock_id(store_id: str, item_id: str) -> str:
    """The id of an item's row in a shop."""
    return f"{store_id}/{item_id}"


def _store(make: SeedBuilder, dice: Dice, city_name: str, part: str) -> Store:
    city = next(city for city in CITIES if city.name == city_name)
    return Store(
        id=make.new_id("RSTO"),
        name=f"{city_name} {part}",
        city=city_name,
        zone=city.zone,
        currency=city.currency,
        opens=time(dice.choice((8, 9))),
        closes=time(dice.choice((19, 20, 21))),
        rest_day=0 if part == "Garden" else 6,
        works_until=date(2026, 3, 19) if city_name == "Madrid" else None,
    )


def _item(make: SeedBuilder, dice: Dice, department: Department, name: str, discontinued: bool) -> Item:
    return Item(
        id=make.new_id("RITM"),
        name=f"{dice.choice(_BRANDS)} {name}",
        department=department,
        case_size=dice.choice((4, 6, 10, 12)),
        capacity=dice.choice((60, 80, 120)),
        returnable=department != "paint" or dice.chance(0.5),
        discontinued=discontinued,
    )


def _stock(dice: Dice, store: Store, item: Item, minor: int) -> Stock:
    price = Money(minor, store.currency)
    promoted = dice.chance(0.12)
    return Stock(
        id=stock_id(store.id, item.id),
        store_id=store.id,
        item_id=item.id,
        base=dice.weighted((0, dice.integer(1, 6), dice.integer(8, 40)), (2, 3, 6)),
        price=price,
        promo_price=price.share(dice.integer(7, 9), 10) if promoted else None,
        promo_until=(EPOCH + timedelta(days=dice.integer(-3, 12))).date() if promoted else None,
        counted_at=EPOCH - dice.integer(2, 2000) * HOUR if dice.chance(0.4) else None,
    )


def _inbound(make: SeedBuilder, dice: Dice, stores: Sequence[Store], items: Sequence[Item]) -> Iterator[Inbound]:
    for number in range(36):
        store, item = dice.choice(stores), dice.choice(items)
        partners = [other for other in stores if other.currency == store.currency and other.id != store.id]
        source = dice.choice(partners).id if partners and number % 2 else ""
        sent = EPOCH - timedelta(hours=dice.integer(1, 70), minutes=dice.integer(0, 59))
        yield Inbound(
            id=make.new_id("RINB"),
            store_id=store.id,
            item_id=item.id,
            source=source,
            quantity=dice.integer(2, 8) if source else item.case_size * dice.integer(1, 3),
            sent_at=sent,
            arrives_at=sent + (24 if source else 72) * HOUR,
        )


def _reservations(
    make: SeedBuilder, dice: Dice, stock: Sequence[Stock], items: Sequence[Item]
) -> Iterator[Reservation]:
    known = {item.id: item for item in items}
    customers = [person.name for person in people(make.seed, 49)[1:]]
    rows = dice.shuffled([row for row in stock if row.base >= 8 and not known[row.item_id].discontinued])
    for number, customer in enumerate(customers):
        row = rows[number]
        state = ("ready", "collected", "collected", "ready", "collected", "expired")[number % 6]
        age = dice.integer(1, 40) if state == "ready" else dice.integer(50, 600 if number % 12 != 4 else 1100)
        reserved = EPOCH - timedelta(hours=age, minutes=dice.integer(0, 59))
        yield Reservation(
            id=make.new_id("RCOL"),
            store_id=row.store_id,
            item_id=row.item_id,
            quantity=dice.integer(1, 3),
            customer=customer,
            price=row.price,
            reserved_at=reserved,
            expires_at=reserved + 48 * HOUR,
            collected_at=reserved + dice.integer(2, 30) * HOUR if state == "collected" else None,
            returned=0,
            pickup_code=f"{dice.integer(0, 9999):04d}",
        )
