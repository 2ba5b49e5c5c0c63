"""Body and cabin: locks, doors and windows, climate, headlights."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from servers.kernel.errors import ToolError
from servers.kernel.session import Session
from servers.vehicle.model import Fault, Headlights, LockState, Part, Position, Vehicle, VehicleId
from servers.vehicle.rules import (
    DOORS,
    IDLE_CLIMATE_CHARGE,
    charge_now,
    check_doors_shut,
    check_ignition,
    check_not_valet,
    check_standing,
    ready_vehicle,
)
from servers.vehicle.server import server
from servers.vehicle.views import Setting


@server.tool(idempotent=True)
def lock_vehicle(session: Session, vehicle_id: VehicleId, state: LockState) -> Setting:
    """Lock or unlock a car's doors and trunk; they must be shut to be locked.

    Args:
        vehicle_id: the car, from list_vehicles.
        state: locked or unlocked.

    Raises:
        vehicle_updating: it is installing an update.
        part_open: a door or the trunk is open.
        vehicle_moving: it must stand to be unlocked.
    """
    row = ready_vehicle(session, vehicle_id)
    if state == "locked":
        check_doors_shut(row, "locking")
    else:
        check_standing(row, "unlocking")
    session.table(Vehicle).put(replace(row, locked=state == "locked"))
    return Setting(row.id, "doors", state)


@server.tool(idempotent=True)
def move_vehicle_part(session: Session, vehicle_id: VehicleId, part: Part, position: Position) -> Setting:
    """Open or close a car's door, trunk or window.

    Args:
        vehicle_id: the car, from list_vehicles.
        part: which door or window.
        position: open or closed.

    Raises:
        vehicle_updating: it is installing an update.
        vehicle_locked: doors and trunk open only when unlocked; lock_vehicle does that.
        vehicle_moving: doors and trunk need the car to stand.
        ignition_off: windows need the ignition.
        valet_mode: valet mode keeps the trunk shut.
    """
    row = ready_vehicle(session, vehicle_id)
    if part not in DOORS:
        check_ignition(row, "moving a window")
    elif position == "open":
        check_standing(row, f"opening the {part}")
        if part == "trunk":
            check_not_valet(row, "opening the trunk")
        if row.locked:
            raise ToolError(Fault.VEHICLE_LOCKED, f"{row.name} is locked; lock_vehicle to unlocked comes first.")
    rest = tuple(each for each in row.opened if each != part)
    session.table(Vehicle).put(replace(row, opened=(*rest, part) if position == "open" else rest))
    return Setting(row.id, part, position)


@server.tool(idempotent=True)
def set_cabin_climate(
    session: Session,
    vehicle_id: VehicleId,
    celsius: Annotated[int, Field(ge=16, le=28)],
    seat_heating: Annotated[int, Field(ge=0, le=3)] = 0,
) -> Setting:
    """Heat or cool a car's cabin to a temperature, with seat heating from 0 to 3.

    Args:
        vehicle_id: the car, from list_vehicles.
        celsius: degrees Celsius, 16 to 28.
        seat_heating: 0 is off, 3 is strongest; needs the ignition.

    Raises:
        vehicle_updating: it is installing an update.
        charge_too_low: without ignition or cable it needs 20 per cent of charge.
        ignition_off: seat heating needs the ignition.
    """
    row = ready_vehicle(session, vehicle_id)
    if seat_heating:
        check_ignition(row, "seat heating")
    if not row.ignition and row.plug_id is None and charge_now(session, row) < IDLE_CLIMATE_CHARGE:
        raise ToolError(
            Fault.CHARGE_TOO_LOW,
            f"Parked without a cable, {row.name} needs {IDLE_CLIMATE_CHARGE}% of charge for climate; plug it in.",
        )
    session.table(Vehicle).put(replace(row, climate=celsius, seat_heating=seat_heating))
    seats = f", seats {seat_heating}" if seat_heating else ""
    return Setting(row.id, "climate", f"{celsius} C{seats}")


@server.tool(idempotent=True)
def set_headlights(session: Session, vehicle_id: VehicleId, lights: Headlights) -> Setting:
    """Set a car's headlights: off, parking, low beam, high beam or auto.

    Args:
        vehicle_id: the car, from list_vehicles.
        lights: the lights to burn.

    Raises:
        vehicle_updating: it is installing an update.
        ignition_off: the beams need the ignition; off, parking and auto don't.
        vehicle_moving: they can't be turned off or to parking while it moves.
    """
    row = ready_vehicle(session, vehicle_id)
    if lights in ("low beam", "high beam"):
        check_ignition(row, lights)
    elif lights != "auto":
        check_standing(row, f"headlights {lights}")
    session.table(Vehicle).put(replace(row, headlights=lights))
    return Setting(row.id, "headlights", lights)
