"""Scenes and their schedules."""

from __future__ import annotations

from dataclasses import replace
from datetime import time

from servers.iot_devices.model import (
    Automation,
    AutomationId,
    Days,
    Device,
    Fault,
    Scene,
    SceneAction,
    SceneId,
    ScheduleStatus,
)
from servers.iot_devices.rules import at_level, device_of, home_of, next_run, online, scene_of, updating
from servers.iot_devices.server import server
from servers.iot_devices.views import AutomationItem, SceneItem, SceneRun
from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.types import TimeOfDay


def _members(session: Session, scene: Scene) -> list[tuple[Device, int]]:
    actions = session.table(SceneAction).where(scene_id=scene.id)
    return [(device_of(session, action.device_id), action.level) for action in actions]


def _ready(session: Session, device: Device) -> bool:
    return online(device, session.now) and not updating(device, session.now)


def _item(session: Session, row: Automation) -> AutomationItem:
    due = f"{next_run(session, row):%Y-%m-%d %H:%M}" if row.enabled else None
    return AutomationItem(row.id, row.name, f"{row.at:%H:%M}", "active" if row.enabled else "paused", due)


def _check_free(session: Session, scene: Scene, at: time, days: Days, own_id: str = "") -> None:
    for other in session.table(Automation).where(scene_id=scene.id):
        overlap = days == other.days or "daily" in (days, other.days)
        if other.id != own_id and other.enabled and other.at == at and overlap:
            raise ToolError(
                Fault.ALREADY_SCHEDULED,
                f"{scene.name} runs {other.days} at {at:%H:%M} ({other.id}); choose another time or pause it.",
            )


@server.tool(read_only=True)
def list_scenes(session: Session, query: Query = "", limit: Limit = 5, offset: Offset = 0) -> Page[SceneItem]:
    """List the home's scenes with their ids and how many of their devices answer. Ordered by name.

    Args:
        query: words of the scene's name.
        limit: most scenes to return.
        offset: how many to skip.
    """
    rows = search(session.table(Scene).all(), query, lambda row: row.name)
    rows.sort(key=lambda row: (row.name, row.id))
    items = []
    for row in rows:
        members = _members(session, row)
        items.append(SceneItem(row.id, row.name, len(members), sum(_ready(session, each) for each, _ in members)))
    return paginate(items, limit, offset)


@server.tool(idempotent=True)
def activate_scene(session: Session, scene_id: SceneId) -> SceneRun:
    """Run a scene now: bring its lamps, blinds and thermostats to the scene's levels.

    Args:
        scene_id: the scene, from list_scenes.

    Raises:
        scene_unavailable: none of its devices answers.
        not_while_away: the home is in away mode.
    """
    scene = scene_of(session, scene_id)
    if home_of(session).mode == "away":
        raise ToolError(Fault.NOT_WHILE_AWAY, "Scenes don't run in away mode; set_home_mode to home comes first.")
    members = _members(session, scene)
    ready = [(device, level) for device, level in members if _ready(session, device)]
    if not ready:
        names = ", ".join(device.name for device, _ in members)
        raise ToolError(
            Fault.SCENE_UNAVAILABLE, f"No device of {scene.name} answers ({names}); restart_device may help."
        )
    changed, kept = 0, len(members) - len(ready)
    for device, level in ready:
        after = at_level(device, level)
        if after is None:
            kept += 1
        elif after != device:
            session.table(type(device)).put(after)
            changed += 1
    return SceneRun(scene.id, scene.name, changed, kept)


@server.tool(read_only=True)
def list_automations(
    session: Session,
    query: Query = "",
    active_only: bool = False,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[AutomationItem]:
    """List the schedules by which scenes run, with their ids and next run. Ordered by name.

    Args:
        query: words of the scene's name or of the days.
        active_only: leave out paused schedules.
        limit: most schedules to return.
        offset: how many to skip.
    """
    rows = search(session.table(Automation).all(), query, lambda row: row.name)
    rows = [row for row in rows if row.enabled or not active_only]
    rows.sort(key=lambda row: (row.name, row.at, row.id))
    return paginate([_item(session, row) for row in rows], limit, offset)


@server.tool()
def schedule_scene(session: Session, scene_id: SceneId, at: TimeOfDay, days: Days) -> AutomationItem:
    """Let a scene run by itself at a time of day, in the home's local time.

    Args:
        scene_id: the scene, from list_scenes.
        at: the time of day, HH:MM.
        days: daily, weekdays or weekends.

    Raises:
        already_scheduled: the scene already runs at that time.
    """
    scene = scene_of(session, scene_id)
    _check_free(session, scene, at, days)
    row = Automation(session.new_id("AUT"), f"{scene.name} on {days}", scene.id, at, days, True)
    return _item(session, session.table(Automation).add(row))


@server.tool(idempotent=True)
def set_automation_status(session: Session, automation_id: AutomationId, status: ScheduleStatus) -> AutomationItem:
    """Pause a scene's schedule, or make a paused one active again.

    Args:
        automation_id: the schedule, from list_automations.
        status: active to let it run, paused to stop it for now.

    Raises:
        already_scheduled: another active schedule runs the scene at that time.
    """
    row = session.table(Automation).require(automation_id, "list_automations shows the valid ids.")
    if status == "active":
        _check_free(session, scene_of(session, row.scene_id), row.at, row.days, row.id)
    return _item(session, session.table(Automation).put(replace(row, enabled=status == "active")))
