"""Records and error codes of the map service."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from servers.kernel.store import Record
from servers.kernel.types import Entity, Money

PlaceId: TypeAlias = Annotated[str, Entity("map_place")]
StopId: TypeAlias = Annotated[str, Entity("transit_stop")]
CityName: TypeAlias = Annotated[str, Entity("map_city", natural=True)]

PlaceCategory: TypeAlias = Literal[
    "cafe", "restaurant", "museum", "pharmacy", "supermarket", "hotel", "park", "library", "gym", "bar", "airport"
]
TravelMode: TypeAlias = Literal["driving", "walking", "cycling"]
IncidentKind: TypeAlias = Literal["closure", "accident", "roadworks", "congestion"]
SavedList: TypeAlias = Literal["favorites", "want to go", "work"]
TransitKind: TypeAlias = Literal["metro", "tram", "bus"]


class Fault(StrEnum):
    """What the map service refuses, beyond bad arguments and unknown ids."""

    AMBIGUOUS_ADDRESS = "ambiguous_address"
    HOUSE_NUMBER_MISSING = "house_number_missing"
    NUMBER_OUT_OF_RANGE = "number_out_of_range"
    OUTSIDE_COVERAGE = "outside_coverage"
    SAME_PLACE = "same_place"
    NO_ROUTE = "no_route"
    NO_TOLL_FREE_ROUTE = "no_toll_free_route"
    TOO_FAR_TO_WALK = "too_far_to_walk"
    STOP_CLOSED = "stop_closed"
    NO_DEPARTURES = "no_departures"
    NO_PARKING_NEARBY = "no_parking_nearby"
    PARKING_FULL = "parking_full"
    CLOSED_PERMANENTLY = "closed_permanently"
    NOT_OPENED_YET = "not_opened_yet"
    ALREADY_SAVED = "already_saved"
    LIST_FULL = "list_full"
    ALREADY_REVIEWED = "already_reviewed"
    REVIEW_LIMIT = "review_limit"
    NOT_SAVED = "not_saved"
    TRIP_IN_PROGRESS = "trip_in_progress"
    ETA_ALREADY_SHARED = "eta_already_shared"


@dataclass(frozen=True, slots=True)
class MapCity(Record):
    """A covered city; its id is its name, `zone` its IANA time zone."""

    id: CityName
    zone: str
    currency: str


@dataclass(frozen=True, slots=True)
class Street(Record):
    """A street across the whole city, along a `row` of junctions or down a column."""

    id: str
    city: CityName
    name: str
    row: bool
    index: int


@dataclass(frozen=True, slots=True)
class Junction(Record):
    """Where streets meet; the airport lies off the grid at row and column -1."""

    id: str
    city: CityName
    row: int
    column: int
    lat: float
    lon: float


@dataclass(frozen=True, slots=True)
class Road(Record):
    """A stretch between two junctions. Motorways bear cars only; a toll is paid for each stretch."""

    id: str
    city: CityName
    start_id: str
    end_id: str
    street: str
    meters: int
    kmh: int
    one_way: bool
    motorway: bool
    toll: Money | None


@dataclass(frozen=True, slots=True)
class Incident(Record):
    """Something that slows or closes a road while it lasts; `slowdown` is in per cent of travel time."""

    id: str
    city: CityName
    road_id: str
    kind: IncidentKind
    slowdown: int
    starts: datetime
    ends: datetime


@dataclass(frozen=True, slots=True)
class Place(Record):
    """A place of interest.

    Hours are local; equal ones mean day and night, a closing time before the opening one lies after
    midnight. `rating` is in tenths of a star over `ratings` reviews.
    """

    id: PlaceId
    name: str
    category: PlaceCategory
    city: CityName
    junction_id: str
    address: str
    lat: float
    lon: float
    opens: time
    closes: time
    day_off: int | None
    rating: int
    ratings: int
    phone: str
    opening_on: date | None
    gone: bool


@dataclass(frozen=True, slots=True)
class ParkingLot(Record):
    """A car park; `busy` is how full it is at its busiest hour, in per cent."""

    id: str
    name: str
    city: CityName
    lat: float
    lon: float
    capacity: int
    busy: int
    hourly: Money


@dataclass(frozen=True, slots=True)
class TransitStop(Record):
    """A stop of public transport, perhaps closed for works."""

    id: StopId
    name: str
    city: CityName
    lat: float
    lon: float
    closed_until: datetime | None


@dataclass(frozen=True, slots=True)
class TransitLine(Record):
    """A line with its stops in order; three minutes lie between two stops. Times are local."""

    id: str
    name: str
    kind: TransitKind
    city: CityName
    stop_ids: tuple[StopId, ...]
    first: time
    last: time
    every: int


@dataclass(frozen=True, slots=True)
class SavedPlace(Record):
    """A place on one of the user's lists."""

    id: str
    place_id: PlaceId
    saved_list: SavedList
    saved_at: datetime


@dataclass(frozen=True, slots=True)
class PlaceReview(Record):
    """A review that the user has written."""

    id: str
    place_id: PlaceId
    stars: int
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class SharedTrip(Record):
    """A trip whose arrival time somebody follows."""

    id: str
    origin_id: PlaceId
    destination_id: PlaceId
    mode: TravelMode
    recipient: str
    started: datetime
    arrives: datetime
