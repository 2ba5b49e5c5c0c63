"""Tools that create, move, repeat and cancel events."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, time, timedelta
from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from servers.calendar.model import CalendarId, Deviation, Event, EventId, Fault
from servers.calendar.recurrence import (
    WEEKDAYS,
    Frequency,
    Rule,
    Weekday,
    continued,
    occurs_on,
    parse_rule,
    to_local,
    to_utc,
    weekday_of,
)
from servers.calendar.rules import (
    Occurrence,
    ahead,
    check_conflict,
    check_room,
    editable_event,
    me,
    moment_of,
    occurrence_on,
    occurrences,
    readable_event,
    room_of,
    upcoming,
    writable_calendar,
)
from servers.calendar.server import server
from servers.calendar.views import Cancelled, EventItem, Reminders, event_item
from servers.kernel.errors import ToolError
from servers.kernel.session import Session
from servers.kernel.types import Date, TimeOfDay

MOST_REMINDERS = 3

Minutes = Annotated[int, Field(ge=5, le=1440)]


def _no_flag(value: object) -> object:
    """True equals 1 in Python, and is no number in JSON."""
    if isinstance(value, bool):
        raise ValueError("Input should be 1, 2, 3, 4 or -1")
    return value


Ordinal: TypeAlias = Annotated[Literal[1, 2, 3, 4, -1], BeforeValidator(_no_flag)]


@server.tool()
def create_calendar_event(
    session: Session,
    calendar_id: CalendarId,
    title: Annotated[str, Field(min_length=2, max_length=80)],
    day: Date,
    start_time: TimeOfDay,
    minutes: Minutes = 60,
    allow_conflict: bool = False,
) -> EventItem:
    """Create an event that happens once; set_event_recurrence makes it repeat.

    Args:
        calendar_id: a calendar with access owner or editor, from list_calendars.
        title: what it is called.
        day: the day.
        start_time: the start, in the user's wall-clock time.
        minutes: how long it lasts.
        allow_conflict: create it although the user is busy then.

    Raises:
        read_only_calendar: the calendar takes no events from the user.
        in_the_past: the time has passed.
        skipped_time: clocks jump over this time.
        time_conflict: the user is busy then.
    """
    writable_calendar(session, calendar_id)
    start = moment_of(session, day, start_time)
    user = me(session)
    event = Event(session.new_id("CEV"), calendar_id, title, user.id, day, start_time, minutes, user.zone, "")
    check_conflict(session, [Occurrence(event, day, start)], allow_conflict)
    session.table(Event).add(event)
    return event_item(session, event)


@server.tool()
def move_calendar_event(
    session: Session,
    event_id: EventId,
    day: Date,
    start_time: TimeOfDay,
    occurrence: Date | None = None,
    allow_conflict: bool = False,
) -> EventItem:
    """Move an event or a whole series to another day and time, or only one occurrence of a series.

    A series goes on from the new day; its past dates and single changes are forgotten.

    Args:
        event_id: the event, from list_calendar_events.
        day: the new day.
        start_time: the new start, in the user's wall-clock time.
        occurrence: the present day of the one occurrence to move; the whole series without it.
        allow_conflict: move it although the user is busy then.

    Raises:
        read_only_calendar: the user may not change this calendar.
        not_organizer: somebody else organises it.
        event_cancelled: it was cancelled.
        event_over: it lies in the past.
        no_such_occurrence: the series has none on that day.
        occurrence_exists: the series already takes place on the new day.
        in_the_past: the new time has passed.
        skipped_time: clocks jump over the new time.
        time_conflict: the user is busy then.
        room_taken: its room is taken then.
    """
    event = editable_event(session, event_id)
    start = moment_of(session, day, start_time)
    if occurrence is not None and event.rule:
        return _move_one(session, occurrence_on(session, event, occurrence), start, allow_conflict)
    if occurrence is not None:
        occurrence_on(session, event, occurrence)
    moved = _moved_series(upcoming(session, event), start)
    for change in session.table(Deviation).where(event_id=event.id):
        session.table(Deviation).remove(change.id)
    session.table(Event).put(moved)
    planned = ahead(session, moved)
    check_conflict(session, planned, allow_conflict)
    if moved.room_id:
        check_room(session, room_of(session, moved.room_id), planned)
    return event_item(session, moved)


def _moved_series(following: Occurrence, start: datetime) -> Event:
    """The rest of the event's series, which begins at `start`."""
    event = following.event
    local = to_local(start, event.zone)
    rule = parse_rule(event.rule) if event.rule else None
    rest = str(continued(rule, event.first, following.original, local.date())) if rule else ""
    return replace(event, first=local.date(), at=local.time(), rule=rest)


def _move_one(session: Session, old: Occurrence, start: datetime, allow_conflict: bool) -> EventItem:
    event, zone = old.event, me(session).zone
    if old.end <= session.now:
        raise ToolError(Fault.EVENT_OVER, f"That occurrence of {event.title} is over; choose one to come.")
    day = to_local(start, zone).date()
    midnight = to_utc(day, time(), zone)
    for other in occurrences(session, event, midnight, midnight + timedelta(days=1)):
        if other.original != old.original and to_local(other.start, zone).date() == day:
            raise ToolError(
                Fault.OCCURRENCE_EXISTS, f"{event.title} already takes place on {day}; choose a day without it."
            )
    moved = Occurrence(event, old.original, start)
    check_conflict(session, [moved], allow_conflict)
    if event.room_id:
        check_room(session, room_of(session, event.room_id), [moved])
    row = Deviation(f"{event.id}/{old.original}", event.id, old.original, start)
    session.table(Deviation).put(row)
    return event_item(session, event, moved)


@server.tool(destructive=True)
def cancel_calendar_event(session: Session, event_id: EventId, occurrence: Date | None = None) -> Cancelled:
    """Cancel an event or a whole series, or only the occurrence on one day.

    Args:
        event_id: the event, from list_calendar_events.
        occurrence: the day of the one occurrence to cancel; everything without it.

    Raises:
        read_only_calendar: the user may not change this calendar.
        not_organizer: somebody else organises it; decline it instead.
        event_cancelled: it was cancelled before.
        event_over: it lies in the past.
        no_such_occurrence: it has none on that day.
    """
    event = editable_event(session, event_id)
    upcoming(session, event)
    if occurrence is None or not event.rule:
        if occurrence is not None:
            occurrence_on(session, event, occurrence)
        session.table(Event).put(replace(event, cancelled=True))
        return Cancelled(event.id, event.title)
    found = occurrence_on(session, event, occurrence)
    if found.end <= session.now:
        raise ToolError(Fault.EVENT_OVER, f"{event.title} on {occurrence} is over; choose a later day.")
    session.table(Deviation).put(Deviation(f"{event.id}/{found.original}", event.id, found.original, None))
    return Cancelled(event.id, event.title, occurrence)


@server.tool(idempotent=True)
def set_event_recurrence(
    session: Session,
    event_id: EventId,
    frequency: Frequency,
    interval: Annotated[int, Field(ge=1, le=52)] = 1,
    weekdays: Annotated[list[Weekday] | None, Field(max_length=7)] = None,
    nth: Ordinal | None = None,
    count: Annotated[int, Field(ge=2, le=400)] | None = None,
    until: Date | None = None,
    allow_conflict: bool = False,
) -> EventItem:
    """Make an event repeat daily, weekly or monthly, or change how a series repeats.

    The series begins at the event's first day; earlier single changes to it are lost.

    Args:
        event_id: the event, from list_calendar_events or create_calendar_event.
        frequency: the period.
        interval: every so many periods.
        weekdays: on these weekdays; the event's own without it.
        nth: in a monthly series, which such weekday of the month, -1 for the last.
        count: how often in all.
        until: the last day.
        allow_conflict: repeat it although the user is busy at some of the times.

    Raises:
        read_only_calendar: the user may not change this calendar.
        not_organizer: somebody else organises it.
        event_cancelled: it was cancelled.
        event_over: the series would lie in the past.
        rule_ends_twice: both count and until are given.
        rule_misses_start: the event's first day does not fit the rule, or lies after until.
        time_conflict: the user is busy at one of the times.
        room_taken: its room is taken at one of the times.
    """
    event = editable_event(session, event_id)
    if count is not None and until is not None:
        raise ToolError(Fault.RULE_ENDS_TWICE, "Give either count or until, not both.")
    if until is not None and until < event.first:
        raise ToolError(
            Fault.RULE_MISSES_START, f"{event.title} starts on {event.first}; choose an until on or after that day."
        )
    days = tuple(sorted(set(weekdays or ()), key=WEEKDAYS.index))
    if nth is not None and not days:
        days = (weekday_of(event.first),)
    rule = Rule(frequency, interval, count, until, days, nth if frequency == "monthly" else None)
    if not occurs_on(rule, event.first, event.first):
        raise ToolError(
            Fault.RULE_MISSES_START,
            f"{event.title} starts on {event.first} ({weekday_of(event.first)}), which the rule leaves out. "
            "Include that day in the rule, or move the event first.",
        )
    for change in session.table(Deviation).where(event_id=event.id):
        session.table(Deviation).remove(change.id)
    series = session.table(Event).put(replace(event, rule=str(rule)))
    planned = ahead(session, series)
    check_conflict(session, planned, allow_conflict)
    if series.room_id:
        check_room(session, room_of(session, series.room_id), planned)
    return event_item(session, series)


@server.tool(idempotent=True)
def set_event_reminder(
    session: Session, event_id: EventId, minutes_before: Annotated[int, Field(ge=0, le=20_160)]
) -> Reminders:
    """Remind the user some minutes before an event; every occurrence of a series is reminded of.

    Args:
        event_id: the event, from list_calendar_events.
        minutes_before: how many minutes before the start.

    Raises:
        details_hidden: the user can't see the event.
        event_cancelled: it was cancelled.
        event_over: it lies in the past.
        reminder_too_late: that moment has passed already.
        too_many_reminders: it has three reminders.
    """
    event = readable_event(session, event_id)
    following = upcoming(session, event)
    if minutes_before in event.reminders:
        return Reminders(event.id, event.title, list(event.reminders))
    left = int((following.start - session.now).total_seconds() // 60)
    if minutes_before > left and not event.rule:
        raise ToolError(
            Fault.REMINDER_TOO_LATE,
            f"{event.title} begins in {max(left, 0)} minutes; choose at most that many minutes before.",
        )
    if len(event.reminders) >= MOST_REMINDERS:
        have = ", ".join(str(minutes) for minutes in event.reminders)
        raise ToolError(
            Fault.TOO_MANY_REMINDERS, f"{event.title} has {MOST_REMINDERS} reminders already: {have} minutes before."
        )
    reminders = tuple(sorted((*event.reminders, minutes_before)))
    session.table(Event).put(replace(event, reminders=reminders))
    return Reminders(event.id, event.title, list(reminders))
