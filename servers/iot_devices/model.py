"""Records and error codes of the smart home."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from servers.kernel.store import Record
from servers.kernel.types import Entity, Hidden

DeviceId: TypeAlias = Annotated[str, Entity("smart_device")]
ThermostatId: TypeAlias = Annotated[str, Entity("thermostat")]
DoorId: TypeAlias = Annotated[str, Entity("home_door")]
SceneId: TypeAlias = Annotated[str, Entity("home_scene")]
AutomationId: TypeAlias = Annotated[str, Entity("home_automation")]
RoomName: TypeAlias = Annotated[str, Entity("home_room", natural=True)]

DeviceKind: TypeAlias = Literal["light", "plug", "thermostat", "door", "blind", "camera", "speaker", "vacuum", "sensor"]
Floor: TypeAlias = Literal["basement", "ground", "upper", "attic", "outside"]
VacuumFloor: TypeAlias = Literal["basement", "ground", "upper", "attic"]
VacuumTask: TypeAlias = Literal["clean", "dock"]
ZoneName: TypeAlias = Literal["house", "garage", "studio", "workshop"]
AlarmLevel: TypeAlias = Literal["stay", "away"]
AlarmState: TypeAlias = Literal["disarmed", "stay", "away"]
HomeMode: TypeAlias = Literal["home", "away", "guest", "night"]
ThermostatMode: TypeAlias = Literal["off", "heat", "cool", "auto", "eco"]
DoorKind: TypeAlias = Literal["hinged", "garage"]
Measure: TypeAlias = Literal["temperature", "humidity", "motion", "leak", "window"]
Power: TypeAlias = Literal["on", "off"]
Opening: TypeAlias = Literal["open", "closed"]
ScheduleStatus: TypeAlias = Literal["active", "paused"]
Days: TypeAlias = Literal["daily", "weekdays", "weekends"]


class Fault(StrEnum):
    """What the home refuses, beyond bad arguments and unknown ids."""

    DEVICE_OFFLINE = "device_offline"
    DEVICE_RESTARTING = "device_restarting"
    UPDATE_RUNNING = "update_running"
    BATTERY_EMPTY = "battery_empty"
    BATTERY_TOO_LOW = "battery_too_low"
    NO_UPDATE = "no_update"
    NOT_SWITCHABLE = "not_switchable"
    PROTECTED_PLUG = "protected_plug"
    NO_DEVICE_IN_ROOM = "no_device_in_room"
    NOT_DIMMABLE = "not_dimmable"
    COLOR_NOT_SUPPORTED = "color_not_supported"
    MODE_NOT_SUPPORTED = "mode_not_supported"
    MODE_HAS_NO_TARGET = "mode_has_no_target"
    TEMPERATURE_OUT_OF_RANGE = "temperature_out_of_range"
    WINDOW_OPEN = "window_open"
    LOCK_JAMMED = "lock_jammed"
    DOOR_OPEN = "door_open"
    NO_LOCK = "no_lock"
    WRONG_CODE = "wrong_code"
    NOT_A_GARAGE_DOOR = "not_a_garage_door"
    GARAGE_OBSTRUCTED = "garage_obstructed"
    ALARM_ARMED = "alarm_armed"
    ALREADY_ARMED = "already_armed"
    NOT_ARMED = "not_armed"
    ENTRANCE_OPEN = "entrance_open"
    ENTRANCE_UNLOCKED = "entrance_unlocked"
    GUEST_MODE = "guest_mode"
    WIND_LOCK = "wind_lock"
    VACUUM_BIN_FULL = "vacuum_bin_full"
    VACUUM_CHARGING = "vacuum_charging"
    VACUUM_BUSY = "vacuum_busy"
    ALREADY_DOCKED = "already_docked"
    QUIET_HOURS = "quiet_hours"
    SCENE_UNAVAILABLE = "scene_unavailable"
    NOT_WHILE_AWAY = "not_while_away"
    ALREADY_SCHEDULED = "already_scheduled"


@dataclass(frozen=True, slots=True)
class Home(Record):
    """The one household; `zone` is the IANA time zone in which its schedules run."""

    id: str
    city: str
    zone: str
    mode: HomeMode
    alarm_code: Annotated[str, Hidden]


@dataclass(frozen=True, slots=True)
class AlarmZone(Record):
    """A part of the property that is armed by itself; its id is its name."""

    id: str
    state: AlarmState
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class Room(Record):
    """A room or an outdoor area; people know it by its name, which is its id too."""

    id: RoomName
    name: str
    floor: Floor
    zone: ZoneName


@dataclass(frozen=True, slots=True)
class Device(Record):
    """What all devices share.

    A device that is not `reachable` comes back two minutes after a restart unless its battery is empty;
    `battery` is None on mains power. An update takes ten minutes from `updating_since`.
    """

    id: DeviceId
    name: str
    room: RoomName
    reachable: bool
    battery: int | None
    firmware: str
    latest: str
    restarted_at: datetime | None
    updating_since: datetime | None


@dataclass(frozen=True, slots=True)
class Light(Device):
    """A lamp; `coolest` and `warmest` in kelvin are equal where its colour is fixed."""

    on: bool
    brightness: int
    kelvin: int
    warmest: int
    coolest: int
    dimmable: bool


@dataclass(frozen=True, slots=True)
class Plug(Device):
    """A smart plug with its meter; a `protected` one feeds something that must not lose power."""

    on: bool
    watts: int
    wh_today: int
    protected: bool


@dataclass(frozen=True, slots=True)
class Thermostat(Device):
    """A room's heating or air conditioning, in degrees Celsius."""

    mode: ThermostatMode
    modes: tuple[ThermostatMode, ...]
    target: float
    lowest: float
    highest: float
    temperature: float


@dataclass(frozen=True, slots=True)
class Door(Device):
    """A hinged door with a smart lock, or a garage door with a motor. Private doors stay shut to guests.

    Until `in_use_until` somebody keeps an open hinged door open, or something stands in a garage door's way;
    an open hinged door is shut at that moment.
    """

    kind: DoorKind
    zone: ZoneName
    open: bool
    locked: bool
    jammed: bool
    in_use_until: datetime
    private: bool
    code: Annotated[str, Hidden]


@dataclass(frozen=True, slots=True)
class Blind(Device):
    """A motor blind; 0 is shut, 100 is open. Outer ones stay put in strong wind."""

    position: int
    windy: bool


@dataclass(frozen=True, slots=True)
class Camera(Device):
    """A camera; in privacy mode it sees and records nothing."""

    privacy: bool
    clips_today: int


@dataclass(frozen=True, slots=True)
class Speaker(Device):
    """A loudspeaker; it is silent when `playing` is empty."""

    playing: str
    volume: int


@dataclass(frozen=True, slots=True)
class Vacuum(Device):
    """The robot vacuum of one floor. `charge` is what it had at `since`, cleaning or docked."""

    floor: VacuumFloor
    cleaning: bool
    since: datetime
    charge: int
    bin_full: bool


@dataclass(frozen=True, slots=True)
class Sensor(Device):
    """A sensor; `value` is in degrees, per cent, or 1 and 0 for motion, leak and open window."""

    measure: Measure
    value: float
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class Scene(Record):
    """A named setting of several devices."""

    id: SceneId
    name: str


@dataclass(frozen=True, slots=True)
class SceneAction(Record):
    """One device's level in a scene: per cent for lights, blinds and plugs, degrees for thermostats."""

    id: str
    scene_id: SceneId
    device_id: DeviceId
    level: int


@dataclass(frozen=True, slots=True)
class Automation(Record):
    """A scene's schedule in the home's local time."""

    id: AutomationId
    name: str
    scene_id: SceneId
    at: time
    days: Days
    enabled: bool
