"""The cars' server, and what their keeper knows by heart."""

from __future__ import annotations

from collections.abc import Iterator

from servers.kernel.server import Known, ToolServer
from servers.kernel.session import Session
from servers.vehicle.model import Charger, Fault, LogEntry, SavedDestination, ServiceSlot, Vehicle
from servers.vehicle.seed import build


def knows(session: Session) -> Iterator[Known]:
    """The keeper knows the PIN of each car."""
    for vehicle in session.table(Vehicle).all():
        yield Known("vehicle_pin", vehicle.pin, vehicle.id)


server = ToolServer(
    "vehicle",
    "Driving, charging, navigation and service of a family business's electric cars",
    records=(Vehicle, SavedDestination, Charger, LogEntry, ServiceSlot),
    seed=build,
    faults=Fault,
    knows=knows,
)
