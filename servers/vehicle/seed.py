"""The cars' initial world: ten cars in different states, places, a logbook and workshop hours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from servers.kernel.dice import Dice
from servers.kernel.server import SeedBuilder
from servers.kernel.session import EPOCH
from servers.kernel.store import Record
from servers.kernel.types import Money
from servers.shared.people import people
from servers.shared.places import CITIES, City
from servers.vehicle.model import Charger, Connector, LogEntry, SavedDestination, Service, ServiceSlot, Vehicle

EUROPE = tuple(city for city in CITIES if city.zone.startswith("Europe/"))
_NAMES = (
    "Family SUV", "City Hatch", "Work Van", "Weekend Coupe", "Old Mini", "Site Pickup", "Courier Van", "Estate Wagon",
    "Shuttle Bus", "Pool Car", "Blue Roadster", "Grey Sedan", "Delivery Truck", "Camper",
)  # fmt: skip
_NETWORKS = ("Voltway", "Ampere Park", "GreenPlug", "Rapid Charge", "Stromhof")
_SPOTS = (
    "Station", "North", "Mall", "Airport", "Harbour", "Motorway", "Old Town", "South", "Stadium", "University",
    "Market", "East Gate", "Lake", "Hospital", "West", "Hill", "Theatre", "Park", "Museum", "Tower", "Campus", "Bridge",
)  # fmt: skip
_CONNECTORS: tuple[Connector, ...] = ("CCS", "CHAdeMO", "Type 2")
_PRICES = {"EUR": (39, 79), "GBP": (45, 85), "CHF": (45, 80), "SEK": (420, 790), "PLN": (190, 340)}
_SERVICES: tuple[Service, ...] = ("inspection", "tire change", "brake check", "battery check", "bodywork")
_FEES = {"EUR": 1, "GBP": 1, "CHF": 1, "SEK": 11, "PLN": 4}
_SAVED = ("Home", "Office", "Warehouse", "Gym", "School", "Riverside Garden Centre", "Central Library")


def build(make: SeedBuilder) -> Iterator[Record]:
    """Write places first, since cars are plugged in at some of them."""
    dice = make.dice
    home = dice.choice(EUROPE)
    cities = _region(home)
    chargers = [_charger(make, dice, city, spot) for city in cities for spot in _SPOTS[: 26 if city is home else 4]]
    yield from chargers
    saved = list(_destinations(make, dice, cities))
    yield from saved
    vehicles = list(_vehicles(make, dice, cities, chargers))
    yield from vehicles
    for vehicle in vehicles:
        yield from _log(make, dice, vehicle, saved, chargers)
    yield from _slots(make, dice, cities, vehicles)


def _region(home: City) -> list[City]:
    """The home city, the two nearest to it and the nearest with another currency."""
    others = sorted(EUROPE, key=lambda city: ((city.lat - home.lat) ** 2 + (city.lon - home.lon) ** 2, city.name))
    near = others[:3]
    return [*near, next(city for city in others if city not in near and city.currency != home.currency)]


def _near(dice: Dice, city: City, spread: int) -> tuple[float, float]:
    return (
        round(city.lat + dice.integer(-spread, spread) / 1000, 3),
        round(city.lon + dice.integer(-spread, spread) / 1000, 3),
    )


def _charger(make: SeedBuilder, dice: Dice, city: City, spot: str) -> Charger:
    lat, lon = _near(dice, city, 500 if spot == "Motorway" else 120)
    count = dice.integer(2, 8)
    return Charger(
        id=make.new_id("CHR"),
        name=f"{dice.choice(_NETWORKS)} {city.name} {spot}",
        lat=lat,
        lon=lon,
        connector=dice.weighted(_CONNECTORS, (10, 1, 1)),
        kilowatts=dice.choice((22, 50, 150, 300)),
        price=Money(dice.integer(*_PRICES[city.currency]), city.currency),
        connectors=count,
        busy=count if dice.chance(0.2) else dice.integer(0, count - 1),
        busy_until=EPOCH + timedelta(minutes=dice.integer(10, 90)),
        offline=dice.chance(0.1),
    )


def _destinations(make: SeedBuilder, dice: Dice, cities: list[City]) -> Iterator[SavedDestination]:
    for name in _SAVED:
        yield SavedDestination(make.new_id("NAV"), name, *_near(dice, cities[0], 150))
    for person in people(make.seed, 16)[1:]:
        yield SavedDestination(make.new_id("NAV"), f"{person.name}'s House", *_near(dice, cities[0], 600))
    for city in cities:
        yield SavedDestination(make.new_id("NAV"), f"{city.name} Branch", *_near(dice, city, 80))


def _vehicles(make: SeedBuilder, dice: Dice, cities: list[City], chargers: list[Charger]) -> Iterator[Vehicle]:
    names = dice.sample(_NAMES, 10)
    plain = [_plain(make, dice, name, cities) for name in names]
    yield replace(plain[0], ignition=True, brake=True)
    yield replace(plain[1], ignition=True, gear="D", speed=dice.integer(6, 12) * 10, drive_mode="comfort")
    level = dice.integer(20, 50)
    charging = replace(plain[2], charging=True, charge=level, charge_at=EPOCH - timedelta(minutes=5))
    yield _plugged(dice, replace(charging, session_charge=level), chargers)
    yield replace(plain[3], brake=True, locked=False)
    yield replace(plain[4], locked=False, opened=("driver door", "trunk"), charge=dice.integer(5, 12))
    yield replace(plain[5], valet=True, ignition=True, brake=True, gear="D")
    yield _plugged(dice, replace(plain[6], charge=dice.integer(30, 49)), chargers)
    yield replace(plain[7], ignition=True, gear="D", brake=True, opened=("driver window",))
    yield replace(plain[8], latest="2026.2", charge=dice.integer(60, 90))
    yield replace(plain[9], latest="2026.2", updating_since=EPOCH - timedelta(minutes=5))


def _plain(make: SeedBuilder, dice: Dice, name: str, cities: list[City]) -> Vehicle:
    city = cities[0] if dice.chance(0.8) else dice.choice(cities)
    lat, lon = _near(dice, city, 100)
    pressures = (dice.integer(23, 27), dice.integer(23, 27), dice.integer(18, 27), dice.integer(18, 27))
    return Vehicle(
        id=make.new_id("VEH"),
        name=name,
        ignition=False,
        gear="P",
        brake=False,
        speed=0,
        locked=True,
        opened=(),
        charge=dice.integer(35, 90),
        charge_at=EPOCH - timedelta(minutes=dice.integer(5, 30)),
        limit=dice.choice((80, 85, 90)),
        highest_limit=dice.choice((90, 100)),
        capacity_kwh=dice.integer(40, 95),
        kwh_per_100km=dice.integer(14, 26),
        connector=dice.weighted(_CONNECTORS, (10, 1, 1)),
        plug_id=None,
        charging=False,
        session_charge=0,
        lat=lat,
        lon=lon,
        drive_mode=dice.choice(("eco", "comfort")),
        headlights=dice.choice(("off", "auto")),
        climate=None,
        seat_heating=0,
        cruise=None,
        tires=pressures,
        destination_id=None,
        valet=False,
        software="2025.4",
        latest="",
        updating_since=None,
        pin=f"{dice.integer(1000, 9999)}",
    )


def _plugged(dice: Dice, vehicle: Vehicle, chargers: list[Charger]) -> Vehicle:
    slow = [row for row in chargers if row.connector == "CCS" and row.kilowatts <= 50 and not row.offline]
    station = dice.choice(slow)
    return replace(vehicle, plug_id=station.id, lat=station.lat, lon=station.lon, connector="CCS")


def _log(
    make: SeedBuilder, dice: Dice, vehicle: Vehicle, saved: list[SavedDestination], chargers: list[Charger]
) -> Iterator[LogEntry]:
    for _ in range(18):
        at = EPOCH - timedelta(minutes=dice.integer(300, 60_000))
        if dice.chance(0.3):
            station = dice.choice(chargers)
            kwh = dice.integer(50, 450) / 10
            cost = station.price.share(int(kwh * 10), 10)
            yield LogEntry(make.new_id("VLG"), vehicle.id, "charge", at, station.name, None, kwh, cost)
        else:
            start, end = dice.sample(saved[:20], 2)
            km = dice.integer(3, 180)
            kwh = round(km * vehicle.kwh_per_100km / 100, 1)
            text = f"{start.name} to {end.name}"
            yield LogEntry(make.new_id("VLG"), vehicle.id, "drive", at, text, km, kwh, None)


def _slots(make: SeedBuilder, dice: Dice, cities: list[City], vehicles: list[Vehicle]) -> Iterator[ServiceSlot]:
    for city in cities:
        workshop = f"{city.name} {dice.choice(('E-Motors', 'Car Clinic', 'Autohaus', 'Garage Nord'))}"
        for n in range(24):
            at = EPOCH.replace(hour=8) + timedelta(days=n // 3, hours=dice.integer(1, 3) + 3 * (n % 3))
            yield ServiceSlot(
                id=make.new_id("VSL"),
                workshop=workshop,
                city=city.name,
                service=dice.choice(_SERVICES),
                at=at,
                price=Money(dice.integer(60, 400) * 100 * _FEES[city.currency], city.currency),
                taken=dice.chance(0.15),
                vehicle_id=vehicles[0].id if city is cities[0] and n == 8 else None,
            )
