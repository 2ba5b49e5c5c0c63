"""What the home's tools show."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from servers.iot_devices.model import (
    AlarmState,
    AutomationId,
    Blind,
    Camera,
    Device,
    DeviceId,
    Door,
    DoorId,
    DoorKind,
    HomeMode,
    Light,
    Plug,
    RoomName,
    SceneId,
    ScheduleStatus,
    Sensor,
    Speaker,
    Thermostat,
    ThermostatId,
    ThermostatMode,
    Vacuum,
)
from servers.iot_devices.rules import firmware, is_open, online, updating, vacuum_state


@dataclass(frozen=True, slots=True)
class HomeStatus:
    """The home at a glance."""

    mode: HomeMode
    local_time: str
    house_alarm: AlarmState
    garage_alarm: AlarmState
    studio_alarm: AlarmState
    workshop_alarm: AlarmState
    open_doors: int
    unlocked_doors: int
    lights_on: int
    offline_devices: int


@dataclass(frozen=True, slots=True)
class ModeChange:
    """The home's new mode and what it brought about."""

    mode: HomeMode
    lights_off: int
    thermostats_eco: int
    cameras_private: int


@dataclass(frozen=True, slots=True)
class AlarmView:
    """One zone's alarm."""

    zone: str
    state: AlarmState


@dataclass(frozen=True, slots=True)
class DeviceItem:
    """A device in a list; `battery` is absent on mains power, `update` when the firmware is current."""

    id: DeviceId
    name: str
    room: RoomName
    state: str
    battery: int | None
    update: str | None


@dataclass(frozen=True, slots=True)
class DeviceChange:
    """A device's state after a command."""

    id: DeviceId
    name: str
    state: str


@dataclass(frozen=True, slots=True)
class Pending:
    """A device that will be back at a certain time."""

    id: DeviceId
    name: str
    ready_at: datetime


@dataclass(frozen=True, slots=True)
class RoomChange:
    """What a command did to a room; `skipped` devices are offline or can't do it."""

    room: RoomName
    changed: int
    skipped: int
    state: str


@dataclass(frozen=True, slots=True)
class ThermostatItem:
    """A thermostat in a list; `target` is absent in modes without one."""

    id: ThermostatId
    name: str
    mode: ThermostatMode
    temperature: float
    target: float | None


@dataclass(frozen=True, slots=True)
class DoorItem:
    """A door in a list; garage doors have no lock."""

    id: DoorId
    name: str
    kind: DoorKind
    open: bool
    locked: bool | None
    jammed: bool | None


@dataclass(frozen=True, slots=True)
class VacuumView:
    """What a vacuum does after a command."""

    floor: str
    state: str
    charge: int


@dataclass(frozen=True, slots=True)
class SceneItem:
    """A scene in a list, with how many of its devices answer."""

    id: SceneId
    name: str
    devices: int
    ready: int


@dataclass(frozen=True, slots=True)
class SceneRun:
    """What a scene did: `changed` devices, and `skipped` ones that don't answer or that wind or their mode keeps.

    The other devices were at their level already.
    """

    scene_id: SceneId
    name: str
    changed: int
    skipped: int


@dataclass(frozen=True, slots=True)
class AutomationItem:
    """A schedule in a list; `next_run` is in the home's local time and absent when it is paused."""

    id: AutomationId
    name: str
    at: str
    status: ScheduleStatus
    next_run: str | None


def thermostat_item(row: Thermostat) -> ThermostatItem:
    """A thermostat as lists and commands show it."""
    target = row.target if row.mode in ("heat", "cool", "auto") else None
    return ThermostatItem(row.id, row.name, row.mode, row.temperature, target)


def door_item(row: Door, now: datetime) -> DoorItem:
    """A door as lists and commands show it."""
    hinged = row.kind == "hinged"
    open_now, locked = is_open(row, now), row.locked if hinged else None
    return DoorItem(row.id, row.name, row.kind, open_now, locked, row.jammed or None)


def device_item(row: Device, now: datetime) -> DeviceItem:
    """A device as the list shows it."""
    update = row.latest if row.latest and firmware(row, now) != row.latest else None
    return DeviceItem(row.id, row.name, row.room, state_of(row, now), row.battery, update)


def state_of(row: Device, now: datetime) -> str:
    """A few words on what the device does."""
    if updating(row, now):
        return "updating"
    if not online(row, now):
        return "offline" if row.restarted_at is None else "restarting"
    match row:
        case Light():
            return f"on {row.brightness}%" if row.on else "off"
        case Plug():
            return f"on {row.watts} W, {row.wh_today / 1000:.1f} kWh today" if row.on else "off"
        case Thermostat():
            return f"{row.mode}, {row.temperature} C"
        case Door():
            return "open" if is_open(row, now) else "locked" if row.locked else "closed"
        case Blind():
            return f"{row.position}% open"
        case Camera():
            return "privacy" if row.privacy else f"on, {row.clips_today} clips today"
        case Speaker():
            return f"playing {row.playing}, volume {row.volume}" if row.playing else "silent"
        case Vacuum():
            return _vacuum_words(row, now)
        case Sensor():
            return _reading(row)
    raise TypeError(f"no words for a {type(row).__name__}")


def _vacuum_words(row: Vacuum, now: datetime) -> str:
    cleaning, charge = vacuum_state(row, now)
    return f"{'cleaning' if cleaning else 'docked'}, {charge}%" + (", bin full" if row.bin_full else "")


def _reading(row: Sensor) -> str:
    match row.measure:
        case "temperature":
            return f"{row.value} C"
        case "humidity":
            return f"{row.value:.0f}% humidity"
        case "leak":
            return "LEAK" if row.value else "dry"
        case "motion":
            return f"{'motion' if row.value else 'no motion'} since {row.changed_at:%H:%M} UTC"
        case "window":
            return "window open" if row.value else "window closed"
