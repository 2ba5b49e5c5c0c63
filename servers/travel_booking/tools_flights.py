"""Tools for finding and buying flights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Annotated

from pydantic import Field

from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.types import Date, Money, Sensitive
from servers.travel_booking.model import (
    BookingStatus,
    Cabin,
    FareKind,
    Fault,
    Flight,
    FlightBooking,
    FlightBookingId,
    FlightNumber,
    QuoteCurrency,
    Traveller,
    TravellerId,
    Voucher,
)
from servers.travel_booking.rules import (
    CHECK_IN_CLOSES,
    FARES,
    PASSPORT_MARGIN,
    bookable,
    booking_of,
    check_sellable,
    check_travel_date,
    city_of,
    convert,
    fare_price,
    fare_seats,
    free_seats,
    leaves_at,
    rule_of,
    seats_left,
    status_of,
    traveller_of,
)
from servers.travel_booking.server import server

HOLDS = {"light": timedelta(minutes=15), "standard": timedelta(hours=1)}
LONG_HOLD = timedelta(hours=24)

CityName = Annotated[str, Field(min_length=2, max_length=40)]
PassportNumber = Annotated[str, Sensitive(), Field(pattern=r"^[A-Z]\d{8}$")]


@dataclass(frozen=True, slots=True)
class FlightOffer:
    """A departure in a search result; without `lowest_price` it is sold out."""

    flight_number: FlightNumber
    airline: str
    departs_at: datetime
    minutes: int
    seats_left: int
    lowest_price: Money | None


@dataclass(frozen=True, slots=True)
class FareOffer:
    """One fare of a departure; without `change_fee` it can't be changed, without seats it isn't on sale."""

    fare: FareKind
    price: Money
    refundable: bool
    change_fee: Money | None
    bags_included: int
    seats_left: int


@dataclass(frozen=True, slots=True)
class SeatMap:
    """Some free seats of a cabin, nearest to the front first."""

    cabin: Cabin
    free: int
    window: list[str]
    aisle: list[str]


@dataclass(frozen=True, slots=True)
class HeldFlight:
    """A seat that waits for its payment."""

    id: FlightBookingId
    status: BookingStatus
    price: Money
    hold_until: datetime


@dataclass(frozen=True, slots=True)
class ConfirmedFlight:
    """A booking that has just been paid."""

    id: FlightBookingId
    status: BookingStatus
    paid: Money
    miles_left: int


@server.tool(read_only=True)
def search_flights(
    session: Session,
    destination: CityName,
    on: Date,
    origin: CityName | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[FlightOffer]:
    """Search flights to a city on a day, with flight numbers, free seats and lowest prices.

    Cancelled and departed flights are left out. Times are UTC. Ordered by departure.

    Args:
        destination: city to fly to.
        on: day of departure.
        origin: city to fly from; the customer's home city when absent.
        limit: most flights to return.
        offset: how many to skip.

    Raises:
        unknown_city: no airport is served there.
        route_not_served: no flight connects the two cities.
        travel_date_not_allowed: the day is past or too far ahead.
    """
    start = city_of(origin) if origin else session.table(Traveller).all()[0].home
    end = city_of(destination)
    check_travel_date(session, on)
    routes = session.table(Flight).where(origin=start)
    flights = [flight for flight in routes if flight.destination == end]
    if not flights:
        reached = ", ".join(sorted({flight.destination for flight in routes}))
        raise ToolError(Fault.ROUTE_NOT_SERVED, f"No flight goes from {start} to {end}. From {start}: {reached}.")
    offers = []
    for flight in flights:
        try:
            _, departure = bookable(session, flight.id, on)
        except ToolError:
            continue
        left = seats_left(session, departure, "economy") + seats_left(session, departure, "business")
        on_sale = [fare for fare in FARES if fare_seats(session, flight, departure, fare)]
        prices = [fare_price(session, flight, on, fare) for fare in on_sale]
        lowest = min(prices, key=lambda price: price.minor, default=None)
        leaves = leaves_at(flight, departure)
        offers.append(FlightOffer(flight.id, flight.airline, leaves, flight.minutes, left, lowest))
    return paginate(sorted(offers, key=lambda offer: (offer.departs_at, offer.flight_number)), limit, offset)


@server.tool(read_only=True)
def list_flight_fares(
    session: Session, flight_number: FlightNumber, on: Date, currency: QuoteCurrency | None = None
) -> Page[FareOffer]:
    """Compare the fares of a flight on a day: price, refund and change rules, bags, free seats.

    Ordered from light to business. Bookings are charged in the airline's own currency.

    Args:
        flight_number: the flight, such as NW214.
        on: day of departure.
        currency: currency of the quote; the airline's own when absent.

    Raises:
        travel_date_not_allowed: the day is past or too far ahead.
        not_operating: the flight doesn't fly on that day.
        flight_cancelled: that departure is cancelled.
        flight_departed: that departure is closed.
    """
    flight, departure = bookable(session, flight_number, on)

    def quote(amount: Money) -> Money:
        return convert(amount, currency) if currency else amount

    offers = []
    for fare in FARES:
        rule = rule_of(session, flight, fare)
        price, left = quote(fare_price(session, flight, on, fare)), fare_seats(session, flight, departure, fare)
        fee = quote(rule.change_fee) if rule.change_fee else None
        offers.append(FareOffer(fare, price, rule.refundable, fee, rule.bags_included, left))
    return paginate(offers, len(offers))


@server.tool(read_only=True)
def get_seat_map(session: Session, flight_number: FlightNumber, on: Date, cabin: Cabin = "economy") -> SeatMap:
    """Show free window and aisle seats of a flight on a day before choosing one.

    Args:
        flight_number: the flight, such as NW214.
        on: day of departure.
        cabin: economy or business.

    Raises:
        travel_date_not_allowed: the day is past or too far ahead.
        not_operating: the flight doesn't fly on that day.
        flight_cancelled: that departure is cancelled.
        flight_departed: that departure is closed.
    """
    _, departure = bookable(session, flight_number, on)
    free = free_seats(session, departure, cabin)
    window = [seat for seat in free if seat[-1] in "AF"]
    aisle = [seat for seat in free if seat[-1] in "CD"]
    return SeatMap(cabin, len(free), window[:5], aisle[:5])


@server.tool(read_only=True)
def list_travellers(session: Session, query: Query = "", limit: Limit = 5, offset: Offset = 0) -> Page[Traveller]:
    """List the people in the traveller profile with ids, passport expiry and miles. Ordered by name.

    Args:
        query: words of the traveller's name or nationality.
        limit: most travellers to return.
        offset: how many to skip.
    """
    rows = search(session.table(Traveller).all(), query, lambda person: f"{person.name} {person.nationality}")
    return paginate(sorted(rows, key=lambda person: (person.name, person.id)), limit, offset)


@server.tool()
def hold_flight(
    session: Session, flight_number: FlightNumber, on: Date, fare: FareKind, traveller_id: TravellerId
) -> HeldFlight:
    """Hold a seat on a flight for a traveller at today's price, without paying yet.

    Light fares are held 15 minutes, standard ones an hour, others a day, but none into the last hour before
    departure; confirm_flight_booking then pays.

    Args:
        flight_number: the flight, such as NW214.
        on: day of departure.
        fare: light, standard, flex or business.
        traveller_id: who flies, from list_travellers.

    Raises:
        travel_date_not_allowed: the day is past or too far ahead.
        not_operating: the flight doesn't fly on that day.
        flight_cancelled: that departure is cancelled.
        flight_departed: that departure is closed.
        advance_purchase_required: the fare must be bought earlier.
        fare_sold_out: its cabin is full.
        traveller_already_booked: the traveller has a seat on that departure.
    """
    traveller = traveller_of(session, traveller_id)
    flight, departure = bookable(session, flight_number, on)
    check_sellable(session, flight, departure, fare, traveller)
    price = fare_price(session, flight, on, fare)
    hold_until = min(session.now + HOLDS.get(fare, LONG_HOLD), leaves_at(flight, departure) - CHECK_IN_CLOSES)
    row = FlightBooking(
        id=session.new_id("FLB"),
        flight_number=flight_number,
        on=on,
        fare=fare,
        traveller_id=traveller_id,
        price=price,
        paid=Money(0, price.currency),
        status="held",
        hold_until=hold_until,
        booked_at=session.now,
        seat="",
        extra_bags=0,
    )
    session.table(FlightBooking).add(row)
    return HeldFlight(row.id, "held", row.price, row.hold_until)


@server.tool()
def confirm_flight_booking(
    session: Session,
    flight_booking_id: FlightBookingId,
    passport_number: PassportNumber,
    voucher_code: Annotated[str, Field(max_length=20)] | None = None,
    miles: Annotated[int, Field(ge=0, le=100_000)] = 0,
) -> ConfirmedFlight:
    """Pay and confirm a held flight with the traveller's passport number.

    A voucher and miles lower the price; 100 miles are worth 1 in the airline's currency.

    Args:
        flight_booking_id: the held booking, from hold_flight or list_flight_bookings.
        passport_number: a letter and eight digits, as the customer said it.
        voucher_code: code of a travel voucher.
        miles: how many of the traveller's miles to spend.

    Raises:
        not_held: it is confirmed or cancelled already.
        hold_expired: the hold has run out.
        flight_cancelled: the airline cancelled the flight.
        passport_mismatch: the number is not the traveller's.
        passport_expires_too_soon: it must be valid for 90 days after the flight.
        voucher_refused: the voucher is unknown, used or expired.
        not_enough_miles: the traveller has fewer.
    """
    booking = booking_of(session, flight_booking_id)
    status = status_of(session, booking)
    if status == "hold_expired":
        raise ToolError(
            Fault.HOLD_EXPIRED,
            f"The hold ended at {booking.hold_until:%Y-%m-%d %H:%M} UTC; "
            "hold_flight makes a new one while seats are on sale.",
        )
    if status == "airline_cancelled":
        raise ToolError(Fault.FLIGHT_CANCELLED, f"The airline cancelled {booking.flight_number} on {booking.on}.")
    if status != "held":
        raise ToolError(Fault.NOT_HELD, f"The booking is {status}; only held bookings are confirmed.")
    traveller = traveller_of(session, booking.traveller_id)
    _check_passport(traveller, passport_number, booking.on)
    price = booking.price
    if voucher_code:
        price = Money(max(0, price.minor - _redeem(session, voucher_code, price.currency).minor), price.currency)
    if miles > traveller.miles:
        raise ToolError(Fault.NOT_ENOUGH_MILES, f"{traveller.name} has {traveller.miles} miles; spend at most those.")
    spent = min(miles, price.minor)
    paid = Money(price.minor - spent, price.currency)
    session.table(Traveller).put(replace(traveller, miles=traveller.miles - spent))
    session.table(FlightBooking).put(replace(booking, status="confirmed", paid=paid, booked_at=session.now))
    return ConfirmedFlight(booking.id, "confirmed", paid, traveller.miles - spent)


def _check_passport(traveller: Traveller, number: str, on: date) -> None:
    if number != traveller.passport_number:
        raise ToolError(
            Fault.PASSPORT_MISMATCH, f"That is not {traveller.name}'s passport number; ask the customer for it."
        )
    needed = on + PASSPORT_MARGIN
    if traveller.passport_expires < needed:
        raise ToolError(
            Fault.PASSPORT_EXPIRES_TOO_SOON,
            f"{traveller.name}'s passport expires on {traveller.passport_expires}; "
            f"this flight needs one valid until {needed}.",
        )


def _redeem(session: Session, code: str, currency: str) -> Money:
    """Use a voucher up; what it is worth in the currency."""
    voucher = session.table(Voucher).get(code.strip().upper())
    if voucher is None:
        raise ToolError(Fault.VOUCHER_REFUSED, "There is no such voucher; check the code or pay without it.")
    if voucher.used:
        raise ToolError(Fault.VOUCHER_REFUSED, f"{voucher.id} has been used; pay without it.")
    if voucher.expires < session.now.date():
        raise ToolError(Fault.VOUCHER_REFUSED, f"{voucher.id} expired on {voucher.expires}; pay without it.")
    session.table(Voucher).put(replace(voucher, used=True))
    return convert(voucher.value, currency)
