"""What the cars allow, and what time has made of their batteries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import asin, cos, radians, sin, sqrt

from servers.kernel.errors import ToolError
from servers.kernel.session import Session
from servers.vehicle.model import Charger, Fault, Part, SavedDestination, ServiceSlot, Vehicle

UPDATE_TIME = timedelta(minutes=25)
UPDATE_CHARGE = 30
IDLE_CLIMATE_CHARGE = 20
SPORT_CHARGE = 20
START_CHARGE = 3
VALET_SPEED = 70
ROAD_FACTOR = 1.25
SPEED_KMH = 85
CHARGING_STOP = timedelta(minutes=30)
DOORS: tuple[Part, ...] = ("driver door", "passenger door", "rear doors", "trunk")


def vehicle_of(session: Session, vehicle_id: str) -> Vehicle:
    """The car, or an error that says how to find one."""
    return session.table(Vehicle).require(vehicle_id, "list_vehicles shows the valid vehicle ids.")


def ready_vehicle(session: Session, vehicle_id: str) -> Vehicle:
    """The car, refused while it installs an update."""
    vehicle = vehicle_of(session, vehicle_id)
    if updating(vehicle, session.now) and vehicle.updating_since is not None:
        ready = vehicle.updating_since + UPDATE_TIME
        raise ToolError(
            Fault.VEHICLE_UPDATING, f"{vehicle.name} installs an update and can be used from {clock(ready)} UTC."
        )
    return vehicle


def clock(at: datetime) -> str:
    """A moment as HH:MM, rounded up to the minute so that nobody comes too early."""
    return f"{at + timedelta(seconds=-at.second % 60):%H:%M}"


def place_of(session: Session, place_id: str) -> SavedDestination | Charger:
    """A saved destination or a charger, or an error that says how to find one."""
    found = session.table(Charger).get(place_id)
    if found is not None:
        return found
    return session.table(SavedDestination).require(place_id, "list_navigation_places shows the valid ids.")


def slot_of(session: Session, slot_id: str) -> ServiceSlot:
    """The workshop hour, or an error that says how to find one."""
    return session.table(ServiceSlot).require(slot_id, "list_service_slots shows the free ones.")


def updating(vehicle: Vehicle, now: datetime) -> bool:
    """Whether an update is being installed."""
    return vehicle.updating_since is not None and now < vehicle.updating_since + UPDATE_TIME


def software(vehicle: Vehicle, now: datetime) -> str:
    """The installed version, counting an update that has ended."""
    done = vehicle.updating_since is not None and not updating(vehicle, now)
    return vehicle.latest if done else vehicle.software


def charge_now(session: Session, vehicle: Vehicle) -> int:
    """The battery's level in per cent, counting the charging since it was stored."""
    if not vehicle.charging or vehicle.plug_id is None:
        return vehicle.charge
    station = session.table(Charger).require(vehicle.plug_id, "")
    hours = (session.now - vehicle.charge_at).total_seconds() / 3600
    gained = int(hours * station.kilowatts * 100 / vehicle.capacity_kwh)
    return max(vehicle.charge, min(vehicle.limit, vehicle.charge + gained))


def still_charging(session: Session, vehicle: Vehicle) -> bool:
    """Whether the battery is being charged at this moment and has not reached its limit."""
    return vehicle.charging and charge_now(session, vehicle) < vehicle.limit


def settled(session: Session, vehicle: Vehicle) -> Vehicle:
    """The car with its present level stored, to be changed further."""
    return replace(vehicle, charge=charge_now(session, vehicle), charge_at=session.now)


def range_km(vehicle: Vehicle, charge: int) -> int:
    """How far a level in per cent carries the car."""
    return charge * vehicle.capacity_kwh // vehicle.kwh_per_100km


def distance_km(one: Vehicle | SavedDestination | Charger, other: SavedDestination | Charger) -> int:
    """Road distance in whole km, estimated as 1.25 times the great circle."""
    lat1, lat2 = radians(one.lat), radians(other.lat)
    half = sin((lat2 - lat1) / 2) ** 2 + cos(lat1) * cos(lat2) * sin(radians(other.lon - one.lon) / 2) ** 2
    return round(ROAD_FACTOR * 12_742 * asin(sqrt(half)))


def free_connectors(charger: Charger, now: datetime) -> int:
    """How many connectors are free at this moment; none when the station is offline."""
    if charger.offline:
        return 0
    return charger.connectors - (charger.busy if now < charger.busy_until else 0)


def check_ignition(vehicle: Vehicle, what: str) -> None:
    """Refuse what needs the ignition."""
    if not vehicle.ignition:
        raise ToolError(
            Fault.IGNITION_OFF,
            f"The ignition of {vehicle.name} is off; {what} needs it on. set_brake_pedal and switch_ignition do that.",
        )


def check_standing(vehicle: Vehicle, what: str) -> None:
    """Refuse what is dangerous while the car moves."""
    if vehicle.speed:
        raise ToolError(
            Fault.VEHICLE_MOVING,
            f"{vehicle.name} moves at {vehicle.speed} km/h; {what} needs it to stand. set_brake_pedal stops it.",
        )


def check_brake(vehicle: Vehicle, what: str) -> None:
    """Refuse what needs a foot on the brake."""
    if not vehicle.brake:
        raise ToolError(Fault.BRAKE_NOT_PRESSED, f"{what} needs the brake; set_brake_pedal to pressed comes first.")


def check_park(vehicle: Vehicle, what: str) -> None:
    """Refuse what needs the car in park."""
    if vehicle.gear != "P":
        raise ToolError(Fault.NOT_IN_PARK, f"{vehicle.name} is in {vehicle.gear}; {what} needs shift_gear to P first.")


def check_doors_shut(vehicle: Vehicle, what: str) -> None:
    """Refuse what needs all doors and the trunk shut."""
    ajar = [part for part in vehicle.opened if part in DOORS]
    if ajar:
        raise ToolError(
            Fault.PART_OPEN, f"Open: {', '.join(ajar)}; {what} needs them shut. move_vehicle_part closes them."
        )


def check_not_valet(vehicle: Vehicle, what: str) -> None:
    """Refuse what valet mode forbids."""
    if vehicle.valet:
        raise ToolError(
            Fault.VALET_MODE, f"{vehicle.name} is in valet mode, which forbids {what}; set_valet_mode off ends it."
        )


def check_charger(vehicle: Vehicle, station: Charger, now: datetime) -> None:
    """Refuse a charging stop where the car could not charge."""
    if station.offline:
        raise ToolError(Fault.CHARGER_OFFLINE, f"{station.name} is out of order; choose another charger.")
    if station.connector != vehicle.connector:
        raise ToolError(
            Fault.CONNECTOR_MISMATCH,
            f"{station.name} has {station.connector}, {vehicle.name} needs {vehicle.connector}; search for that.",
        )
    if free_connectors(station, now) == 0:
        raise ToolError(
            Fault.CHARGER_OCCUPIED, f"{station.name} is full until {station.busy_until:%H:%M} UTC; choose another."
        )


@dataclass(frozen=True, slots=True)
class Leg:
    """A planned journey: its length, and the level in per cent at its end."""

    km: int
    arrival_charge: int
    duration: timedelta


def plan(session: Session, vehicle: Vehicle, goal: SavedDestination | Charger, stop: Charger | None) -> Leg:
    """The journey to a goal, with at most one charging stop.

    Raises:
        ToolError: `range_too_short` when the battery does not reach.
    """
    charge = charge_now(session, vehicle)
    start: Vehicle | Charger = vehicle
    total, pause = 0, timedelta()
    if stop is not None:
        total = _reach(vehicle, distance_km(vehicle, stop), charge, stop.name)
        start, charge, pause = stop, vehicle.limit, CHARGING_STOP
    last = _reach(vehicle, distance_km(start, goal), charge, goal.name)
    used = -(-last * vehicle.kwh_per_100km // vehicle.capacity_kwh)
    total += last
    return Leg(total, max(0, charge - used), pause + timedelta(minutes=total * 60 // SPEED_KMH))


def _reach(vehicle: Vehicle, km: int, charge: int, name: str) -> int:
    reach = range_km(vehicle, charge)
    if km > reach:
        raise ToolError(
            Fault.RANGE_TOO_SHORT,
            f"{name} is {km} km away, {charge}% lasts {reach} km; add a charging_stop_id from list_navigation_places.",
        )
    return km
