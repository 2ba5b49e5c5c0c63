"""The initial maps: two cities with streets and roads, then what lies along them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from servers.kernel.dice import Dice
from servers.kernel.server import SeedBuilder
from servers.kernel.session import EPOCH
from servers.kernel.store import Record
from servers.kernel.types import Money
from servers.maps.geo import COLUMNS, offset
from servers.maps.model import (
    Incident,
    IncidentKind,
    Junction,
    MapCity,
    Place,
    PlaceReview,
    Road,
    SavedList,
    SavedPlace,
)
from servers.maps.model import Street as StreetRow
from servers.maps.seed_places import parking, places, transit
from servers.shared.places import CITIES, STREETS, City

_SHARED = ("Maple Street", "Harbour Road")
"""Street names that both cities have, so that an address can be ambiguous."""

_OTHER_STREETS = (
    "Rose Street", "Abbey Road", "Sunset Boulevard", "Foundry Lane", "Elm Grove", "Tower Hill", "Silver Street",
    "Vineyard Road", "Lighthouse Way", "Chestnut Avenue",
)  # fmt: skip
_LISTS: tuple[SavedList, ...] = ("favorites", "want to go", "work")
_KINDS: tuple[IncidentKind, ...] = ("closure", "accident", "roadworks", "congestion")
_OPINIONS = (
    "Friendly people and quick service.", "Lovely at sunset.", "A bit loud, still worth it.", "Too crowded for me.",
    "Clean, quiet and fair prices.", "We waited far too long.",
)  # fmt: skip


def build(make: SeedBuilder) -> Iterator[Record]:
    """Write the two cities one after the other, then what the user has saved."""
    dice = make.dice
    home, second = dice.sample(CITIES, 2)
    names = dice.shuffled(STREETS[:16]), dice.shuffled((*STREETS[16:], *_OTHER_STREETS, *_SHARED))
    everything: list[Place] = []
    for city, streets, share in ((home, names[0], 0), (second, names[1], 1)):
        yield MapCity(city.name, city.zone, city.currency)
        rows = list(_network(make, dice, city, streets))
        yield from rows
        own = list(places(make, dice, city, rows, share))
        yield from own
        yield from parking(make, dice, city, share)
        yield from transit(make, dice, city, rows, share)
        yield from _incidents(make, dice, city, rows)
        everything += own
    yield from _saved(make, dice, everything)
    yield from _reviews(make, dice, everything)


def _network(make: SeedBuilder, dice: Dice, city: City, streets: list[str]) -> Iterator[Record]:
    size = COLUMNS
    half = len(streets) // 2
    for n, name in enumerate(streets):
        yield StreetRow(make.new_id("RST"), city.name, name, n < half, n % half)
    nodes: dict[tuple[int, int], Junction] = {}
    for row in range(size):
        for column in range(size):
            lat, lon = offset(city.lat, city.lon, row, column)
            nodes[row, column] = Junction(make.new_id("RJN"), city.name, row, column, lat, lon)
    lat, lon = offset(city.lat, city.lon, -9, -6)
    airport = Junction(make.new_id("RJN"), city.name, -1, -1, lat, lon)
    yield from nodes.values()
    yield airport
    for (row, column), node in nodes.items():
        if column + 1 < size:
            yield _road(make, dice, city, node, nodes[row, column + 1], streets[row])
        if row + 1 < size:
            yield _road(make, dice, city, node, nodes[row + 1, column], streets[half + column])
    toll = Money.of(dice.integer(2, 4) * (100 if city.currency in ("JPY", "INR") else 1), city.currency)
    for row, column in ((0, 0), (0, 4), (3, 0)):
        meters = dice.integer(5600, 7400)
        yield Road(
            make.new_id("RSG"), city.name, nodes[row, column].id, airport.id, "Airport Motorway", meters, 100, False,
            True, toll,
        )  # fmt: skip


def _road(make: SeedBuilder, dice: Dice, city: City, start: Junction, end: Junction, street: str) -> Road:
    return Road(
        id=make.new_id("RSG"),
        city=city.name,
        start_id=start.id,
        end_id=end.id,
        street=street,
        meters=dice.integer(440, 620),
        kmh=dice.choice((30, 30, 40, 50)),
        one_way=dice.chance(0.08) and 0 < start.row < COLUMNS - 2 and 0 < start.column < COLUMNS - 2,
        motorway=False,
        toll=None,
    )


def _incidents(make: SeedBuilder, dice: Dice, city: City, rows: list[Record]) -> Iterator[Record]:
    roads = [row for row in rows if isinstance(row, Road) and not row.motorway]
    for road in dice.sample(roads, 16):
        starts = EPOCH - timedelta(minutes=dice.integer(-120, 300))
        yield Incident(
            id=make.new_id("TIN"),
            city=city.name,
            road_id=road.id,
            kind=dice.weighted(_KINDS, (2, 3, 3, 3)),
            slowdown=dice.integer(3, 15) * 10,
            starts=starts,
            ends=starts + timedelta(minutes=dice.integer(60, 480)),
        )


def _saved(make: SeedBuilder, dice: Dice, everything: list[Place]) -> Iterator[Record]:
    open_places = [place for place in everything if not place.gone]
    for saved_list, count in zip(_LISTS, (12, 9, 6), strict=True):
        for place in dice.sample(open_places, count):
            at = EPOCH - timedelta(days=dice.integer(1, 500), minutes=dice.integer(0, 600))
            yield SavedPlace(make.new_id("SVP"), place.id, saved_list, at)


def _reviews(make: SeedBuilder, dice: Dice, everything: list[Place]) -> Iterator[Record]:
    for n, place in enumerate(dice.sample([place for place in everything if place.opening_on is None], 24)):
        at = EPOCH - (timedelta(minutes=40 + n) if n < 2 else timedelta(days=dice.integer(2, 900)))
        yield PlaceReview(make.new_id("PRV"), place.id, dice.integer(1, 5), dice.choice(_OPINIONS), at)
