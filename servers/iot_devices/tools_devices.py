"""Single devices: the inventory, power, restarts and firmware, and the thermostats."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from servers.iot_devices.model import (
    Camera,
    Device,
    DeviceId,
    DeviceKind,
    Door,
    Fault,
    Light,
    Plug,
    Power,
    Room,
    RoomName,
    Sensor,
    Thermostat,
    ThermostatId,
    ThermostatMode,
)
from servers.iot_devices.rules import (
    KINDS,
    RESTART_TIME,
    UPDATE_BATTERY,
    UPDATE_TIME,
    check_disarmed,
    check_ready,
    device_of,
    firmware,
    online,
    room_of,
    thermostat_of,
)
from servers.iot_devices.server import server
from servers.iot_devices.views import (
    DeviceChange,
    DeviceItem,
    Pending,
    ThermostatItem,
    device_item,
    state_of,
    thermostat_item,
)
from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session


@server.tool(read_only=True)
def list_home_devices(
    session: Session,
    query: Query = "",
    kind: DeviceKind | None = None,
    room: RoomName | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[DeviceItem]:
    """List the home's devices and sensors with their ids, state, battery and pending updates.

    Filter by words of the name, kind or room. Ordered by name.

    Args:
        query: words of the name or state, such as ceiling light or offline.
        kind: only devices of this kind.
        room: only devices of this room.
        limit: most devices to return.
        offset: how many to skip.
    """
    kinds = [KINDS[kind]] if kind else list(KINDS.values())
    rows = [row for each in kinds for row in session.table(each).all()]
    if room is not None:
        place = room_of(session, room)
        rows = [row for row in rows if row.room == place.id]
    rows = search(rows, query, lambda row: f"{row.name} {state_of(row, session.now)}")
    rows.sort(key=lambda row: (row.name, row.id))
    return paginate([device_item(row, session.now) for row in rows], limit, offset)


@server.tool()
def restart_device(session: Session, device_id: DeviceId) -> Pending:
    """Restart a device that is offline, stuck or jammed; it is back after two minutes.

    Args:
        device_id: the device, from list_home_devices.

    Raises:
        device_restarting: it restarts already.
        battery_empty: its battery must be changed by hand.
        update_running: a firmware update must not be cut off.
    """
    row = device_of(session, device_id)
    if row.battery == 0:
        raise ToolError(Fault.BATTERY_EMPTY, f"The battery of {row.name} is empty; somebody must change it.")
    if row.restarted_at is not None and not online(row, session.now):
        raise ToolError(Fault.DEVICE_RESTARTING, f"{row.name} restarts already; wait two minutes.")
    if online(row, session.now):
        check_ready(session, row)
    table = session.table(type(row))
    fresh: Device = replace(row, reachable=True, restarted_at=session.now)
    if isinstance(fresh, Door):
        fresh = replace(fresh, jammed=False)
    table.put(fresh)
    return Pending(row.id, row.name, session.now + RESTART_TIME)


@server.tool()
def update_device_firmware(session: Session, device_id: DeviceId) -> Pending:
    """Install a device's pending firmware update; it answers again after ten minutes.

    Args:
        device_id: the device, from list_home_devices, which shows pending updates.

    Raises:
        device_offline: it doesn't answer.
        device_restarting: it is not back yet.
        update_running: its update is being installed.
        no_update: its firmware is current.
        battery_too_low: an update needs 30 per cent of battery.
        alarm_armed: cameras and doors are not updated while their zone is armed.
    """
    row = device_of(session, device_id)
    check_ready(session, row)
    if not row.latest or firmware(row, session.now) == row.latest:
        raise ToolError(Fault.NO_UPDATE, f"{row.name} has the current firmware, {firmware(row, session.now)}.")
    if row.battery is not None and row.battery < UPDATE_BATTERY:
        raise ToolError(
            Fault.BATTERY_TOO_LOW,
            f"{row.name} has {row.battery}% of battery; an update needs {UPDATE_BATTERY}%, so change the battery.",
        )
    if isinstance(row, Camera | Door):
        check_disarmed(session, session.table(Room).require(row.room, "").zone, f"updating {row.name}")
    session.table(type(row)).put(replace(row, updating_since=session.now))
    return Pending(row.id, row.name, session.now + UPDATE_TIME)


@server.tool(idempotent=True)
def switch_device(session: Session, device_id: DeviceId, power: Power) -> DeviceChange:
    """Turn one lamp or smart plug on or off.

    Args:
        device_id: the lamp or plug, from list_home_devices.
        power: on or off.

    Raises:
        not_switchable: it is neither a lamp nor a plug.
        protected_plug: what hangs on the plug must not lose power.
        device_offline: it doesn't answer.
        device_restarting: it is not back yet.
        update_running: its firmware is being updated.
    """
    row = device_of(session, device_id)
    if not isinstance(row, Light | Plug):
        raise ToolError(
            Fault.NOT_SWITCHABLE, f"{row.name} is no lamp or plug; list_home_devices with kind light or plug helps."
        )
    check_ready(session, row)
    if isinstance(row, Plug) and row.protected and power == "off":
        raise ToolError(Fault.PROTECTED_PLUG, f"{row.name} is protected and stays on; pull the plug by hand if needed.")
    changed = session.table(type(row)).put(replace(row, on=power == "on"))
    return DeviceChange(row.id, row.name, state_of(changed, session.now))


@server.tool(read_only=True)
def list_thermostats(session: Session, query: Query = "", limit: Limit = 5, offset: Offset = 0) -> Page[ThermostatItem]:
    """List thermostats with their ids, mode, measured and target temperature. Ordered by name.

    Args:
        query: words of the name, such as the room, or a mode.
        limit: most thermostats to return.
        offset: how many to skip.
    """
    rows = search(session.table(Thermostat).all(), query, lambda row: f"{row.name} {row.mode}")
    rows.sort(key=lambda row: (row.name, row.id))
    return paginate([thermostat_item(row) for row in rows], limit, offset)


@server.tool(idempotent=True)
def set_thermostat_mode(session: Session, thermostat_id: ThermostatId, mode: ThermostatMode) -> ThermostatItem:
    """Switch a thermostat to off, heat, cool, auto or eco.

    Args:
        thermostat_id: the thermostat, from list_thermostats.
        mode: the mode; not every thermostat can cool.

    Raises:
        mode_not_supported: this thermostat lacks the mode.
        window_open: heating and cooling need the room's window shut.
        device_offline: it doesn't answer.
        device_restarting: it is not back yet.
        update_running: its firmware is being updated.
    """
    row = thermostat_of(session, thermostat_id)
    check_ready(session, row)
    if mode not in row.modes:
        raise ToolError(Fault.MODE_NOT_SUPPORTED, f"{row.name} knows only {', '.join(row.modes)}.")
    windows = [s for s in session.table(Sensor).where(room=row.room) if s.measure == "window" and s.value]
    if windows and mode in ("heat", "cool", "auto"):
        raise ToolError(Fault.WINDOW_OPEN, f"A window in {row.room} is open; shut it first, or use eco or off.")
    return thermostat_item(session.table(Thermostat).put(replace(row, mode=mode)))


@server.tool(idempotent=True)
def set_target_temperature(
    session: Session, thermostat_id: ThermostatId, celsius: Annotated[float, Field(ge=5, le=35, multiple_of=0.5)]
) -> ThermostatItem:
    """Set the target temperature of a thermostat in heat, cool or auto mode.

    Args:
        thermostat_id: the thermostat, from list_thermostats.
        celsius: degrees Celsius, in steps of a half.

    Raises:
        mode_has_no_target: it is off or in eco mode; set_thermostat_mode comes first.
        temperature_out_of_range: outside what this thermostat can do.
        device_offline: it doesn't answer.
        device_restarting: it is not back yet.
        update_running: its firmware is being updated.
    """
    row = thermostat_of(session, thermostat_id)
    check_ready(session, row)
    if row.mode in ("off", "eco"):
        others = ", ".join(mode for mode in row.modes if mode not in ("off", "eco"))
        raise ToolError(
            Fault.MODE_HAS_NO_TARGET, f"{row.name} is in {row.mode} mode; set_thermostat_mode to {others} comes first."
        )
    if not row.lowest <= celsius <= row.highest:
        raise ToolError(Fault.TEMPERATURE_OUT_OF_RANGE, f"{row.name} can do {row.lowest:g} to {row.highest:g} degrees.")
    return thermostat_item(session.table(Thermostat).put(replace(row, target=float(celsius))))
