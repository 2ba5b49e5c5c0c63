"""The map service's server."""

from __future__ import annotations

from servers.kernel.server import ToolServer
from servers.maps.model import (
    Fault,
    Incident,
    Junction,
    MapCity,
    ParkingLot,
    Place,
    PlaceReview,
    Road,
    SavedPlace,
    SharedTrip,
    Street,
    TransitLine,
    TransitStop,
)
from servers.maps.seed import build

server = ToolServer(
    "maps",
    "Places, routes, traffic, public transport and parking in two cities",
    records=(
        MapCity,
        Street,
        Junction,
        Road,
        Incident,
        Place,
        ParkingLot,
        TransitStop,
        TransitLine,
        SavedPlace,
        PlaceReview,
        SharedTrip,
    ),
    seed=build,
    faults=Fault,
)
