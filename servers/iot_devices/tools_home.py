"""The home as a whole: its status, its mode and its alarm."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from servers.iot_devices.model import (
    AlarmLevel,
    AlarmState,
    AlarmZone,
    Camera,
    Door,
    Fault,
    Home,
    HomeMode,
    Light,
    Room,
    Thermostat,
    ZoneName,
)
from servers.iot_devices.rules import (
    KINDS,
    check_code,
    clock,
    home_of,
    is_open,
    local_now,
    online,
    turn_all_off,
    zone_of,
)
from servers.iot_devices.server import server
from servers.iot_devices.views import AlarmView, HomeStatus, ModeChange
from servers.kernel.errors import ToolError
from servers.kernel.session import Session
from servers.kernel.types import Sensitive

AlarmCode = Annotated[str, Sensitive(), Field(pattern=r"^\d{4}$")]


@server.tool(read_only=True)
def get_home_status(session: Session) -> HomeStatus:
    """Show the home's mode, alarms, and how many doors, lights and devices need attention."""
    home = home_of(session)
    alarms: dict[str, AlarmState] = {row.id: row.state for row in session.table(AlarmZone).all()}
    doors = session.table(Door).all()
    devices = [row for kind in KINDS.values() for row in session.table(kind).all()]
    return HomeStatus(
        mode=home.mode,
        local_time=f"{local_now(session):%a %H:%M}",
        house_alarm=alarms["house"],
        garage_alarm=alarms["garage"],
        studio_alarm=alarms["studio"],
        workshop_alarm=alarms["workshop"],
        open_doors=sum(is_open(row, session.now) for row in doors),
        unlocked_doors=sum(row.kind == "hinged" and not row.locked for row in doors),
        lights_on=len(session.table(Light).where(on=True)),
        offline_devices=sum(not online(row, session.now) for row in devices),
    )


@server.tool(idempotent=True)
def set_home_mode(session: Session, mode: HomeMode) -> ModeChange:
    """Put the home into home, away, guest or night mode.

    Away and night turn the lights off, away also sets the thermostats to eco, and guest hides indoor cameras.

    Args:
        mode: the mode to enter.

    Raises:
        alarm_armed: home and guest need the house alarm not to be armed away.
    """
    alarm = zone_of(session, "house").state
    if mode in ("home", "guest") and alarm == "away":
        raise ToolError(Fault.ALARM_ARMED, f"The house alarm is armed away; disarm_alarm comes before {mode} mode.")
    home = home_of(session)
    session.table(Home).put(replace(home, mode=mode))
    lights = turn_all_off(session) if mode in ("away", "night") else 0
    eco = _all_eco(session) if mode == "away" else 0
    private = _hide_indoor_cameras(session) if mode == "guest" else 0
    return ModeChange(mode, lights, eco, private)


def _all_eco(session: Session) -> int:
    rows = [row for row in session.table(Thermostat).all() if row.mode not in ("off", "eco")]
    rows = [row for row in rows if online(row, session.now)]
    for row in rows:
        session.table(Thermostat).put(replace(row, mode="eco"))
    return len(rows)


def _hide_indoor_cameras(session: Session) -> int:
    outside = {row.id for row in session.table(Room).where(floor="outside")}
    rows = [row for row in session.table(Camera).where(privacy=False) if row.room not in outside]
    rows = [row for row in rows if online(row, session.now)]
    for row in rows:
        session.table(Camera).put(replace(row, privacy=True))
    return len(rows)


def _open_door(row: Door) -> str:
    cure = "move_garage_door shuts it" if row.kind == "garage" else f"in use until {clock(row.in_use_until)} UTC"
    return f"{row.name} ({cure})"


@server.tool()
def arm_alarm(session: Session, zone: ZoneName, level: AlarmLevel) -> AlarmView:
    """Arm the alarm of one zone; its doors must be shut, and locked for away.

    list_home_doors shows what is open.

    Args:
        zone: the part of the property.
        level: stay while somebody is in, away when nobody is.

    Raises:
        already_armed: the zone is armed at this level, or away, which only its code lowers.
        entrance_open: a door of the zone stands open; a hinged one is shut after use.
        entrance_unlocked: away needs every lock of the zone locked.
    """
    alarm = zone_of(session, zone)
    if alarm.state in (level, "away"):
        cure = "" if alarm.state == level else f" disarm_alarm comes before {level}."
        raise ToolError(Fault.ALREADY_ARMED, f"The {zone} alarm is armed ({alarm.state}) already.{cure}")
    doors = session.table(Door).where(zone=zone)
    open_ones = [row for row in doors if is_open(row, session.now)]
    if open_ones:
        words = ", ".join(_open_door(row) for row in open_ones)
        raise ToolError(Fault.ENTRANCE_OPEN, f"Open: {words}.")
    loose = [row.name for row in doors if row.kind == "hinged" and not row.locked]
    if level == "away" and loose:
        raise ToolError(Fault.ENTRANCE_UNLOCKED, f"Not locked: {', '.join(loose)}. lock_door comes first.")
    session.table(AlarmZone).put(replace(alarm, state=level, changed_at=session.now))
    return AlarmView(zone, level)


@server.tool()
def disarm_alarm(session: Session, zone: ZoneName, alarm_code: AlarmCode) -> AlarmView:
    """Disarm the alarm of one zone with the owner's four-digit alarm code.

    Args:
        zone: the part of the property.
        alarm_code: the four-digit code as the owner said it.

    Raises:
        not_armed: the zone is not armed.
        wrong_code: the code is not the alarm's.
    """
    alarm = zone_of(session, zone)
    if alarm.state == "disarmed":
        raise ToolError(Fault.NOT_ARMED, f"The {zone} alarm is not armed; get_home_status shows which one is.")
    check_code(alarm_code, home_of(session).alarm_code, "the alarm")
    session.table(AlarmZone).put(replace(alarm, state="disarmed", changed_at=session.now))
    return AlarmView(zone, "disarmed")
