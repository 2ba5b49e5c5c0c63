"""Records and error codes of the travel desk."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from servers.kernel.store import Record
from servers.kernel.types import Entity, Hidden, Money

FlightNumber: TypeAlias = Annotated[str, Entity("flight", natural=True)]
TravellerId: TypeAlias = Annotated[str, Entity("traveller")]
FlightBookingId: TypeAlias = Annotated[str, Entity("flight_booking")]
HotelId: TypeAlias = Annotated[str, Entity("hotel")]
RoomTypeId: TypeAlias = Annotated[str, Entity("room_type")]
HotelStayId: TypeAlias = Annotated[str, Entity("hotel_stay")]
ItineraryName: TypeAlias = Annotated[str, Entity("itinerary", natural=True)]

FareKind: TypeAlias = Literal["light", "standard", "flex", "business"]
Cabin: TypeAlias = Literal["economy", "business"]
DepartureState: TypeAlias = Literal["on_time", "delayed", "cancelled"]
StoredStatus: TypeAlias = Literal["held", "confirmed", "checked_in", "cancelled"]
BookingStatus: TypeAlias = Literal[
    "held", "hold_expired", "confirmed", "checked_in", "flown", "cancelled", "airline_cancelled"
]
StayStatus: TypeAlias = Literal["booked", "staying", "past", "cancelled"]
QuoteCurrency: TypeAlias = Literal["EUR", "GBP", "USD", "CHF", "JPY"]


class Fault(StrEnum):
    """What the travel desk refuses, beyond bad arguments and unknown ids."""

    UNKNOWN_CITY = "unknown_city"
    ROUTE_NOT_SERVED = "route_not_served"
    TRAVEL_DATE_NOT_ALLOWED = "travel_date_not_allowed"
    NOT_OPERATING = "not_operating"
    FLIGHT_CANCELLED = "flight_cancelled"
    FLIGHT_DEPARTED = "flight_departed"
    FARE_SOLD_OUT = "fare_sold_out"
    ADVANCE_PURCHASE_REQUIRED = "advance_purchase_required"
    TRAVELLER_ALREADY_BOOKED = "traveller_already_booked"
    HOLD_EXPIRED = "hold_expired"
    NOT_HELD = "not_held"
    PASSPORT_MISMATCH = "passport_mismatch"
    PASSPORT_EXPIRES_TOO_SOON = "passport_expires_too_soon"
    VOUCHER_REFUSED = "voucher_refused"
    NOT_ENOUGH_MILES = "not_enough_miles"
    BOOKING_NOT_CONFIRMED = "booking_not_confirmed"
    NOT_CHANGEABLE = "not_changeable"
    SAME_DATE = "same_date"
    ALREADY_CANCELLED = "already_cancelled"
    SEAT_NOT_INCLUDED = "seat_not_included"
    NO_SUCH_SEAT = "no_such_seat"
    SEAT_TAKEN = "seat_taken"
    CHECK_IN_NOT_OPEN = "check_in_not_open"
    CHECK_IN_CLOSED = "check_in_closed"
    BAG_LIMIT = "bag_limit"
    ROOM_UNAVAILABLE = "room_unavailable"
    TOO_MANY_GUESTS = "too_many_guests"
    CANCEL_DEADLINE_PASSED = "cancel_deadline_passed"
    NOTHING_TO_ADD = "nothing_to_add"
    ALREADY_IN_ITINERARY = "already_in_itinerary"
    DATES_CLASH = "dates_clash"


@dataclass(frozen=True, slots=True)
class Flight(Record):
    """A scheduled flight; its id is the flight number, `weekdays` counts from Monday 0, `departs` is UTC."""

    id: FlightNumber
    airline: str
    origin: str
    destination: str
    departs: time
    minutes: int
    weekdays: tuple[int, ...]
    base_fare: Money


@dataclass(frozen=True, slots=True)
class Departure(Record):
    """One flight on one day; `taken` are the seats of strangers."""

    id: str
    flight_number: FlightNumber
    on: date
    state: DepartureState
    delay_minutes: int
    taken: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FareRule(Record):
    """What an airline's fare allows. `percent` scales the base fare; no change fee means no changes."""

    id: str
    airline: str
    fare: FareKind
    percent: int
    refundable: bool
    change_fee: Money | None
    advance_days: int
    bags_included: int
    bag_fee: Money


@dataclass(frozen=True, slots=True)
class Traveller(Record):
    """Somebody of the customer's traveller profile; the first is the customer."""

    id: TravellerId
    name: str
    home: str
    nationality: str
    passport_expires: date
    miles: int
    passport_number: Annotated[str, Hidden]


@dataclass(frozen=True, slots=True)
class FlightBooking(Record):
    """A seat on a departure for one traveller: held until `hold_until`, then confirmed or lapsed.

    `price` is what the fare costs; `paid` is less where a voucher or miles were spent.
    """

    id: FlightBookingId
    flight_number: FlightNumber
    on: date
    fare: FareKind
    traveller_id: TravellerId
    price: Money
    paid: Money
    status: StoredStatus
    hold_until: datetime
    booked_at: datetime
    seat: str
    extra_bags: int


@dataclass(frozen=True, slots=True)
class Voucher(Record):
    """Money off one flight; its id is the code printed on it."""

    id: str
    value: Money
    expires: date
    used: bool


@dataclass(frozen=True, slots=True)
class Hotel(Record):
    """A hotel. Stays are cancelled free of charge until `cancel_days` before arrival."""

    id: HotelId
    name: str
    city: str
    stars: int
    cancel_days: int


@dataclass(frozen=True, slots=True)
class RoomType(Record):
    """A kind of room in a hotel."""

    id: RoomTypeId
    hotel_id: HotelId
    name: str
    sleeps: int
    price: Money
    rooms: int


@dataclass(frozen=True, slots=True)
class RoomNight(Record):
    """How many rooms of a type strangers occupy in one night."""

    id: str
    room_type_id: RoomTypeId
    night: date
    taken: int


@dataclass(frozen=True, slots=True)
class HotelStay(Record):
    """A booked room from the day of arrival, for some nights."""

    id: HotelStayId
    room_type_id: RoomTypeId
    traveller_id: TravellerId
    check_in: date
    nights: int
    price: Money
    cancelled: bool


@dataclass(frozen=True, slots=True)
class Itinerary(Record):
    """A named trip; its id is the name, and it joins flight bookings and hotel stays."""

    id: ItineraryName
    flight_booking_ids: tuple[str, ...]
    hotel_stay_ids: tuple[str, ...]
