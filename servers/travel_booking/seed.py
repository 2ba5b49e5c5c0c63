"""The travel desk's initial world: a hub-and-spoke timetable, hotels, and one customer's trips."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from math import hypot

from servers.kernel.dice import Dice
from servers.kernel.server import SeedBuilder
from servers.kernel.session import EPOCH
from servers.kernel.store import Record
from servers.kernel.types import MINOR_DIGITS, Money
from servers.shared.people import people
from servers.shared.places import CITIES, City
from servers.travel_booking.model import (
    Departure,
    FareKind,
    FareRule,
    Flight,
    FlightBooking,
    Hotel,
    HotelStay,
    Itinerary,
    RoomNight,
    RoomType,
    StoredStatus,
    Traveller,
    Voucher,
)

SERVED = ("Lisbon", "Paris", "Berlin", "Madrid", "Rome", "London", "Amsterdam", "New York", "Tokyo")
HORIZON = 30
"""Flights and hotels can be booked this many days ahead."""

ECONOMY_ROWS = range(3, 11)
BUSINESS_ROWS = range(1, 3)
_TODAY = EPOCH.date()
_AIRLINES = {"NW": ("Northwind Air", "EUR"), "SB": ("Silverbird", "GBP"), "MR": ("Meridian", "USD")}
_RULES: tuple[tuple[FareKind, int, bool, int | None, int, int], ...] = (
    ("light", 80, False, None, 7, 0),
    ("standard", 100, False, 45, 2, 1),
    ("flex", 150, True, 0, 0, 1),
    ("business", 320, True, 0, 0, 2),
)
_HOTELS = ("Grand", "Riverside Inn", "Station Hotel", "Old Town Lodge", "Garden Palace", "Harbour House")
_ROOMS = (("Single", 1, 70), ("Double", 2, 110), ("Family Room", 4, 170), ("Suite", 3, 260))
_TRIPS = ("Spring Break", "Sales Tour", "Family Visit", "Museum Weekend", "Conference Week")
_NATIONS = ("Portuguese", "French", "German", "British", "Indian", "Japanese")


def seats(cabin: str) -> list[str]:
    """All seats of a cabin, front to back."""
    rows, letters = (BUSINESS_ROWS, "ACDF") if cabin == "business" else (ECONOMY_ROWS, "ABCDEF")
    return [f"{row}{letter}" for row in rows for letter in letters]


def takeoff(flight: Flight, on: date) -> datetime:
    """When the flight leaves on that day if it is on time."""
    return datetime.combine(on, flight.departs, tzinfo=EPOCH.tzinfo)


def build(make: SeedBuilder) -> Iterator[Record]:
    """Write the timetable, then hotels, then what the customer has booked."""
    dice = make.dice
    home = dice.choice(("Berlin", "London", "Amsterdam"))
    flights = _timetable(dice, home)
    departures = [row for flight in flights for row in _departures(dice, flight)]
    travellers = [_traveller(make, dice, person.name, home) for person in people(make.seed, 8)]
    yield from flights
    yield from departures
    yield from _fare_rules()
    yield from travellers
    bookings = _bookings(make, dice, {flight.id: flight for flight in flights}, departures, travellers)
    yield from bookings
    yield from _vouchers()
    hotels = [Hotel(make.new_id("HTL"), f"{name} {city}", city, *_quality(dice)) for city, name in _hotel_names(dice)]
    yield from hotels
    rooms = [room for hotel in hotels for room in _rooms(make, dice, hotel)]
    yield from rooms
    for room in rooms:
        yield from _nights(dice, room)
    stays = _stays(make, dice, rooms, travellers)
    yield from stays
    yield from _itineraries(dice, bookings, stays)


def _timetable(dice: Dice, home: str) -> list[Flight]:
    others = [name for name in SERVED if name != home]
    pairs = [(home, other) for other in others]
    crossings = [(a, b) for n, a in enumerate(others) for b in others[n + 1 :]]
    pairs += dice.sample(crossings, 6)
    flights = []
    number = dice.integer(100, 140)
    for n, (a, b) in enumerate(pairs):
        for origin, destination in ((a, b), (b, a)) * (2 if n < len(others) else 1):
            number += dice.integer(3, 17)
            flights.append(_flight(dice, number, origin, destination))
    return flights


def _flight(dice: Dice, number: int, origin: str, destination: str) -> Flight:
    code = dice.choice(tuple(_AIRLINES))
    airline, currency = _AIRLINES[code]
    one, other = _city(origin), _city(destination)
    distance = 100 * hypot(one.lat - other.lat, (one.lon - other.lon) * 0.7)
    base = 35 + int(distance * 0.06) + dice.integer(0, 30)
    return Flight(
        id=f"{code}{number}",
        airline=airline,
        origin=origin,
        destination=destination,
        departs=time(dice.integer(5, 21), dice.choice((0, 10, 25, 40, 55))),
        minutes=50 + int(distance / 12),
        weekdays=tuple(sorted({0, 1, *dice.sample((2, 3, 4, 5, 6), dice.integer(2, 5))})),
        base_fare=Money(base * 100, currency),
    )


def _city(name: str) -> City:
    return next(city for city in CITIES if city.name == name)


def _departures(dice: Dice, flight: Flight) -> Iterator[Departure]:
    for offset in range(-8, HORIZON + 1):
        on = _TODAY + timedelta(days=offset)
        if on.weekday() not in flight.weekdays:
            continue
        state = dice.weighted(("on_time", "delayed", "cancelled"), (88, 6, 6))
        full = dice.chance(0.07)
        economy = dice.sample(seats("economy"), 48 if full else dice.integer(8, 34))
        business = dice.sample(seats("business"), 8 if dice.chance(0.2) else dice.integer(1, 6))
        yield Departure(
            id=f"{flight.id}@{on}",
            flight_number=flight.id,
            on=on,
            state="cancelled" if state == "cancelled" else "delayed" if state == "delayed" else "on_time",
            delay_minutes=dice.choice((25, 40, 90)) if state == "delayed" else 0,
            taken=tuple(sorted((*economy, *business))),
        )


def _fare_rules() -> Iterator[FareRule]:
    for code, (airline, currency) in _AIRLINES.items():
        extra = {"NW": 0, "SB": 5, "MR": 10}[code]
        for fare, percent, refundable, fee, advance, bags in _RULES:
            yield FareRule(
                id=f"{code}-{fare}",
                airline=airline,
                fare=fare,
                percent=percent,
                refundable=refundable,
                change_fee=None if fee is None else Money((fee + extra) * 100 if fee else 0, currency),
                advance_days=advance,
                bags_included=bags,
                bag_fee=Money((30 + extra) * 100, currency),
            )


def _traveller(make: SeedBuilder, dice: Dice, name: str, home: str) -> Traveller:
    first = make.id_counts.get("TVR", 0) == 0
    expires = date(2027 + dice.integer(0, 7), dice.integer(1, 12), dice.integer(1, 28))
    if not first and dice.chance(0.25):
        expires = _TODAY + timedelta(days=dice.integer(-60, 100))
    return Traveller(
        id=make.new_id("TVR"),
        name=name,
        home=home,
        nationality=dice.choice(_NATIONS),
        passport_expires=expires,
        miles=dice.choice((0, 1200, 4800, 15_000)) + (9000 if first else 0),
        passport_number=f"{dice.choice('CFGKLPX')}{dice.integer(10_000_000, 99_999_999)}",
    )


_STATES: tuple[tuple[StoredStatus, int, int, int], ...] = (
    ("held", 8, 25, 17),
    ("confirmed", 8, 28, 11),
    ("confirmed", 2, 7, 6),
    ("confirmed", 0, 1, 14),
    ("confirmed", -8, -1, 4),
    ("checked_in", 0, 1, 2),
    ("checked_in", -8, -1, 2),
    ("cancelled", 1, 20, 4),
)
"""Stored status, first and last day of departure, how many."""


def _bookings(
    make: SeedBuilder,
    dice: Dice,
    flights: dict[str, Flight],
    departures: list[Departure],
    travellers: list[Traveller],
) -> list[FlightBooking]:
    made: list[FlightBooking] = []
    seen: set[str] = set()
    for status, first, last, count in _STATES:
        days = {_TODAY + timedelta(days=offset) for offset in range(first, last + 1)}
        fitting = [d for d in departures if d.on in days and (d.state != "cancelled" or dice.chance(0.5))]
        if first == 0:
            window = EPOCH + timedelta(minutes=80), EPOCH + timedelta(hours=23)
            fitting = [d for d in fitting if window[0] < takeoff(flights[d.flight_number], d.on) < window[1]]
        for departure in dice.sample(fitting, count):
            traveller = travellers[0] if dice.chance(0.5) else dice.choice(travellers)
            if departure.id not in seen:
                seen.add(departure.id)
                made.append(_booking(make, dice, flights[departure.flight_number], departure, traveller, status))
    return made


def _booking(
    make: SeedBuilder, dice: Dice, flight: Flight, departure: Departure, traveller: Traveller, status: StoredStatus
) -> FlightBooking:
    fare = dice.weighted(tuple(rule[0] for rule in _RULES), (3, 4, 4, 1))
    percent = next(rule[1] for rule in _RULES if rule[0] == fare)
    cabin = "business" if fare == "business" else "economy"
    free = [seat for seat in seats(cabin) if seat not in departure.taken]
    seated = bool(free) and (status == "checked_in" or (fare != "light" and dice.chance(0.4)))
    lapsed = dice.chance(0.25)
    booked = EPOCH - timedelta(minutes=dice.integer(45, 50) if status == "held" else dice.integer(15_000, 60_000))
    price = flight.base_fare.share(percent, 100)
    return FlightBooking(
        id=make.new_id("FLB"),
        flight_number=flight.id,
        on=departure.on,
        fare=fare,
        traveller_id=traveller.id,
        price=price,
        paid=Money(0, price.currency) if status == "held" else price,
        status=status,
        hold_until=EPOCH - timedelta(minutes=5) if lapsed else EPOCH + timedelta(minutes=dice.integer(15, 900)),
        booked_at=booked,
        seat=dice.choice(free) if seated else "",
        extra_bags=1 if dice.chance(0.15) else 0,
    )


def _vouchers() -> Iterator[Voucher]:
    codes = (
        ("SPRING50", 50, "EUR", 40, False),
        ("SORRY75", 75, "EUR", 90, False),
        ("BLUE40", 40, "GBP", 25, False),
        ("ATLAS60", 60, "USD", 60, False),
        ("WINTER20", 20, "EUR", -12, False),
        ("LUCKY30", 30, "GBP", 30, True),
    )
    for code, value, currency, days, used in codes:
        yield Voucher(code, Money(value * 100, currency), _TODAY + timedelta(days=days), used)


def _hotel_names(dice: Dice) -> list[tuple[str, str]]:
    return [(city, name) for city in SERVED for name in dice.sample(_HOTELS, 3)]


def _quality(dice: Dice) -> tuple[int, int]:
    return dice.integer(2, 5), dice.choice((1, 2, 3, 7))


def _rooms(make: SeedBuilder, dice: Dice, hotel: Hotel) -> Iterator[RoomType]:
    currency = _city(hotel.city).currency
    for name, sleeps, price in dice.sample(_ROOMS, dice.integer(2, 3)):
        cost = price * (4 + hotel.stars) // 7 + dice.integer(0, 9)
        yield RoomType(
            id=make.new_id("RMT"),
            hotel_id=hotel.id,
            name=name,
            sleeps=sleeps,
            price=Money(cost * 100, currency) if MINOR_DIGITS[currency] else Money(cost * 160, currency),
            rooms=dice.integer(2, 5),
        )


def _nights(dice: Dice, room: RoomType) -> Iterator[RoomNight]:
    for offset in range(HORIZON + 1):
        night = _TODAY + timedelta(days=offset)
        taken = room.rooms if dice.chance(0.12) else dice.integer(0, room.rooms - 1)
        if taken:
            yield RoomNight(f"{room.id}@{night}", room.id, night, taken)


def _stays(make: SeedBuilder, dice: Dice, rooms: list[RoomType], travellers: list[Traveller]) -> list[HotelStay]:
    made = []
    for room in dice.sample(rooms, 24):
        nights = dice.integer(1, 5)
        made.append(
            HotelStay(
                id=make.new_id("HST"),
                room_type_id=room.id,
                traveller_id=dice.choice(travellers).id,
                check_in=_TODAY + timedelta(days=dice.integer(-6, 24)),
                nights=nights,
                price=room.price * nights,
                cancelled=dice.chance(0.12),
            )
        )
    return made


def _itineraries(dice: Dice, bookings: list[FlightBooking], stays: list[HotelStay]) -> Iterator[Itinerary]:
    live = [b for b in bookings if b.status == "confirmed" and b.on > _TODAY]
    flights, rooms = dice.shuffled(live), dice.shuffled([stay for stay in stays if not stay.cancelled])
    for n, name in enumerate(_TRIPS):
        joined = tuple(booking.id for booking in flights[2 * n : 2 * n + dice.integer(0, 2)])
        yield Itinerary(name, joined, (rooms[n].id,))
