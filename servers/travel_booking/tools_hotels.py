"""Tools for hotels and for the itineraries that join stays and flights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Annotated

from pydantic import Field

from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.types import Date, Money
from servers.travel_booking.model import (
    Fault,
    FlightBooking,
    FlightBookingId,
    Hotel,
    HotelId,
    HotelStay,
    HotelStayId,
    Itinerary,
    ItineraryName,
    QuoteCurrency,
    RoomType,
    RoomTypeId,
    StayStatus,
    TravellerId,
)
from servers.travel_booking.rules import (
    booking_of,
    check_travel_date,
    city_of,
    convert,
    flight_of,
    hotel_of,
    room_of,
    rooms_left,
    status_of,
    stay_status,
    traveller_of,
)
from servers.travel_booking.server import server

Nights = Annotated[int, Field(ge=1, le=21)]


@dataclass(frozen=True, slots=True)
class RoomOffer:
    """A room type for certain nights; the price is for all of them."""

    id: RoomTypeId
    hotel: str
    name: str
    sleeps: int
    price: Money
    rooms_left: int


@dataclass(frozen=True, slots=True)
class BookedStay:
    """A stay that has just been booked; without the last field it can't be cancelled any more."""

    id: HotelStayId
    hotel: str
    price: Money
    free_cancellation_until: date | None


@dataclass(frozen=True, slots=True)
class StayItem:
    """A hotel stay in a list."""

    id: HotelStayId
    hotel: str
    check_in: date
    nights: int
    guest: str
    status: StayStatus


@dataclass(frozen=True, slots=True)
class CancelledStay:
    """A stay that was cancelled in time."""

    id: HotelStayId
    status: StayStatus
    refund: Money


@dataclass(frozen=True, slots=True)
class ItineraryPlan:
    """A trip with its flights and stays in order of time."""

    name: ItineraryName
    plan: list[str]


@server.tool(read_only=True)
def search_hotels(
    session: Session,
    city: Annotated[str, Field(min_length=2, max_length=40)] | None = None,
    query: Query = "",
    min_stars: Annotated[int, Field(ge=1, le=5)] = 1,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[Hotel]:
    """Find hotels by city or name, with their ids, stars and days of free cancellation. Best first.

    Args:
        city: where to stay; everywhere when absent.
        query: words of the hotel's name.
        min_stars: fewest stars.
        limit: most hotels to return.
        offset: how many to skip.

    Raises:
        unknown_city: the desk has no hotels there.
    """
    rows = session.table(Hotel).all() if city is None else session.table(Hotel).where(city=city_of(city))
    rows = search(rows, query, lambda hotel: hotel.name)
    rows = [hotel for hotel in rows if hotel.stars >= min_stars]
    return paginate(sorted(rows, key=lambda hotel: (-hotel.stars, hotel.name, hotel.id)), limit, offset)


@server.tool(read_only=True)
def list_hotel_rooms(
    session: Session,
    hotel_id: HotelId,
    check_in: Date | None = None,
    nights: Nights = 1,
    currency: QuoteCurrency | None = None,
) -> Page[RoomOffer]:
    """List a hotel's room types with price and free rooms for certain nights. Cheapest first.

    Args:
        hotel_id: the hotel, from search_hotels.
        check_in: day of arrival; today when absent.
        nights: how many nights.
        currency: currency of the quote; the hotel's own when absent.

    Raises:
        travel_date_not_allowed: the day is past or too far ahead.
    """
    hotel = hotel_of(session, hotel_id)
    start = check_in or session.now.date()
    check_travel_date(session, start)
    offers = []
    for room in sorted(session.table(RoomType).where(hotel_id=hotel_id), key=lambda row: (row.price.minor, row.id)):
        price = room.price * nights
        quote = convert(price, currency) if currency else price
        left = rooms_left(session, room, start, nights)
        offers.append(RoomOffer(room.id, hotel.name, room.name, room.sleeps, quote, left))
    return paginate(offers, 10)


@server.tool()
def book_hotel_room(
    session: Session,
    room_type_id: RoomTypeId,
    traveller_id: TravellerId,
    check_in: Date,
    nights: Nights,
    guests: Annotated[int, Field(ge=1, le=6)] = 1,
) -> BookedStay:
    """Book a hotel room for some nights in a traveller's name.

    Args:
        room_type_id: the room type, from list_hotel_rooms.
        traveller_id: in whose name, from list_travellers.
        check_in: day of arrival.
        nights: how many nights.
        guests: how many people sleep there.

    Raises:
        travel_date_not_allowed: the day is past or too far ahead.
        too_many_guests: the room sleeps fewer.
        room_unavailable: no room of this type is free in every night.
    """
    room = room_of(session, room_type_id)
    traveller_of(session, traveller_id)
    check_travel_date(session, check_in)
    hotel = hotel_of(session, room.hotel_id)
    if guests > room.sleeps:
        raise ToolError(
            Fault.TOO_MANY_GUESTS, f"A {room.name} at {hotel.name} sleeps {room.sleeps}; take a larger one."
        )
    if rooms_left(session, room, check_in, nights) == 0:
        raise ToolError(
            Fault.ROOM_UNAVAILABLE,
            f"No {room.name} at {hotel.name} is free in every night from {check_in} ({nights} in all); "
            "list_hotel_rooms shows what is.",
        )
    row = HotelStay(session.new_id("HST"), room.id, traveller_id, check_in, nights, room.price * nights, False)
    session.table(HotelStay).add(row)
    deadline = check_in - timedelta(days=hotel.cancel_days)
    return BookedStay(row.id, hotel.name, row.price, deadline if deadline >= session.now.date() else None)


@server.tool(read_only=True)
def list_hotel_stays(
    session: Session, query: Query = "", status: StayStatus | None = None, limit: Limit = 5, offset: Offset = 0
) -> Page[StayItem]:
    """List booked hotel stays with their ids, latest arrival first; search by hotel, city or guest.

    Args:
        query: words of the hotel, the guest or the date of arrival.
        status: only stays in this state.
        limit: most stays to return.
        offset: how many to skip.
    """
    items = []
    for stay in session.table(HotelStay).all():
        hotel, state = hotel_of(session, room_of(session, stay.room_type_id).hotel_id), stay_status(session, stay)
        if status is None or state == status:
            guest = traveller_of(session, stay.traveller_id).name
            items.append(StayItem(stay.id, hotel.name, stay.check_in, stay.nights, guest, state))
    found = search(items, query, lambda item: f"{item.hotel} {item.guest} {item.check_in}")
    return paginate(sorted(found, key=lambda item: (-item.check_in.toordinal(), item.id)), limit, offset)


@server.tool(destructive=True)
def cancel_hotel_stay(session: Session, hotel_stay_id: HotelStayId) -> CancelledStay:
    """Cancel a hotel stay for a full refund before the hotel's cancellation deadline.

    Args:
        hotel_stay_id: the stay, from list_hotel_stays.

    Raises:
        already_cancelled: it is cancelled already.
        cancel_deadline_passed: the hotel takes no cancellation any more.
    """
    stay = _stay_of(session, hotel_stay_id)
    if stay.cancelled:
        raise ToolError(Fault.ALREADY_CANCELLED, "The stay is cancelled already; there is nothing left to cancel.")
    hotel = hotel_of(session, room_of(session, stay.room_type_id).hotel_id)
    deadline = stay.check_in - timedelta(days=hotel.cancel_days)
    if session.now.date() > deadline:
        raise ToolError(
            Fault.CANCEL_DEADLINE_PASSED,
            f"{hotel.name} took cancellations of this stay until {deadline}; the price of {stay.price} is now due.",
        )
    session.table(HotelStay).put(replace(stay, cancelled=True))
    return CancelledStay(stay.id, "cancelled", stay.price)


def _stay_of(session: Session, stay_id: str) -> HotelStay:
    return session.table(HotelStay).require(stay_id, "list_hotel_stays shows the valid ids.")


@server.tool(read_only=True)
def list_itineraries(session: Session, query: Query = "", limit: Limit = 5, offset: Offset = 0) -> Page[ItineraryPlan]:
    """List named itineraries with the flights and hotel stays that they join. Ordered by name.

    Args:
        query: words of the itinerary's name or plan.
        limit: most itineraries to return.
        offset: how many to skip.
    """
    plans = [_plan(session, row) for row in session.table(Itinerary).all()]
    found = search(plans, query, lambda plan: " ".join((plan.name, *plan.plan)))
    return paginate(sorted(found, key=lambda plan: plan.name), limit, offset)


@server.tool()
def add_to_itinerary(
    session: Session,
    itinerary: Annotated[ItineraryName, Field(min_length=2, max_length=60)],
    flight_booking_id: FlightBookingId | None = None,
    hotel_stay_id: HotelStayId | None = None,
) -> ItineraryPlan:
    """Add a flight booking or a hotel stay to a named itinerary, starting a new one if there is none.

    Args:
        itinerary: the itinerary's name, such as Spring Break.
        flight_booking_id: the flight booking, from list_flight_bookings.
        hotel_stay_id: the stay, from list_hotel_stays.

    Raises:
        nothing_to_add: neither a flight booking nor a stay is given.
        already_in_itinerary: it is part of the itinerary.
        booking_not_confirmed: the flight booking isn't confirmed.
        already_cancelled: the stay is cancelled.
        dates_clash: the stay overlaps another one of the itinerary.
    """
    row = session.table(Itinerary).get(itinerary) or Itinerary(itinerary, (), ())
    if flight_booking_id is None and hotel_stay_id is None:
        raise ToolError(Fault.NOTHING_TO_ADD, "Give flight_booking_id or hotel_stay_id.")
    for added, present in ((flight_booking_id, row.flight_booking_ids), (hotel_stay_id, row.hotel_stay_ids)):
        if added in present:
            raise ToolError(Fault.ALREADY_IN_ITINERARY, f"{added} is part of {itinerary} already.")
    if flight_booking_id is not None:
        booking = booking_of(session, flight_booking_id)
        _check_plannable(session, booking)
        row = replace(row, flight_booking_ids=(*row.flight_booking_ids, booking.id))
    if hotel_stay_id is not None:
        stay = _stay_of(session, hotel_stay_id)
        _check_no_clash(session, row, stay)
        row = replace(row, hotel_stay_ids=(*row.hotel_stay_ids, stay.id))
    return _plan(session, session.table(Itinerary).put(row))


def _check_plannable(session: Session, booking: FlightBooking) -> None:
    status = status_of(session, booking)
    if status not in ("confirmed", "checked_in", "flown"):
        raise ToolError(
            Fault.BOOKING_NOT_CONFIRMED, f"The booking is {status}; only confirmed flights join an itinerary."
        )


def _check_no_clash(session: Session, row: Itinerary, stay: HotelStay) -> None:
    if stay.cancelled:
        raise ToolError(Fault.ALREADY_CANCELLED, "The stay is cancelled; book_hotel_room makes a new one.")
    for other in (_stay_of(session, stay_id) for stay_id in row.hotel_stay_ids):
        ends, other_ends = (s.check_in + timedelta(days=s.nights) for s in (stay, other))
        if not other.cancelled and stay.check_in < other_ends and other.check_in < ends:
            raise ToolError(
                Fault.DATES_CLASH,
                f"It overlaps {other.id} ({other.check_in} to {other_ends}) in {row.id}; use another itinerary.",
            )


def _plan(session: Session, row: Itinerary) -> ItineraryPlan:
    """The trip in order of time; cancelled parts are marked."""
    parts: list[tuple[date, str]] = []
    for booking in (booking_of(session, booking_id) for booking_id in row.flight_booking_ids):
        mark = " (cancelled)" if status_of(session, booking) in ("cancelled", "airline_cancelled") else ""
        place = flight_of(session, booking.flight_number).destination
        parts.append((booking.on, f"{booking.on} {booking.flight_number} to {place}{mark}"))
    for stay in (_stay_of(session, stay_id) for stay_id in row.hotel_stay_ids):
        mark, plural = " (cancelled)" if stay.cancelled else "", "" if stay.nights == 1 else "s"
        name = hotel_of(session, room_of(session, stay.room_type_id).hotel_id).name
        parts.append((stay.check_in, f"{stay.check_in} {name}, {stay.nights} night{plural}{mark}"))
    return ItineraryPlan(row.id, [text for _, text in sorted(parts)])
