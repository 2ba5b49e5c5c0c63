"""What the map's tools show."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from servers.kernel.types import Money
from servers.maps.model import CityName, IncidentKind, PlaceCategory, PlaceId, SavedList, StopId, TravelMode


@dataclass(frozen=True, slots=True)
class PlaceName:
    """A place by id and name."""

    id: PlaceId
    name: str


@dataclass(frozen=True, slots=True)
class GeoPoint:
    """An address on the map with the place nearest to it."""

    address: str
    city: CityName
    latitude: float
    longitude: float
    nearest_place: PlaceName


@dataclass(frozen=True, slots=True)
class PlaceItem:
    """A place in a list."""

    id: PlaceId
    name: str
    category: PlaceCategory
    city: CityName
    open_now: bool


@dataclass(frozen=True, slots=True)
class PlaceDetails:
    """One place."""

    id: PlaceId
    name: str
    category: PlaceCategory
    address: str
    city: CityName
    open_now: bool
    hours_today: str
    rating: float
    reviews: int
    phone: str


@dataclass(frozen=True, slots=True)
class NearbyItem:
    """A place near another one."""

    id: PlaceId
    name: str
    category: PlaceCategory
    meters: int
    open_now: bool


@dataclass(frozen=True, slots=True)
class RouteView:
    """A route; `arrival` is local, `toll` is absent where none is paid."""

    via: str
    km: float
    minutes: int
    arrival: str
    open_on_arrival: bool
    toll: Money | None


@dataclass(frozen=True, slots=True)
class RouteItem:
    """One of several routes."""

    via: str
    km: float
    minutes: int
    toll: Money | None


@dataclass(frozen=True, slots=True)
class TravelTime:
    """One cell of a travel time matrix; minutes are absent where no way leads."""

    origin_id: PlaceId
    destination_id: PlaceId
    minutes: int | None


@dataclass(frozen=True, slots=True)
class IncidentItem:
    """A traffic incident; `slowdown_percent` is absent for a closure."""

    street: str
    kind: IncidentKind
    slowdown_percent: int | None
    until: str


@dataclass(frozen=True, slots=True)
class StopItem:
    """A stop of public transport in a list."""

    id: StopId
    name: str
    lines: str
    latitude: float
    longitude: float


@dataclass(frozen=True, slots=True)
class Departure:
    """A departure in local time."""

    line: str
    towards: str
    at: str
    in_minutes: int


@dataclass(frozen=True, slots=True)
class ParkingItem:
    """A car park near a place."""

    name: str
    meters: int
    free: int
    hourly: Money


@dataclass(frozen=True, slots=True)
class SavedItem:
    """A saved place in a list."""

    place_id: PlaceId
    name: str
    saved_list: SavedList
    saved_at: datetime


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A new review and what it makes of the place's rating."""

    place_id: PlaceId
    stars: int
    new_rating: float
    reviews: int


@dataclass(frozen=True, slots=True)
class SharedEta:
    """An arrival time that somebody now follows, in local time."""

    destination_id: PlaceId
    mode: TravelMode
    recipient: str
    minutes: int
    arrival: str
