"""What is done to a room or a floor: light, blinds, cameras, music, cleaning."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from servers.iot_devices.model import (
    Blind,
    Camera,
    Fault,
    Light,
    Power,
    RoomName,
    Speaker,
    Vacuum,
    VacuumFloor,
    VacuumTask,
)
from servers.iot_devices.rules import (
    CLEANING_TIME,
    VACUUM_CHARGE,
    check_disarmed,
    check_ready,
    check_volume,
    clock,
    devices_in,
    home_of,
    ready_devices,
    room_of,
    vacuum_state,
)
from servers.iot_devices.server import server
from servers.iot_devices.views import RoomChange, VacuumView
from servers.kernel.errors import ToolError
from servers.kernel.session import Session


@server.tool(idempotent=True)
def dim_room_lights(
    session: Session,
    room: RoomName,
    brightness: Annotated[int, Field(ge=1, le=100)],
    kelvin: Annotated[int, Field(ge=2000, le=6500)] | None = None,
) -> RoomChange:
    """Turn on all dimmable lamps of a room at a brightness and, if asked, a colour temperature.

    Args:
        room: the room's name.
        brightness: per cent.
        kelvin: colour temperature; 2700 is warm, 4000 neutral, 6500 cold.

    Raises:
        no_device_in_room: there is no lamp.
        not_dimmable: no lamp that answers can be dimmed.
        color_not_supported: no lamp that answers can show this colour temperature.
        device_offline: no lamp answers.
        device_restarting: no lamp is back yet.
        update_running: the lamps are being updated.
    """
    everything = devices_in(session, Light, room)
    lamps = [row for row in ready_devices(session, Light, room) if row.dimmable]
    if not lamps:
        raise ToolError(Fault.NOT_DIMMABLE, f"No lamp in {room} that answers can be dimmed; use switch_device.")
    if kelvin is not None:
        fitting = [row for row in lamps if row.warmest <= kelvin <= row.coolest]
        if not fitting:
            ranges = ", ".join(f"{row.name} {row.warmest}-{row.coolest} K" for row in lamps)
            raise ToolError(Fault.COLOR_NOT_SUPPORTED, f"No lamp in {room} can show {kelvin} K: {ranges}.")
        lamps = fitting
    for row in lamps:
        session.table(Light).put(replace(row, on=True, brightness=brightness, kelvin=kelvin or row.kelvin))
    state = f"on {brightness}%" + (f", {kelvin} K" if kelvin else "")
    return RoomChange(everything[0].room, len(lamps), len(everything) - len(lamps), state)


@server.tool(idempotent=True)
def set_room_blinds(session: Session, room: RoomName, position: Annotated[int, Field(ge=0, le=100)]) -> RoomChange:
    """Move all blinds of a room: 0 is shut, 100 is fully open.

    Args:
        room: the room's name.
        position: how far open, in per cent.

    Raises:
        no_device_in_room: there is no blind.
        wind_lock: strong wind keeps every blind of the room in place.
        device_offline: no blind answers.
        device_restarting: no blind is back yet.
        update_running: the blinds are being updated.
    """
    everything = devices_in(session, Blind, room)
    blinds = [row for row in ready_devices(session, Blind, room) if not row.windy]
    if not blinds:
        raise ToolError(Fault.WIND_LOCK, f"Strong wind keeps the blinds in {room} in place; try when it has calmed.")
    for row in blinds:
        session.table(Blind).put(replace(row, position=position))
    return RoomChange(everything[0].room, len(blinds), len(everything) - len(blinds), f"{position}% open")


@server.tool(idempotent=True)
def set_camera_privacy(session: Session, room: RoomName, privacy: Power) -> RoomChange:
    """Turn the privacy mode of a room's camera on or off; in privacy mode it sees nothing.

    Args:
        room: the room's name.
        privacy: on to blind the camera, off to let it see.

    Raises:
        no_device_in_room: there is no camera.
        alarm_armed: the camera must see while its zone is armed.
        guest_mode: indoor cameras stay blind while guests are in.
        device_offline: it doesn't answer.
        device_restarting: it is not back yet.
        update_running: its firmware is being updated.
    """
    (row, *_) = ready_devices(session, Camera, room)
    place = room_of(session, room)
    if privacy == "on":
        check_disarmed(session, place.zone, f"blinding {row.name}")
    elif home_of(session).mode == "guest" and place.floor != "outside":
        raise ToolError(Fault.GUEST_MODE, f"{row.name} stays blind in guest mode; set_home_mode to home comes first.")
    session.table(Camera).put(replace(row, privacy=privacy == "on"))
    return RoomChange(row.room, 1, 0, "privacy" if privacy == "on" else "watching")


@server.tool()
def play_on_speaker(
    session: Session,
    room: RoomName,
    music: Annotated[str, Field(min_length=2, max_length=60)],
    volume: Annotated[int, Field(ge=1, le=100)] = 20,
) -> RoomChange:
    """Play a playlist, station or artist on a room's speaker.

    Args:
        room: the room's name.
        music: what to play.
        volume: loudness in per cent; at most 30 in night mode and from 22:00 to 07:00.

    Raises:
        no_device_in_room: there is no speaker.
        quiet_hours: too loud for the night.
        device_offline: it doesn't answer.
        device_restarting: it is not back yet.
        update_running: its firmware is being updated.
    """
    (row, *_) = ready_devices(session, Speaker, room)
    check_volume(session, volume)
    session.table(Speaker).put(replace(row, playing=music, volume=volume))
    return RoomChange(row.room, 1, 0, f"playing {music}, volume {volume}")


@server.tool()
def send_vacuum(session: Session, floor: VacuumFloor, task: VacuumTask) -> VacuumView:
    """Send the robot vacuum of a floor out to clean, or back to its dock.

    Cleaning takes an hour, after which it docks and charges by itself.

    Args:
        floor: the vacuum's floor.
        task: clean to start, dock to come home early.

    Raises:
        vacuum_busy: it is cleaning already.
        already_docked: it is in its dock already.
        vacuum_bin_full: somebody must empty it before it cleans.
        vacuum_charging: it holds less than 40 per cent.
        update_running: its firmware is being updated.
        device_restarting: it is not back yet.
    """
    (row,) = session.table(Vacuum).where(floor=floor)
    check_ready(session, row)
    cleaning, charge = vacuum_state(row, session.now)
    if task == "clean":
        _check_can_clean(row, cleaning, charge)
    elif not cleaning:
        raise ToolError(Fault.ALREADY_DOCKED, f"{row.name} is in its dock with {charge}%; the task clean sends it out.")
    session.table(Vacuum).put(replace(row, cleaning=task == "clean", since=session.now, charge=charge))
    return VacuumView(floor, "cleaning" if task == "clean" else "docked", charge)


def _check_can_clean(row: Vacuum, cleaning: bool, charge: int) -> None:
    if cleaning:
        raise ToolError(Fault.VACUUM_BUSY, f"{row.name} cleans until {clock(row.since + CLEANING_TIME)} UTC.")
    if row.bin_full:
        raise ToolError(Fault.VACUUM_BIN_FULL, f"The bin of {row.name} is full; somebody must empty it first.")
    if charge < VACUUM_CHARGE:
        wait = VACUUM_CHARGE - charge
        raise ToolError(Fault.VACUUM_CHARGING, f"{row.name} holds {charge}%; it can start in {wait} minutes.")
