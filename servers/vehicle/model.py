"""Records and error codes of the cars."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from servers.kernel.store import Record
from servers.kernel.types import Entity, Hidden, Money

VehicleId: TypeAlias = Annotated[str, Entity("vehicle")]
NavPlaceId: TypeAlias = Annotated[str, Entity("navigation_place")]
SlotId: TypeAlias = Annotated[str, Entity("service_slot")]

Gear: TypeAlias = Literal["P", "R", "N", "D"]
Power: TypeAlias = Literal["on", "off"]
Pedal: TypeAlias = Literal["pressed", "released"]
LockState: TypeAlias = Literal["locked", "unlocked"]
Position: TypeAlias = Literal["open", "closed"]
Part: TypeAlias = Literal[
    "driver door", "passenger door", "rear doors", "trunk", "driver window", "passenger window", "rear windows"
]
Headlights: TypeAlias = Literal["off", "parking", "low beam", "high beam", "auto"]
DriveMode: TypeAlias = Literal["eco", "comfort", "sport", "snow"]
PlaceKind: TypeAlias = Literal["saved", "charger"]
Connector: TypeAlias = Literal["CCS", "CHAdeMO", "Type 2"]
ChargingCommand: TypeAlias = Literal["start", "stop"]
EntryKind: TypeAlias = Literal["drive", "charge"]
Service: TypeAlias = Literal["inspection", "tire change", "brake check", "battery check", "bodywork"]


class Fault(StrEnum):
    """What the cars refuse, beyond bad arguments and unknown ids."""

    VEHICLE_UPDATING = "vehicle_updating"
    BRAKE_NOT_PRESSED = "brake_not_pressed"
    BRAKE_PRESSED = "brake_pressed"
    NOT_IN_PARK = "not_in_park"
    PART_OPEN = "part_open"
    VEHICLE_MOVING = "vehicle_moving"
    VEHICLE_LOCKED = "vehicle_locked"
    IGNITION_OFF = "ignition_off"
    IGNITION_ON = "ignition_on"
    CABLE_PLUGGED = "cable_plugged"
    NOT_PLUGGED = "not_plugged"
    CHARGE_TOO_LOW = "charge_too_low"
    VALET_MODE = "valet_mode"
    GEAR_NOT_SUITABLE = "gear_not_suitable"
    MODE_NOT_SUITABLE = "mode_not_suitable"
    RANGE_TOO_SHORT = "range_too_short"
    NOT_A_CHARGER = "not_a_charger"
    CHARGER_OCCUPIED = "charger_occupied"
    CHARGER_OFFLINE = "charger_offline"
    CONNECTOR_MISMATCH = "connector_mismatch"
    ALREADY_CHARGING = "already_charging"
    NOT_CHARGING = "not_charging"
    LIMIT_REACHED = "limit_reached"
    LIMIT_TOO_HIGH = "limit_too_high"
    WRONG_PIN = "wrong_pin"
    NO_UPDATE = "no_update"
    SLOT_TAKEN = "slot_taken"
    SLOT_TOO_SOON = "slot_too_soon"
    ALREADY_BOOKED = "already_booked"


@dataclass(frozen=True, slots=True)
class Vehicle(Record):
    """A car.

    `charge` is its battery's level in per cent at `charge_at`; while `charging` it rises with time up to the
    `limit`. `session_charge` is the level at which the latest charging session began.
    `opened` names the parts that stand open, `tires` are tenths of a bar from front left to rear right.
    """

    id: VehicleId
    name: str
    ignition: bool
    gear: Gear
    brake: bool
    speed: int
    locked: bool
    opened: tuple[Part, ...]
    charge: int
    charge_at: datetime
    limit: int
    highest_limit: int
    capacity_kwh: int
    kwh_per_100km: int
    connector: Connector
    plug_id: NavPlaceId | None
    charging: bool
    session_charge: int
    lat: float
    lon: float
    drive_mode: DriveMode
    headlights: Headlights
    climate: int | None
    seat_heating: int
    cruise: int | None
    tires: tuple[int, int, int, int]
    destination_id: NavPlaceId | None
    valet: bool
    software: str
    latest: str
    updating_since: datetime | None
    pin: Annotated[str, Hidden]


@dataclass(frozen=True, slots=True)
class SavedDestination(Record):
    """A place that the drivers have saved."""

    id: NavPlaceId
    name: str
    lat: float
    lon: float


@dataclass(frozen=True, slots=True)
class Charger(Record):
    """A public charging station; its `busy` connectors are free again at `busy_until`."""

    id: NavPlaceId
    name: str
    lat: float
    lon: float
    connector: Connector
    kilowatts: int
    price: Money
    connectors: int
    busy: int
    busy_until: datetime
    offline: bool


@dataclass(frozen=True, slots=True)
class LogEntry(Record):
    """A finished drive or charging session in a car's logbook."""

    id: str
    vehicle_id: VehicleId
    kind: EntryKind
    at: datetime
    text: str
    km: int | None
    kwh: float
    cost: Money | None


@dataclass(frozen=True, slots=True)
class ServiceSlot(Record):
    """An hour at a workshop; free until a car or somebody else (`taken`) has it."""

    id: SlotId
    workshop: str
    city: str
    service: Service
    at: datetime
    price: Money
    taken: bool
    vehicle_id: VehicleId | None
