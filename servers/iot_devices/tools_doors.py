"""Doors: smart locks and garage doors."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from servers.iot_devices.model import Door, DoorId, Fault, Opening
from servers.iot_devices.rules import check_code, check_disarmed, check_ready, clock, door_of, home_of, is_open
from servers.iot_devices.server import server
from servers.iot_devices.views import DoorItem, door_item
from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.types import Sensitive

DoorCode = Annotated[str, Sensitive(), Field(pattern=r"^\d{6}$")]


@server.tool(read_only=True)
def list_home_doors(
    session: Session,
    query: Query = "",
    unlocked_only: bool = False,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[DoorItem]:
    """List doors and garage doors with their ids, and whether each is open, locked or jammed.

    Ordered by name.

    Args:
        query: words of the door's name.
        unlocked_only: only doors that stand open or are not locked.
        limit: most doors to return.
        offset: how many to skip.
    """
    rows = search(session.table(Door).all(), query, lambda row: f"{row.name} {row.room}")
    now = session.now
    rows = [row for row in rows if not unlocked_only or is_open(row, now) or (row.kind == "hinged" and not row.locked)]
    rows.sort(key=lambda row: (row.name, row.id))
    return paginate([door_item(row, now) for row in rows], limit, offset)


def _lock_of(session: Session, door_id: str) -> Door:
    row = door_of(session, door_id)
    if row.kind != "hinged":
        raise ToolError(Fault.NO_LOCK, f"{row.name} has no lock; move_garage_door opens and shuts it.")
    check_ready(session, row)
    if row.jammed:
        raise ToolError(Fault.LOCK_JAMMED, f"The lock of {row.name} is jammed; restart_device recalibrates it.")
    return row


@server.tool(idempotent=True)
def lock_door(session: Session, door_id: DoorId) -> DoorItem:
    """Lock a door that is shut.

    Args:
        door_id: the door, from list_home_doors.

    Raises:
        no_lock: it is a garage door.
        door_open: it is in use; somebody shuts it later.
        lock_jammed: the bolt is stuck; restart_device recalibrates it.
        device_offline: the lock doesn't answer.
        device_restarting: the lock is not back yet.
        update_running: its firmware is being updated.
    """
    row = _lock_of(session, door_id)
    if is_open(row, session.now):
        until = clock(row.in_use_until)
        raise ToolError(Fault.DOOR_OPEN, f"{row.name} is in use and will be shut by {until} UTC; lock it then.")
    return door_item(session.table(Door).put(replace(row, locked=True)), session.now)


@server.tool(idempotent=True)
def unlock_door(session: Session, door_id: DoorId, door_code: DoorCode) -> DoorItem:
    """Unlock a door with its own six-digit code, as the owner said it.

    Args:
        door_id: the door, from list_home_doors.
        door_code: the six-digit code of this door.

    Raises:
        no_lock: it is a garage door.
        wrong_code: the code is not this door's.
        alarm_armed: its zone is armed; disarm_alarm comes first.
        guest_mode: private doors stay locked while guests are in.
        lock_jammed: the bolt is stuck; restart_device recalibrates it.
        device_offline: the lock doesn't answer.
        device_restarting: the lock is not back yet.
        update_running: its firmware is being updated.
    """
    row = _lock_of(session, door_id)
    check_disarmed(session, row.zone, f"unlocking {row.name}")
    if row.private and home_of(session).mode == "guest":
        raise ToolError(Fault.GUEST_MODE, f"{row.name} is private in guest mode; set_home_mode to home comes first.")
    check_code(door_code, row.code, row.name)
    return door_item(session.table(Door).put(replace(row, locked=False)), session.now)


@server.tool(idempotent=True)
def move_garage_door(session: Session, door_id: DoorId, position: Opening) -> DoorItem:
    """Open or shut a garage door or a motor gate.

    Args:
        door_id: the garage door, from list_home_doors.
        position: open to open it, closed to shut it.

    Raises:
        not_a_garage_door: it has no motor.
        garage_obstructed: something stands in its way for now.
        alarm_armed: it can't be opened while its zone is armed.
        device_offline: it doesn't answer.
        device_restarting: it is not back yet.
        update_running: its firmware is being updated.
    """
    row = door_of(session, door_id)
    if row.kind != "garage":
        raise ToolError(Fault.NOT_A_GARAGE_DOOR, f"{row.name} has no motor; lock_door and unlock_door work on it.")
    check_ready(session, row)
    if position == "open":
        check_disarmed(session, row.zone, f"opening {row.name}")
    if row.open and position == "closed" and session.now < row.in_use_until:
        raise ToolError(
            Fault.GARAGE_OBSTRUCTED,
            f"Something stands in the way of {row.name}; it can be shut from {clock(row.in_use_until)} UTC.",
        )
    return door_item(session.table(Door).put(replace(row, open=position == "open")), session.now)
