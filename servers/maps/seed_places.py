"""What lies along the streets of a city: places, car parks, stops and lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, time, timedelta

from servers.kernel.dice import Dice
from servers.kernel.server import SeedBuilder
from servers.kernel.session import EPOCH
from servers.kernel.store import Record
from servers.kernel.types import Money
from servers.maps.geo import HIGHEST_NUMBER, house, offset
from servers.maps.model import (
    Junction,
    ParkingLot,
    Place,
    PlaceCategory,
    Street,
    TransitKind,
    TransitLine,
    TransitStop,
)
from servers.shared.places import City

_FIRST = (
    "Golden", "Blue", "Old Town", "Riverside", "Little", "Grand", "Corner", "Sunny", "Green", "Royal", "Hidden",
    "Red", "Silver", "Garden", "Lucky", "Northern", "Velvet", "White", "Copper", "Amber", "Twin", "Maritime", "Central",
    "Olive",
)  # fmt: skip
_KINDS: dict[PlaceCategory, tuple[str, int, int]] = {
    "cafe": ("Cafe", 7, 19),
    "restaurant": ("Kitchen", 11, 23),
    "museum": ("Museum", 10, 18),
    "pharmacy": ("Pharmacy", 8, 20),
    "supermarket": ("Market", 7, 22),
    "hotel": ("Hotel", 0, 0),
    "park": ("Park", 6, 21),
    "library": ("Library", 9, 18),
    "gym": ("Gym", 6, 22),
    "bar": ("Bar", 17, 2),
}
_STOPS = (
    "Central Station", "City Hall", "University", "Opera", "Fish Market", "Stadium", "Botanic Garden", "West Gate",
    "Cathedral", "Port", "Science Park", "Old Bridge", "Theatre Square", "Clinic", "Grand Mosque", "Ferry Terminal",
    "Kings Cross", "Trade Fair", "Zoo", "Mint", "Conservatory", "Observatory", "Palace Gardens", "Courthouse",
)  # fmt: skip
_LINES: tuple[tuple[str, TransitKind, int, int, int], ...] = (
    ("M1", "metro", 5, 23, 6),
    ("M2", "metro", 5, 23, 8),
    ("Tram 4", "tram", 6, 22, 10),
    ("Bus 17", "bus", 6, 21, 15),
    ("Bus 52", "bus", 7, 20, 20),
    ("Night Bus N1", "bus", 22, 7, 20),
    ("Ring Bus", "bus", 0, 23, 12),
)
_PARKING = ("Park House", "Garage", "Parking Deck", "Car Park")


def places(make: SeedBuilder, dice: Dice, city: City, rows: Sequence[Record], share: int) -> Iterator[Place]:
    """Places at house numbers of the city's streets, and its airport."""
    streets = [row for row in rows if isinstance(row, Street)]
    nodes = {(row.row, row.column): row for row in rows if isinstance(row, Junction)}
    for category, (noun, opens, closes) in _KINDS.items():
        firsts = _FIRST[:14] if share == 0 else _FIRST[14:]
        for n, first in enumerate(dice.sample(firsts, 11 - 5 * share)):
            street, number = dice.choice(streets), dice.integer(1, HIGHEST_NUMBER)
            spot = house(street.row, street.index, number)
            lat, lon = offset(city.lat, city.lon, *spot)
            node = nodes[round(spot[0]), round(spot[1])]
            address = f"{number} {street.name}"
            hours = time(opens), time(closes)
            gone = n == 0 and category in ("bar", "gym", "museum")
            soon = date(2026, 3, dice.integer(10, 28)) if n == 1 and category in ("cafe", "hotel") else None
            yield _place(make, dice, city, f"{first} {noun}", category, node, address, (lat, lon), hours, gone, soon)
    node = nodes[-1, -1]
    name, address = f"{city.name} Airport", "1 Airport Motorway"
    hours = time(0), time(0)
    yield _place(make, dice, city, name, "airport", node, address, (node.lat, node.lon), hours, False, None)


def _place(
    make: SeedBuilder,
    dice: Dice,
    city: City,
    name: str,
    category: PlaceCategory,
    node: Junction,
    address: str,
    where: tuple[float, float],
    hours: tuple[time, time],
    gone: bool,
    soon: date | None,
) -> Place:
    quiet = category in ("museum", "library", "restaurant") and dice.chance(0.5)
    return Place(
        id=make.new_id("PLC"),
        name=name,
        category=category,
        city=city.name,
        junction_id=node.id,
        address=address,
        lat=where[0],
        lon=where[1],
        opens=hours[0],
        closes=hours[1],
        day_off=dice.choice((0, 0, 1, 6)) if quiet else None,
        rating=0 if soon else dice.integer(28, 49),
        ratings=0 if soon else dice.integer(8, 2400),
        phone=f"+1-{dice.integer(201, 989)}-555-{dice.integer(100, 199):04d}",
        opening_on=soon,
        gone=gone,
    )


def parking(make: SeedBuilder, dice: Dice, city: City, share: int) -> Iterator[Record]:
    """Car parks, some of which are full by day."""
    factor = {"JPY": 100, "INR": 20, "SEK": 10, "PLN": 4}.get(city.currency, 1)
    for name in _FIRST[share * 12 : share * 12 + 12]:
        lat, lon = offset(city.lat, city.lon, dice.integer(0, 70) / 10, dice.integer(0, 70) / 10)
        yield ParkingLot(
            id=make.new_id("PKL"),
            name=f"{name} {dice.choice(_PARKING)}",
            city=city.name,
            lat=lat,
            lon=lon,
            capacity=dice.integer(4, 50) * 10,
            busy=100 if dice.chance(0.35) else dice.integer(40, 98),
            hourly=Money.of(dice.integer(1, 5) * factor, city.currency),
        )


def transit(make: SeedBuilder, dice: Dice, city: City, rows: Sequence[Record], share: int) -> Iterator[Record]:
    """Stops at junctions, and lines through them."""
    nodes = [row for row in rows if isinstance(row, Junction) and row.row >= 0]
    names = _STOPS[:12] if share == 0 else _STOPS[12:]
    stops = []
    for n, (name, node) in enumerate(zip(names, dice.sample(nodes, len(names)), strict=True)):
        closed = EPOCH + timedelta(days=dice.integer(1, 9)) if n in (5, 9) else None
        stops.append(TransitStop(make.new_id("TST"), name, city.name, node.lat, node.lon, closed))
    yield from stops
    for name, kind, first, last, every in _LINES:
        ids = [stop.id for stop in dice.sample(stops, 5 if name.startswith(("Night", "Ring")) else 6)]
        label = name if share == 0 else name.replace("M", "U").replace("Bus ", "Line ").replace("Tram 4", "Tram 9")
        yield TransitLine(
            id=make.new_id("TLN"),
            name=label,
            kind=kind,
            city=city.name,
            stop_ids=tuple(ids),
            first=time(first, dice.choice((0, 5, 10))),
            last=time(last, 50),
            every=every,
        )
