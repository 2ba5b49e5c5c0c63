"""The travel desk's server object, and what its customer knows by heart."""

from __future__ import annotations

from collections.abc import Iterator

from servers.kernel.server import Known, ToolServer
from servers.kernel.session import Session
from servers.travel_booking.model import (
    Departure,
    FareRule,
    Fault,
    Flight,
    FlightBooking,
    Hotel,
    HotelStay,
    Itinerary,
    RoomNight,
    RoomType,
    Traveller,
    Voucher,
)
from servers.travel_booking.seed import build


def knows(session: Session) -> Iterator[Known]:
    """The customer has the passports of everybody in the profile, and so of every booking's traveller."""
    numbers = {traveller.id: traveller.passport_number for traveller in session.table(Traveller).all()}
    for traveller_id, number in numbers.items():
        yield Known("passport_number", number, traveller_id)
    for booking in session.table(FlightBooking).all():
        yield Known("passport_number", numbers[booking.traveller_id], booking.id)


server = ToolServer(
    "travel_booking",
    "Flights, hotels and itineraries for a customer and their fellow travellers",
    records=(
        Flight,
        Departure,
        FareRule,
        Traveller,
        FlightBooking,
        Voucher,
        Hotel,
        RoomType,
        RoomNight,
        HotelStay,
        Itinerary,
    ),
    seed=build,
    faults=Fault,
    knows=knows,
)
