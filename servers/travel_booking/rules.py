"""The travel desk's rules: what runs when, what is free, what it costs, and what state a booking is in."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from servers.kernel.errors import ToolError
from servers.kernel.session import Session
from servers.kernel.store import shown
from servers.kernel.types import MINOR_DIGITS, Money
from servers.travel_booking.model import (
    BookingStatus,
    Cabin,
    Departure,
    FareKind,
    FareRule,
    Fault,
    Flight,
    FlightBooking,
    Hotel,
    HotelStay,
    RoomNight,
    RoomType,
    StayStatus,
    Traveller,
)
from servers.travel_booking.seed import HORIZON, SERVED, seats, takeoff

CHECK_IN_OPENS = timedelta(hours=24)
CHECK_IN_CLOSES = timedelta(hours=1)
PASSPORT_MARGIN = timedelta(days=90)
LATE_BOOKING = timedelta(days=7)
"""Tickets bought this close to departure cost 30 % more."""

FARES: tuple[FareKind, ...] = ("light", "standard", "flex", "business")

RATES = {"EUR": 10_000, "GBP": 8_400, "USD": 10_800, "CHF": 9_400, "JPY": 1_620_000}
"""How many ten-thousandths of a currency one euro buys."""


def convert(amount: Money, currency: str) -> Money:
    """The same value in another currency at the desk's fixed rates."""
    gain = RATES[currency] * 10 ** MINOR_DIGITS[currency]
    return Money(amount.minor, currency).share(gain, RATES[amount.currency] * 10 ** MINOR_DIGITS[amount.currency])


def city_of(name: str) -> str:
    """The served city of this name, however it is capitalised."""
    for city in SERVED:
        if city.casefold() == name.strip().casefold():
            return city
    raise ToolError(Fault.UNKNOWN_CITY, f"{shown(name)} isn't served. Cities here: {', '.join(SERVED)}.")


def check_travel_date(session: Session, on: date) -> None:
    """Refuse days in the past or beyond the timetable."""
    today = session.now.date()
    last = today + timedelta(days=HORIZON - 1)
    if not today <= on <= last:
        raise ToolError(Fault.TRAVEL_DATE_NOT_ALLOWED, f"The date must lie between {today} and {last}.")


def flight_of(session: Session, number: str) -> Flight:
    """The flight of this number, or an error that says how to find one."""
    return session.table(Flight).require(number, "search_flights shows the valid flight numbers.")


def traveller_of(session: Session, traveller_id: str) -> Traveller:
    """The traveller, or an error that says how to find one."""
    return session.table(Traveller).require(traveller_id, "list_travellers shows the valid ids.")


def booking_of(session: Session, booking_id: str) -> FlightBooking:
    """The flight booking, or an error that says how to find one."""
    return session.table(FlightBooking).require(booking_id, "list_flight_bookings shows the valid ids.")


def room_of(session: Session, room_type_id: str) -> RoomType:
    """The room type, or an error that says how to find one."""
    return session.table(RoomType).require(room_type_id, "list_hotel_rooms shows the valid ids.")


def hotel_of(session: Session, hotel_id: str) -> Hotel:
    """The hotel, or an error that says how to find one."""
    return session.table(Hotel).require(hotel_id, "search_hotels shows the valid ids.")


def departure_of(session: Session, flight: Flight, on: date) -> Departure:
    """The flight's departure on a day that it operates."""
    departure = session.table(Departure).get(f"{flight.id}@{on}")
    if departure is None:
        later = sorted(d.on for d in session.table(Departure).where(flight_number=flight.id) if d.on > on)
        advice = f"its next day is {later[0]}" if later else "search_flights shows other flights"
        raise ToolError(Fault.NOT_OPERATING, f"{flight.id} doesn't fly on {on}; {advice}.")
    return departure


def leaves_at(flight: Flight, departure: Departure) -> datetime:
    """When the departure leaves, delay included."""
    return takeoff(flight, departure.on) + timedelta(minutes=departure.delay_minutes)


def bookable(session: Session, number: str, on: date) -> tuple[Flight, Departure]:
    """A flight and its departure on which seats can still be sold."""
    flight = flight_of(session, number)
    check_travel_date(session, on)
    departure = departure_of(session, flight, on)
    if departure.state == "cancelled":
        raise ToolError(Fault.FLIGHT_CANCELLED, f"{number} on {on} is cancelled; search_flights shows other flights.")
    if session.now >= leaves_at(flight, departure) - CHECK_IN_CLOSES:
        raise ToolError(Fault.FLIGHT_DEPARTED, f"{number} on {on} is closed for booking; choose a later day.")
    return flight, departure


def cabin_of(fare: FareKind) -> Cabin:
    """The cabin that a fare sits in."""
    return "business" if fare == "business" else "economy"


def rule_of(session: Session, flight: Flight, fare: FareKind) -> FareRule:
    """What the flight's airline allows with a fare."""
    return next(rule for rule in session.table(FareRule).where(airline=flight.airline) if rule.fare == fare)


def fare_price(session: Session, flight: Flight, on: date, fare: FareKind) -> Money:
    """What a seat costs if it is bought now, in the airline's currency."""
    late = takeoff(flight, on) - session.now < LATE_BOOKING
    return flight.base_fare.share(rule_of(session, flight, fare).percent * (130 if late else 100), 10_000)


def status_of(session: Session, booking: FlightBooking) -> BookingStatus:
    """The state of a booking at this moment."""
    if booking.status == "held" and session.now >= booking.hold_until:
        return "hold_expired"
    if booking.status == "cancelled":
        return "cancelled"
    flight = flight_of(session, booking.flight_number)
    departure = departure_of(session, flight, booking.on)
    if departure.state == "cancelled":
        return "airline_cancelled"
    return "flown" if session.now >= leaves_at(flight, departure) else booking.status


def active_bookings(session: Session, number: str, on: date) -> list[FlightBooking]:
    """The customer's bookings that occupy a seat on a departure."""
    rows = session.table(FlightBooking).where(flight_number=number, on=on)
    return [row for row in rows if status_of(session, row) not in ("hold_expired", "cancelled", "airline_cancelled")]


def free_seats(session: Session, departure: Departure, cabin: Cabin) -> list[str]:
    """Seats of a cabin that nobody has chosen."""
    own = {booking.seat for booking in active_bookings(session, departure.flight_number, departure.on)}
    return [seat for seat in seats(cabin) if seat not in departure.taken and seat not in own]


def seats_left(session: Session, departure: Departure, cabin: Cabin) -> int:
    """How many more travellers the cabin can take."""
    rows = active_bookings(session, departure.flight_number, departure.on)
    unseated = sum(cabin_of(row.fare) == cabin and not row.seat for row in rows)
    return max(0, len(free_seats(session, departure, cabin)) - unseated)


def fare_seats(session: Session, flight: Flight, departure: Departure, fare: FareKind) -> int:
    """How many seats are on sale at a fare: none once the fare had to be bought."""
    ahead = takeoff(flight, departure.on) - session.now
    if ahead < timedelta(days=rule_of(session, flight, fare).advance_days):
        return 0
    return seats_left(session, departure, cabin_of(fare))


def check_sellable(
    session: Session, flight: Flight, departure: Departure, fare: FareKind, traveller: Traveller
) -> None:
    """Refuse a fare that isn't on sale, or a second seat for the same traveller."""
    if fare_seats(session, flight, departure, fare) == 0:
        where = f"{flight.id} of {departure.on}"
        others = [each for each in FARES if fare_seats(session, flight, departure, each)]
        advice = f"on sale there: {', '.join(others)}" if others else "nothing is on sale there; take another day"
        if seats_left(session, departure, cabin_of(fare)) == 0:
            raise ToolError(Fault.FARE_SOLD_OUT, f"{cabin_of(fare).title()} on {where} is full; {advice}.")
        raise ToolError(
            Fault.ADVANCE_PURCHASE_REQUIRED,
            f"The {fare} fare must be bought {rule_of(session, flight, fare).advance_days} days ahead. "
            f"{where}: {advice}.",
        )
    for booking in active_bookings(session, flight.id, departure.on):
        if booking.traveller_id == traveller.id:
            raise ToolError(
                Fault.TRAVELLER_ALREADY_BOOKED,
                f"{traveller.name} is on {flight.id} of {departure.on} already, as {booking.id}.",
            )


def check_confirmed(session: Session, booking: FlightBooking) -> None:
    """Refuse to change anything but a confirmed booking on a flight that will leave."""
    status = status_of(session, booking)
    if status == "flown":
        raise ToolError(Fault.FLIGHT_DEPARTED, f"{booking.flight_number} of {booking.on} has left already.")
    if status == "airline_cancelled":
        raise ToolError(
            Fault.FLIGHT_CANCELLED,
            f"The airline cancelled {booking.flight_number} of {booking.on}; "
            "cancel_flight_booking gives back all that was paid.",
        )
    if status != "confirmed":
        cure = "confirm_flight_booking comes first" if status == "held" else "it needs a confirmed booking"
        raise ToolError(Fault.BOOKING_NOT_CONFIRMED, f"The booking is {status}; {cure}.")


def stay_status(session: Session, stay: HotelStay) -> StayStatus:
    """The state of a hotel stay today."""
    today = session.now.date()
    if stay.cancelled:
        return "cancelled"
    if today < stay.check_in:
        return "booked"
    return "staying" if today < stay.check_in + timedelta(days=stay.nights) else "past"


def rooms_left(session: Session, room: RoomType, check_in: date, nights: int) -> int:
    """How many rooms of a type are free in every one of the nights."""
    stays = [stay for stay in session.table(HotelStay).where(room_type_id=room.id) if not stay.cancelled]
    left = room.rooms
    for offset in range(nights):
        night = check_in + timedelta(days=offset)
        strangers = session.table(RoomNight).get(f"{room.id}@{night}")
        own = sum(stay.check_in <= night < stay.check_in + timedelta(days=stay.nights) for stay in stays)
        left = min(left, room.rooms - own - (strangers.taken if strangers else 0))
    return max(0, left)
