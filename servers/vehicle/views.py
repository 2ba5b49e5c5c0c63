"""What the cars' tools show."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from servers.kernel.session import Session
from servers.kernel.types import Money
from servers.vehicle.model import (
    Charger,
    EntryKind,
    Gear,
    NavPlaceId,
    PlaceKind,
    SavedDestination,
    Service,
    SlotId,
    Vehicle,
    VehicleId,
)
from servers.vehicle.rules import charge_now, distance_km, free_connectors, range_km, still_charging, updating

LOW_TIRE = 21
"""Below 2.1 bar a tyre counts as low."""


@dataclass(frozen=True, slots=True)
class VehicleItem:
    """A car in a list."""

    id: VehicleId
    name: str
    state: str
    charge_percent: int
    update: str | None


@dataclass(frozen=True, slots=True)
class VehicleStatus:
    """One car; `tires` are bar from front left to rear right."""

    name: str
    ignition: bool
    gear: Gear
    brake_pressed: bool
    speed_kmh: int
    charge_percent: int
    range_km: int
    locked: bool
    opened: str
    tires: str


@dataclass(frozen=True, slots=True)
class Driving:
    """How a car stands after a driving command."""

    vehicle_id: VehicleId
    ignition: bool
    gear: Gear
    brake_pressed: bool
    speed_kmh: int


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a car after it was changed."""

    vehicle_id: VehicleId
    setting: str
    value: str


@dataclass(frozen=True, slots=True)
class PlaceItem:
    """A navigable place; the last three are shown for chargers only, the price for one kWh."""

    id: NavPlaceId
    name: str
    distance_km: int
    free: int | None
    connector: str | None
    price: Money | None


@dataclass(frozen=True, slots=True)
class Navigation:
    """A started navigation."""

    vehicle_id: VehicleId
    destination: str
    distance_km: int
    arrival_percent: int
    arrival: datetime
    charging_stop: str | None


@dataclass(frozen=True, slots=True)
class Charging:
    """A charging session after a command; energy and cost are known once it has ended."""

    vehicle_id: VehicleId
    charging: bool
    charge_percent: int
    kwh: float | None
    cost: Money | None


@dataclass(frozen=True, slots=True)
class LogItem:
    """A line of the logbook."""

    at: datetime
    kind: EntryKind
    text: str
    km: int | None
    kwh: float
    cost: Money | None


@dataclass(frozen=True, slots=True)
class SlotItem:
    """A free hour at a workshop."""

    id: SlotId
    workshop: str
    service: Service
    at: datetime
    price: Money


@dataclass(frozen=True, slots=True)
class Appointment:
    """A booked hour at a workshop."""

    slot_id: SlotId
    vehicle_id: VehicleId
    workshop: str
    at: datetime
    price: Money


@dataclass(frozen=True, slots=True)
class Updating:
    """A running update and when the car can be used again."""

    vehicle_id: VehicleId
    version: str
    ready_at: datetime


def driving(row: Vehicle) -> Driving:
    """A car as driving commands show it."""
    return Driving(row.id, row.ignition, row.gear, row.brake, row.speed)


def vehicle_item(session: Session, row: Vehicle) -> VehicleItem:
    """A car as the list shows it."""
    busy = updating(row, session.now)
    update = row.latest if row.latest and row.updating_since is None else None
    if busy:
        state = "updating"
    elif still_charging(session, row):
        state = "charging"
    elif row.speed:
        state = f"driving {row.speed} km/h"
    else:
        state = "ignition on" if row.ignition else "parked"
    return VehicleItem(row.id, row.name, state, charge_now(session, row), update)


def vehicle_status(session: Session, row: Vehicle) -> VehicleStatus:
    """A car in detail."""
    charge = charge_now(session, row)
    tires = " ".join(
        f"{corner} {bar / 10}{' LOW' if bar < LOW_TIRE else ''}"
        for corner, bar in zip(("FL", "FR", "RL", "RR"), row.tires, strict=True)
    )
    return VehicleStatus(
        name=row.name,
        ignition=row.ignition,
        gear=row.gear,
        brake_pressed=row.brake,
        speed_kmh=row.speed,
        charge_percent=charge,
        range_km=range_km(row, charge),
        locked=row.locked,
        opened=", ".join(row.opened) or "nothing",
        tires=tires,
    )


def place_item(vehicle: Vehicle, row: SavedDestination | Charger, now: datetime) -> PlaceItem:
    """A place as the list shows it for a car."""
    far = distance_km(vehicle, row)
    if isinstance(row, Charger):
        return PlaceItem(row.id, row.name, far, free_connectors(row, now), row.connector, row.price)
    return PlaceItem(row.id, row.name, far, None, None, None)


def kind_of(row: SavedDestination | Charger) -> PlaceKind:
    """Whether a place is a charger."""
    return "charger" if isinstance(row, Charger) else "saved"
