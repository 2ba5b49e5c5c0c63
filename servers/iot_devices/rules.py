"""What the home's devices allow, and what time has made of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeVar
from zoneinfo import ZoneInfo

from servers.iot_devices.model import (
    AlarmZone,
    Automation,
    Blind,
    Camera,
    Device,
    DeviceKind,
    Door,
    Fault,
    Home,
    Light,
    Plug,
    Room,
    Scene,
    Sensor,
    Speaker,
    Thermostat,
    Vacuum,
)
from servers.kernel.errors import KernelFault, ToolError
from servers.kernel.session import Session
from servers.kernel.store import shown

RESTART_TIME = timedelta(minutes=2)
UPDATE_TIME = timedelta(minutes=10)
CLEANING_TIME = timedelta(minutes=60)
UPDATE_BATTERY = 30
VACUUM_CHARGE = 40
QUIET_VOLUME = 30
QUIET_FROM, QUIET_UNTIL = 22, 7

KINDS: dict[DeviceKind, type[Device]] = {
    "light": Light,
    "plug": Plug,
    "thermostat": Thermostat,
    "door": Door,
    "blind": Blind,
    "camera": Camera,
    "speaker": Speaker,
    "vacuum": Vacuum,
    "sensor": Sensor,
}

D = TypeVar("D", bound=Device)


def home_of(session: Session) -> Home:
    """The one household."""
    return session.table(Home).require("home", "")


def local_now(session: Session) -> datetime:
    """The time on the home's clocks."""
    return session.now.astimezone(ZoneInfo(home_of(session).zone))


def room_of(session: Session, room: str) -> Room:
    """The room, whatever the case of its name, or an error that names the rooms there are."""
    rows = session.table(Room).all()
    name = next((row.id for row in rows if row.id.casefold() == room.casefold()), room)
    return session.table(Room).require(name, f"The rooms are {', '.join(row.id for row in rows)}.")


def device_of(session: Session, device_id: str) -> Device:
    """The device of any kind, or an error that says how to find one."""
    for kind in KINDS.values():
        found = session.table(kind).get(device_id)
        if found is not None:
            return found
    raise ToolError(
        KernelFault.NOT_FOUND, f"There is no device {shown(device_id)}. list_home_devices shows the valid device ids."
    )


def door_of(session: Session, door_id: str) -> Door:
    """The door, or an error that says how to find one."""
    return session.table(Door).require(door_id, "list_home_doors shows the valid door ids.")


def thermostat_of(session: Session, thermostat_id: str) -> Thermostat:
    """The thermostat, or an error that says how to find one."""
    return session.table(Thermostat).require(thermostat_id, "list_thermostats shows the valid ids.")


def scene_of(session: Session, scene_id: str) -> Scene:
    """The scene, or an error that says how to find one."""
    return session.table(Scene).require(scene_id, "list_scenes shows the valid scene ids.")


def zone_of(session: Session, zone: str) -> AlarmZone:
    """The part of the property that is armed by itself."""
    return session.table(AlarmZone).require(zone, "The zones are house, garage, studio and workshop.")


def clock(at: datetime) -> str:
    """A moment as HH:MM, rounded up to the minute so that nobody comes too early."""
    return f"{at + timedelta(seconds=-at.second % 60):%H:%M}"


def is_open(door: Door, now: datetime) -> bool:
    """Whether a door stands open at this moment; somebody shuts a hinged one when it is no longer in use."""
    return door.open and (door.kind == "garage" or now < door.in_use_until)


def online(device: Device, now: datetime) -> bool:
    """Whether the device answers at this moment."""
    if device.restarted_at is not None:
        return now >= device.restarted_at + RESTART_TIME
    return device.reachable


def updating(device: Device, now: datetime) -> bool:
    """Whether a firmware update still runs."""
    return device.updating_since is not None and now < device.updating_since + UPDATE_TIME


def firmware(device: Device, now: datetime) -> str:
    """The installed version, counting an update that has ended."""
    if device.updating_since is not None and not updating(device, now):
        return device.latest
    return device.firmware


def check_ready(session: Session, device: Device) -> None:
    """Refuse a device that doesn't answer."""
    if updating(device, session.now) and device.updating_since is not None:
        ready = device.updating_since + UPDATE_TIME
        raise ToolError(Fault.UPDATE_RUNNING, f"{device.name} is updating; it answers again at {clock(ready)} UTC.")
    if online(device, session.now):
        return
    if device.restarted_at is not None:
        ready = device.restarted_at + RESTART_TIME
        raise ToolError(Fault.DEVICE_RESTARTING, f"{device.name} is restarting; it is back at {ready:%H:%M:%S} UTC.")
    raise ToolError(Fault.DEVICE_OFFLINE, f"{device.name} is offline; restart_device may bring it back.")


def devices_in(session: Session, kind: type[D], room: str) -> list[D]:
    """The devices of one kind in a room, refused when there is none."""
    found = session.table(kind).where(room=room_of(session, room).id)
    if not found:
        others = sorted({row.room for row in session.table(kind).all()})
        label = kind.__name__.lower()
        raise ToolError(Fault.NO_DEVICE_IN_ROOM, f"{room} has no {label}. Rooms with one: {', '.join(others)}.")
    return found


def ready_devices(session: Session, kind: type[D], room: str) -> list[D]:
    """The devices of one kind in a room that answer, refused when none does."""
    found = devices_in(session, kind, room)
    ready = [row for row in found if online(row, session.now) and not updating(row, session.now)]
    if not ready:
        check_ready(session, found[0])
    return ready


def check_code(code: str, expected: str, what: str) -> None:
    """Refuse a code that isn't the right one."""
    if code != expected:
        raise ToolError(Fault.WRONG_CODE, f"The code is not that of {what}. Ask the owner for it.")


def check_disarmed(session: Session, zone: str, what: str) -> None:
    """Refuse what would set off the alarm."""
    state = zone_of(session, zone).state
    if state != "disarmed":
        raise ToolError(
            Fault.ALARM_ARMED, f"The {zone} alarm is armed ({state}); disarm_alarm for {zone} comes before {what}."
        )


def check_volume(session: Session, volume: int) -> None:
    """Refuse to be loud while the house sleeps: by the clock or by its mode."""
    if volume <= QUIET_VOLUME:
        return
    hour = local_now(session).hour
    if hour >= QUIET_FROM or hour < QUIET_UNTIL:
        raise ToolError(
            Fault.QUIET_HOURS, f"It is night in the home; a volume of at most {QUIET_VOLUME} works until 07:00."
        )
    if home_of(session).mode == "night":
        raise ToolError(
            Fault.QUIET_HOURS,
            f"The home is in night mode; a volume of at most {QUIET_VOLUME} works, set_home_mode ends the mode.",
        )


def vacuum_state(vacuum: Vacuum, now: datetime) -> tuple[bool, int]:
    """Whether it is cleaning at this moment, and its charge in per cent.

    Cleaning takes an hour and half a per cent a minute; then it docks and gains one per cent a minute.
    """
    minutes = int((now - vacuum.since).total_seconds() // 60)
    if not vacuum.cleaning:
        return False, min(100, vacuum.charge + minutes)
    whole = int(CLEANING_TIME.total_seconds() // 60)
    if minutes < whole:
        return True, max(0, vacuum.charge - minutes // 2)
    return False, min(100, max(0, vacuum.charge - whole // 2) + minutes - whole)


def next_run(session: Session, automation: Automation) -> datetime:
    """When a schedule is due next, in the home's local time."""
    now = local_now(session)
    day = now.date()
    for ahead in range(9):
        moment = datetime.combine(day + timedelta(days=ahead), automation.at, now.tzinfo)
        weekend = moment.weekday() >= 5
        if moment > now and automation.days in ("daily", "weekends" if weekend else "weekdays"):
            return moment
    raise ValueError(f"a schedule without days: {automation.days}")


def at_level(device: Device, level: int) -> Device | None:
    """The device at its level in a scene; None when wind or its mode keeps it as it is."""
    match device:
        case Light():
            brightness = level if level and device.dimmable else device.brightness
            return replace(device, on=level > 0, brightness=brightness)
        case Blind() if not device.windy:
            return replace(device, position=level)
        case Thermostat() if device.mode in ("heat", "cool", "auto"):
            return replace(device, target=min(max(float(level), device.lowest), device.highest))
    return None


def turn_all_off(session: Session) -> int:
    """Switch off every lamp that answers; how many there were."""
    lit = [row for row in session.table(Light).where(on=True) if online(row, session.now)]
    for light in lit:
        session.table(Light).put(replace(light, on=False))
    return len(lit)
