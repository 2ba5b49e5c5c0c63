"""Driving: the list of cars, the pedals and interlocks, drive mode, cruise control and valet mode."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.types import Sensitive
from servers.vehicle.model import DriveMode, Fault, Gear, Headlights, Pedal, Power, Vehicle, VehicleId
from servers.vehicle.rules import (
    SPORT_CHARGE,
    START_CHARGE,
    VALET_SPEED,
    charge_now,
    check_brake,
    check_doors_shut,
    check_ignition,
    check_not_valet,
    check_park,
    check_standing,
    ready_vehicle,
    vehicle_of,
)
from servers.vehicle.server import server
from servers.vehicle.views import Driving, Setting, VehicleItem, VehicleStatus, driving, vehicle_item, vehicle_status

VehiclePin = Annotated[str, Sensitive(), Field(pattern=r"^\d{4}$")]


@server.tool(read_only=True)
def list_vehicles(session: Session, query: Query = "", limit: Limit = 5, offset: Offset = 0) -> Page[VehicleItem]:
    """List the cars with their ids, what each is doing, its charge and its pending update.

    Ordered by name.

    Args:
        query: words of the car's name or state, such as van or charging.
        limit: most cars to return.
        offset: how many to skip.
    """
    items = [vehicle_item(session, row) for row in session.table(Vehicle).all()]
    items = search(items, query, lambda item: f"{item.name} {item.state}")
    return paginate(sorted(items, key=lambda item: (item.name, item.id)), limit, offset)


@server.tool(read_only=True)
def get_vehicle_status(session: Session, vehicle_id: VehicleId) -> VehicleStatus:
    """Show one car: ignition, gear, brake, charge, range, locks, open parts and tyre pressures.

    Args:
        vehicle_id: the car, from list_vehicles.
    """
    return vehicle_status(session, vehicle_of(session, vehicle_id))


@server.tool(idempotent=True)
def set_brake_pedal(session: Session, vehicle_id: VehicleId, pedal: Pedal) -> Driving:
    """Press or release a car's brake; pressing it stops the car and ends cruise control.

    Args:
        vehicle_id: the car, from list_vehicles.
        pedal: pressed or released.

    Raises:
        vehicle_updating: it is installing an update.
    """
    row = ready_vehicle(session, vehicle_id)
    if pedal == "pressed":
        row = replace(row, speed=0, cruise=None)
    return driving(session.table(Vehicle).put(replace(row, brake=pedal == "pressed")))


@server.tool(idempotent=True)
def switch_ignition(session: Session, vehicle_id: VehicleId, power: Power) -> Driving:
    """Turn a car's ignition on or off; starting needs park, the brake pressed and shut doors.

    Switching off ends seat heating and the beams.

    Args:
        vehicle_id: the car, from list_vehicles.
        power: on or off.

    Raises:
        vehicle_updating: it is installing an update.
        vehicle_moving: it must stand to be switched off.
        not_in_park: the gear must be P.
        brake_not_pressed: starting needs the brake.
        part_open: a door or the trunk is open.
        charge_too_low: the battery is flat.
    """
    row = ready_vehicle(session, vehicle_id)
    if (power == "on") == row.ignition:
        return driving(row)
    if power == "off":
        check_standing(row, "switching off")
    check_park(row, f"switching {power}")
    if power == "on":
        check_brake(row, "Starting")
        check_doors_shut(row, "starting")
        if charge_now(session, row) < START_CHARGE:
            raise ToolError(Fault.CHARGE_TOO_LOW, f"The battery of {row.name} is flat; it must be charged first.")
    else:
        lights: Headlights = "off" if row.headlights in ("low beam", "high beam") else row.headlights
        row = replace(row, headlights=lights, seat_heating=0)
    return driving(session.table(Vehicle).put(replace(row, ignition=power == "on")))


@server.tool(idempotent=True)
def shift_gear(session: Session, vehicle_id: VehicleId, gear: Gear) -> Driving:
    """Shift a car into P, R, N or D; the ignition must be on and the brake pressed.

    Args:
        vehicle_id: the car, from list_vehicles.
        gear: P park, R reverse, N neutral or D drive.

    Raises:
        vehicle_updating: it is installing an update.
        ignition_off: switch_ignition comes first.
        vehicle_moving: it must stand.
        brake_not_pressed: set_brake_pedal comes first.
        cable_plugged: the charging cable is in.
        part_open: driving needs doors and trunk shut.
    """
    row = ready_vehicle(session, vehicle_id)
    check_ignition(row, "shifting")
    check_standing(row, "shifting")
    check_brake(row, "Shifting")
    if gear != "P":
        if row.plug_id is not None:
            raise ToolError(Fault.CABLE_PLUGGED, f"The charging cable is in {row.name}; it must be pulled out first.")
        check_doors_shut(row, f"gear {gear}")
    return driving(session.table(Vehicle).put(replace(row, gear=gear)))


@server.tool(idempotent=True)
def set_drive_mode(session: Session, vehicle_id: VehicleId, mode: DriveMode) -> Setting:
    """Choose a car's drive mode: eco, comfort, sport or snow; the ignition must be on.

    Args:
        vehicle_id: the car, from list_vehicles.
        mode: the drive mode.

    Raises:
        vehicle_updating: it is installing an update.
        ignition_off: switch_ignition comes first.
        gear_not_suitable: sport needs P or D.
        charge_too_low: sport needs 20 per cent of charge.
        valet_mode: valet mode forbids sport.
        mode_not_suitable: snow needs cruise control to be off.
    """
    row = ready_vehicle(session, vehicle_id)
    check_ignition(row, "a drive mode")
    if mode == "sport":
        check_not_valet(row, "sport mode")
        if row.gear in ("R", "N"):
            raise ToolError(Fault.GEAR_NOT_SUITABLE, f"Sport needs gear P or D; {row.name} is in {row.gear}.")
        if charge_now(session, row) < SPORT_CHARGE:
            raise ToolError(Fault.CHARGE_TOO_LOW, f"Sport needs {SPORT_CHARGE}% of charge; use eco or charge first.")
    if mode == "snow" and row.cruise is not None:
        raise ToolError(
            Fault.MODE_NOT_SUITABLE,
            f"Snow mode has no cruise control; set_brake_pedal pressed ends that of {row.name}.",
        )
    session.table(Vehicle).put(replace(row, drive_mode=mode))
    return Setting(row.id, "drive_mode", mode)


@server.tool(idempotent=True)
def set_cruise_control(
    session: Session, vehicle_id: VehicleId, speed_kmh: Annotated[int, Field(ge=30, le=150)]
) -> Driving:
    """Set a car's cruise control to a speed; it must be in D with the brake released.

    Args:
        vehicle_id: the car, from list_vehicles.
        speed_kmh: the speed in km/h; at most 70 in valet mode.

    Raises:
        vehicle_updating: it is installing an update.
        ignition_off: switch_ignition comes first.
        gear_not_suitable: cruise control works in D only.
        brake_pressed: set_brake_pedal to released comes first.
        part_open: a door or the trunk is open.
        mode_not_suitable: snow mode has no cruise control.
        valet_mode: too fast for valet mode.
    """
    row = ready_vehicle(session, vehicle_id)
    check_ignition(row, "cruise control")
    if row.gear != "D":
        raise ToolError(Fault.GEAR_NOT_SUITABLE, f"Cruise control needs gear D; {row.name} is in {row.gear}.")
    if row.brake:
        raise ToolError(Fault.BRAKE_PRESSED, f"The brake of {row.name} is pressed; set_brake_pedal to released first.")
    check_doors_shut(row, "cruise control")
    if row.drive_mode == "snow":
        raise ToolError(Fault.MODE_NOT_SUITABLE, "Snow mode has no cruise control; set_drive_mode to eco or comfort.")
    if speed_kmh > VALET_SPEED:
        check_not_valet(row, f"more than {VALET_SPEED} km/h")
    return driving(session.table(Vehicle).put(replace(row, cruise=speed_kmh, speed=speed_kmh)))


@server.tool(idempotent=True)
def set_valet_mode(session: Session, vehicle_id: VehicleId, valet: Power, vehicle_pin: VehiclePin) -> Setting:
    """Turn a car's valet mode on or off with its PIN; on, it limits speed and hides destinations.

    It can be switched only while the car stands, and turning it on leaves sport mode for comfort.

    Args:
        vehicle_id: the car, from list_vehicles.
        valet: on or off.
        vehicle_pin: the car's four-digit PIN as the keeper said it.

    Raises:
        vehicle_updating: it is installing an update.
        wrong_pin: the PIN is not this car's.
        vehicle_moving: it must stand.
    """
    row = ready_vehicle(session, vehicle_id)
    if vehicle_pin != row.pin:
        raise ToolError(Fault.WRONG_PIN, f"The PIN is not that of {row.name}. Ask the keeper for it.")
    check_standing(row, "valet mode")
    mode: DriveMode = "comfort" if valet == "on" and row.drive_mode == "sport" else row.drive_mode
    session.table(Vehicle).put(replace(row, valet=valet == "on", drive_mode=mode))
    return Setting(row.id, "valet_mode", valet)
