"""Tools for flight bookings that exist."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Annotated, Literal

from pydantic import Field

from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.types import Date, Money
from servers.travel_booking.model import (
    BookingStatus,
    Departure,
    FareKind,
    Fault,
    Flight,
    FlightBooking,
    FlightBookingId,
    FlightNumber,
    Traveller,
)
from servers.travel_booking.rules import (
    CHECK_IN_CLOSES,
    CHECK_IN_OPENS,
    bookable,
    booking_of,
    cabin_of,
    check_confirmed,
    check_sellable,
    departure_of,
    fare_price,
    flight_of,
    free_seats,
    leaves_at,
    rule_of,
    status_of,
    traveller_of,
)
from servers.travel_booking.seed import seats
from servers.travel_booking.server import server

COOLING_OFF = timedelta(hours=24)
MAX_BAGS = 3

RefundReason = Literal["hold_released", "airline_cancelled", "within_24_hours", "refundable_fare", "not_refundable"]


@dataclass(frozen=True, slots=True)
class BookingItem:
    """A flight booking in a list; `to` is the destination."""

    id: FlightBookingId
    flight_number: FlightNumber
    to: str
    on: date
    traveller: str
    status: BookingStatus


@dataclass(frozen=True, slots=True)
class BookingDetails:
    """A flight booking in full; times are UTC, with the delay, and absent where the airline cancelled."""

    id: FlightBookingId
    status: BookingStatus
    fare: FareKind
    price: Money
    paid: Money | None
    departs_at: datetime | None
    delay_minutes: int | None
    check_in_opens: datetime | None
    seat: str | None
    bags: int
    hold_until: datetime | None


@dataclass(frozen=True, slots=True)
class ChangedFlight:
    """A booking on its new day."""

    id: FlightBookingId
    departs_at: datetime
    change_fee: Money
    fare_difference: Money
    to_pay: Money


@dataclass(frozen=True, slots=True)
class CancelledFlight:
    """What a cancelled booking gives back, and why."""

    id: FlightBookingId
    status: BookingStatus
    refund: Money
    reason: RefundReason
    miles_taken_back: int | None


@dataclass(frozen=True, slots=True)
class SeatChoice:
    """The seat of a booking."""

    id: FlightBookingId
    seat: str


@dataclass(frozen=True, slots=True)
class BoardingPass:
    """A checked-in booking."""

    id: FlightBookingId
    status: BookingStatus
    seat: str
    departs_at: datetime
    miles_earned: int


@dataclass(frozen=True, slots=True)
class BagReceipt:
    """The checked bags of a booking after adding some."""

    id: FlightBookingId
    bags: int
    fee: Money


@server.tool(read_only=True)
def list_flight_bookings(
    session: Session,
    query: Query = "",
    status: BookingStatus | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[BookingItem]:
    """List flight bookings and holds with their ids; search by city or traveller.

    Upcoming ones come first, soonest first, then past ones, latest first.

    Args:
        query: words of the destination, traveller, flight number or date.
        status: only bookings in this state.
        limit: most bookings to return.
        offset: how many to skip.
    """
    items = []
    for row in session.table(FlightBooking).all():
        flight, state = flight_of(session, row.flight_number), status_of(session, row)
        name = traveller_of(session, row.traveller_id).name
        if status is None or state == status:
            items.append(BookingItem(row.id, row.flight_number, flight.destination, row.on, name, state))
    found = search(items, query, lambda item: f"{item.flight_number} {item.to} {item.on} {item.traveller}")
    today = session.now.date().toordinal()
    days = {item.id: item.on.toordinal() - today for item in found}
    return paginate(sorted(found, key=lambda item: (days[item.id] < 0, abs(days[item.id]), item.id)), limit, offset)


@server.tool(read_only=True)
def get_flight_booking(session: Session, flight_booking_id: FlightBookingId) -> BookingDetails:
    """Show one flight booking: fare, price, departure, check-in time, seat and bags.

    Args:
        flight_booking_id: the booking, from list_flight_bookings.
    """
    row = booking_of(session, flight_booking_id)
    flight = flight_of(session, row.flight_number)
    departure = departure_of(session, flight, row.on)
    leaves = None if departure.state == "cancelled" else leaves_at(flight, departure)
    return BookingDetails(
        id=row.id,
        status=status_of(session, row),
        fare=row.fare,
        price=row.price,
        paid=None if row.status == "held" else row.paid,
        departs_at=leaves,
        delay_minutes=departure.delay_minutes or None,
        check_in_opens=leaves and leaves - CHECK_IN_OPENS,
        seat=row.seat or None,
        bags=rule_of(session, flight, row.fare).bags_included + row.extra_bags,
        hold_until=row.hold_until if row.status == "held" else None,
    )


@server.tool()
def change_flight_date(session: Session, flight_booking_id: FlightBookingId, on: Date) -> ChangedFlight:
    """Move a confirmed booking to another day of the same flight, for the fee and any fare difference.

    The chosen seat is given up. A cheaper day gives nothing back.

    Args:
        flight_booking_id: the booking, from list_flight_bookings.
        on: the new day of departure.

    Raises:
        booking_not_confirmed: it is held, checked in or cancelled.
        flight_departed: the old or the new departure has left.
        flight_cancelled: the old or the new departure is cancelled.
        not_changeable: the fare allows no changes.
        same_date: it is on that day already.
        travel_date_not_allowed: the day is past or too far ahead.
        not_operating: the flight doesn't fly on that day.
        fare_sold_out: its cabin is full on that day.
        advance_purchase_required: the fare had to be bought earlier for that day.
        traveller_already_booked: the traveller has a seat on that departure.
    """
    booking = booking_of(session, flight_booking_id)
    check_confirmed(session, booking)
    flight = flight_of(session, booking.flight_number)
    fee = rule_of(session, flight, booking.fare).change_fee
    if fee is None:
        raise ToolError(
            Fault.NOT_CHANGEABLE, f"The {booking.fare} fare allows no changes; cancel it and book a new flight."
        )
    if on == booking.on:
        raise ToolError(Fault.SAME_DATE, f"The booking is for {on} already; choose another day.")
    _, departure = bookable(session, flight.id, on)
    check_sellable(session, flight, departure, booking.fare, traveller_of(session, booking.traveller_id))
    price = fare_price(session, flight, on, booking.fare)
    difference = Money(max(0, price.minor - booking.price.minor), price.currency)
    changed = replace(booking, on=on, seat="", price=booking.price + difference, paid=booking.paid + difference)
    session.table(FlightBooking).put(changed)
    return ChangedFlight(booking.id, leaves_at(flight, departure), fee, difference, fee + difference)


@server.tool(destructive=True)
def cancel_flight_booking(session: Session, flight_booking_id: FlightBookingId) -> CancelledFlight:
    """Cancel a flight booking or hold; the refund follows the fare's rules.

    All that was paid comes back for refundable fares, within 24 hours of paying, or if the airline cancelled;
    otherwise nothing. Miles earned at check-in are taken back.

    Args:
        flight_booking_id: the booking, from list_flight_bookings.

    Raises:
        already_cancelled: it is cancelled, or its hold ran out.
        flight_departed: the flight has left.
    """
    booking = booking_of(session, flight_booking_id)
    status = status_of(session, booking)
    if status in ("cancelled", "hold_expired"):
        raise ToolError(Fault.ALREADY_CANCELLED, f"The booking is {status}; there is nothing left to cancel.")
    if status == "flown":
        raise ToolError(Fault.FLIGHT_DEPARTED, f"{booking.flight_number} left on {booking.on} and can't be cancelled.")
    reason = _refund_reason(session, booking)
    nothing = reason in ("hold_released", "not_refundable")
    refund = Money(0, booking.price.currency) if nothing else booking.paid
    taken = _take_miles_back(session, booking) if booking.status == "checked_in" else None
    session.table(FlightBooking).put(replace(booking, status="cancelled", seat=""))
    return CancelledFlight(booking.id, "cancelled", refund, reason, taken)


def _miles_of(flight: Flight, fare: FareKind) -> int:
    """How many miles a checked-in flight earns."""
    return flight.minutes * (10 if fare == "business" else 4)


def _take_miles_back(session: Session, booking: FlightBooking) -> int:
    """Undo what check-in earned, as far as the traveller still has it."""
    traveller = traveller_of(session, booking.traveller_id)
    taken = min(traveller.miles, _miles_of(flight_of(session, booking.flight_number), booking.fare))
    session.table(Traveller).put(replace(traveller, miles=traveller.miles - taken))
    return taken


def _refund_reason(session: Session, booking: FlightBooking) -> RefundReason:
    flight = flight_of(session, booking.flight_number)
    if booking.status == "held":
        return "hold_released"
    if departure_of(session, flight, booking.on).state == "cancelled":
        return "airline_cancelled"
    if rule_of(session, flight, booking.fare).refundable:
        return "refundable_fare"
    return "within_24_hours" if session.now - booking.booked_at < COOLING_OFF else "not_refundable"


@server.tool(idempotent=True)
def choose_flight_seat(
    session: Session,
    flight_booking_id: FlightBookingId,
    seat: Annotated[str, Field(pattern=r"^[1-9]\d?[A-F]$")],
) -> SeatChoice:
    """Choose or change the seat of a confirmed booking; get_seat_map shows free seats.

    Args:
        flight_booking_id: the booking, from list_flight_bookings.
        seat: row and letter, such as 7C.

    Raises:
        booking_not_confirmed: it is held, checked in or cancelled.
        flight_departed: the flight has left.
        flight_cancelled: the airline cancelled the flight.
        seat_not_included: light fares get a seat at check-in.
        no_such_seat: the booking's cabin has no such seat.
        seat_taken: somebody else sits there.
    """
    booking = booking_of(session, flight_booking_id)
    check_confirmed(session, booking)
    if booking.fare == "light":
        raise ToolError(Fault.SEAT_NOT_INCLUDED, "Light fares get a seat from check_in_for_flight and can't choose.")
    cabin = cabin_of(booking.fare)
    if seat not in seats(cabin):
        known = seats(cabin)
        raise ToolError(Fault.NO_SUCH_SEAT, f"Seats in {cabin} go from {known[0]} to {known[-1]}; see get_seat_map.")
    departure = departure_of(session, flight_of(session, booking.flight_number), booking.on)
    free = free_seats(session, departure, cabin)
    if seat != booking.seat and seat not in free:
        near = f"free are {', '.join(free[:4])}" if free else "none is free"
        raise ToolError(Fault.SEAT_TAKEN, f"{seat} is taken; {near}.")
    session.table(FlightBooking).put(replace(booking, seat=seat))
    return SeatChoice(booking.id, seat)


@server.tool()
def check_in_for_flight(session: Session, flight_booking_id: FlightBookingId) -> BoardingPass:
    """Check in a confirmed booking from 24 hours to 1 hour before departure and get the seat.

    Args:
        flight_booking_id: the booking, from list_flight_bookings.

    Raises:
        booking_not_confirmed: it is held, cancelled or checked in already.
        flight_departed: the flight has left.
        flight_cancelled: the airline cancelled the flight.
        check_in_not_open: it is too early.
        check_in_closed: it is less than an hour before departure.
        fare_sold_out: no seat is left in the cabin.
    """
    booking = booking_of(session, flight_booking_id)
    check_confirmed(session, booking)
    flight = flight_of(session, booking.flight_number)
    departure = departure_of(session, flight, booking.on)
    leaves = leaves_at(flight, departure)
    if session.now < leaves - CHECK_IN_OPENS:
        opens = leaves - CHECK_IN_OPENS
        raise ToolError(Fault.CHECK_IN_NOT_OPEN, f"Check-in opens at {opens:%Y-%m-%d %H:%M} UTC; try again then.")
    if session.now >= leaves - CHECK_IN_CLOSES:
        raise ToolError(Fault.CHECK_IN_CLOSED, f"Check-in closed an hour before {leaves:%H:%M} UTC; go to the airport.")
    seat = booking.seat or _next_seat(session, departure, booking.fare)
    traveller = traveller_of(session, booking.traveller_id)
    earned = _miles_of(flight, booking.fare)
    session.table(Traveller).put(replace(traveller, miles=traveller.miles + earned))
    session.table(FlightBooking).put(replace(booking, status="checked_in", seat=seat))
    return BoardingPass(booking.id, "checked_in", seat, leaves, earned)


def _next_seat(session: Session, departure: Departure, fare: FareKind) -> str:
    free = free_seats(session, departure, cabin_of(fare))
    if not free:
        raise ToolError(
            Fault.FARE_SOLD_OUT, f"No seat is left on {departure.flight_number}; the airport desk can help."
        )
    return free[0]


@server.tool()
def add_checked_bags(
    session: Session, flight_booking_id: FlightBookingId, bags: Annotated[int, Field(ge=1, le=3)]
) -> BagReceipt:
    """Add checked bags to a confirmed booking for the airline's fee per bag; three in all are allowed.

    Args:
        flight_booking_id: the booking, from list_flight_bookings.
        bags: how many bags to add.

    Raises:
        booking_not_confirmed: it is held, checked in or cancelled.
        flight_departed: the flight has left.
        flight_cancelled: the airline cancelled the flight.
        bag_limit: there would be more than three.
    """
    booking = booking_of(session, flight_booking_id)
    check_confirmed(session, booking)
    rule = rule_of(session, flight_of(session, booking.flight_number), booking.fare)
    present = rule.bags_included + booking.extra_bags
    if present + bags > MAX_BAGS:
        raise ToolError(
            Fault.BAG_LIMIT,
            f"The booking has {present} of at most {MAX_BAGS} bags; {MAX_BAGS - present} can be added.",
        )
    session.table(FlightBooking).put(replace(booking, extra_bags=booking.extra_bags + bags))
    return BagReceipt(booking.id, present + bags, rule.bag_fee * bags)
