"""Tools that look: calendars, people, events, a day, free times."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Annotated, get_args

from pydantic import Field

from servers.calendar.model import (
    Access,
    Calendar,
    CalendarId,
    EmailAddress,
    Event,
    EventId,
    Fault,
    Invitation,
    Person,
    Response,
)
from servers.calendar.recurrence import to_local, to_utc
from servers.calendar.rules import (
    Occurrence,
    busy,
    calendar_of,
    check_shared,
    me,
    next_occurrence,
    occurrences,
    person_of,
    readable_event,
    utc_day,
    works,
)
from servers.calendar.rules import away as away_on
from servers.calendar.server import server
from servers.calendar.views import (
    AgendaItem,
    CalendarItem,
    Colleague,
    EventDetails,
    EventItem,
    FreeBusy,
    Slot,
    agenda_item,
    colleague,
    event_details,
    event_item,
)
from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.types import Date

HALF_HOUR = timedelta(minutes=30)
RIGHTS: tuple[Access, ...] = get_args(Access)
"""From the most that the user may do in a calendar to the least."""

People = Annotated[list[EmailAddress], Field(min_length=1, max_length=8)]


@server.tool(read_only=True)
def list_calendars(session: Session, query: Query = "", limit: Limit = 5, offset: Offset = 0) -> Page[CalendarItem]:
    """List calendars with ids and rights: own ones first, then those to edit, then those to view, each by name.

    Only owner and editor may add events. Calendars that share only busy times appear in a search by name.

    Args:
        query: words of the calendar's name.
        limit: most calendars to return.
        offset: how many to skip.
    """
    rows = [row for row in session.table(Calendar).all() if query or row.access != "free_busy"]
    rows = search(rows, query, lambda row: row.name)
    rows.sort(key=lambda row: (RIGHTS.index(row.access), row.name, row.id))
    return paginate([CalendarItem(row.id, row.name, row.access) for row in rows], limit, offset)


@server.tool(read_only=True)
def list_colleagues(session: Session, query: Query = "", limit: Limit = 5, offset: Offset = 0) -> Page[Colleague]:
    """List other people with their e-mail address, working hours and absence. Ordered by name.

    Use it to find the address of somebody whom the user names.

    Args:
        query: words of the person's name or address.
        limit: most people to return.
        offset: how many to skip.
    """
    rows = search(session.table(Person).where(me=False), query, lambda row: f"{row.name} {row.id}")
    rows.sort(key=lambda row: (row.name, row.id))
    return paginate([colleague(session, row) for row in rows], limit, offset)


@server.tool(read_only=True)
def list_calendar_events(
    session: Session,
    query: Query = "",
    calendar_id: CalendarId | None = None,
    unanswered: bool = False,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[EventItem]:
    """List coming events and series with their ids, soonest first; search them by title.

    Each is shown once, by its next occurrence. What the user declined appears only in a search by title.

    Args:
        query: words of the title.
        calendar_id: only events of this calendar.
        unanswered: only invitations that the user has not answered.
        limit: most events to return.
        offset: how many to skip.

    Raises:
        details_hidden: the calendar shares only busy times.
    """
    if calendar_id is not None and calendar_of(session, calendar_id).access == "free_busy":
        raise ToolError(Fault.DETAILS_HIDDEN, "That calendar shares only busy times; use get_free_busy.")
    found: list[Occurrence] = []
    for event in search(_visible(session, declined=bool(query)), query, lambda row: row.title):
        if calendar_id not in (None, event.calendar_id) or (unanswered and _response(session, event) != "needs_action"):
            continue
        coming = next_occurrence(session, event)
        if coming is not None:
            found.append(coming)
    found.sort(key=lambda row: (row.start, row.event.id))
    return paginate([event_item(session, row.event, row) for row in found], limit, offset)


def _visible(session: Session, declined: bool) -> list[Event]:
    """Events that are not cancelled in the calendars that the user can read, with those that they declined or not."""
    open_calendars = [row.id for row in session.table(Calendar).all() if row.access != "free_busy"]
    events = [e for key in open_calendars for e in session.table(Event).where(calendar_id=key) if not e.cancelled]
    return [event for event in events if declined or _response(session, event) != "declined"]


def _response(session: Session, event: Event) -> Response | None:
    """The user's own answer, if they were invited."""
    invitation = session.table(Invitation).get(f"{event.id}/{me(session).id}")
    return invitation.response if invitation else None


@server.tool(read_only=True)
def get_calendar_event(session: Session, event_id: EventId) -> EventDetails:
    """Show one event: time, length, rule, room, and who has accepted or declined.

    Args:
        event_id: the event, from list_calendar_events.

    Raises:
        details_hidden: its calendar shares only busy times.
        event_cancelled: it was cancelled.
    """
    return event_details(session, readable_event(session, event_id))


@server.tool(read_only=True)
def get_day_agenda(session: Session, day: Date, limit: Limit = 10, offset: Offset = 0) -> Page[AgendaItem]:
    """Show what takes place on one day in the calendars that the user can read, by time; not what they declined.

    Args:
        day: the day.
        limit: most entries to return.
        offset: how many to skip.
    """
    low, high = utc_day(session, day)
    found = [o for event in _visible(session, declined=False) for o in occurrences(session, event, low, high)]
    found.sort(key=lambda row: (row.start, row.event.id))
    return paginate([agenda_item(session, row) for row in found], limit, offset)


@server.tool(read_only=True)
def get_free_busy(session: Session, attendee: EmailAddress, day: Date) -> FreeBusy:
    """Show when somebody is busy or away on a day, in the user's time zone.

    Args:
        attendee: the person, from list_colleagues.
        day: the day.

    Raises:
        schedule_not_shared: the person shares no schedule.
    """
    person = person_of(session, attendee)
    check_shared(person)
    low, high = utc_day(session, day)
    zone = me(session).zone
    spans: list[tuple[datetime, datetime]] = []
    for row in busy(session, person.id, low, high):
        start, end = max(row.start, low), min(row.end, high)
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], end))
        else:
            spans.append((start, end))
    texts = [f"{to_local(start, zone):%H:%M}-{to_local(end, zone):%H:%M}" for start, end in spans]
    return FreeBusy(person.id, day, texts, away_on(session, person.id, day) is not None)


@server.tool(read_only=True)
def find_common_slot(
    session: Session,
    people: People,
    minutes: Annotated[int, Field(ge=15, le=480)],
    day: Date,
    days: Annotated[int, Field(ge=1, le=14)] = 5,
    limit: Annotated[int, Field(ge=1, le=10)] = 3,
) -> Page[Slot]:
    """Find times when the user and others are free within everyone's working hours, soonest first.

    Args:
        people: addresses of the others, from list_colleagues.
        minutes: length of the meeting.
        day: the first day to look at.
        days: how many days to look at.
        limit: most times to return.

    Raises:
        self_included: the user is named among the others.
        schedule_not_shared: one of them shares no schedule.
        no_common_slot: nothing fits on these days.
    """
    user = me(session)
    if user.id in people:
        raise ToolError(Fault.SELF_INCLUDED, f"{user.id} is the user, who takes part anyway; name only the others.")
    group = {user.id: user, **{email: person_of(session, email) for email in people}}
    for person in group.values():
        check_shared(person)
    length = timedelta(minutes=minutes)
    found = [
        Slot(
            day + timedelta(days=n),
            f"{to_local(start, user.zone):%H:%M}",
            f"{to_local(start + length, user.zone):%H:%M}",
        )
        for n in range(days)
        for start in _free_starts(session, list(group.values()), day + timedelta(days=n), length)
    ]
    if not found:
        raise ToolError(
            Fault.NO_COMMON_SLOT,
            f"Nobody finds {minutes} minutes together in {days} days from {day}; "
            "try more days, a shorter meeting or fewer people.",
        )
    return Page(found[:limit], len(found))


def _free_starts(session: Session, group: list[Person], day: date, length: timedelta) -> list[datetime]:
    user = me(session)
    start, stop = to_utc(day, user.work_from, user.zone), to_utc(day, user.work_until, user.zone)
    taken = [o for person in group for o in busy(session, person.id, start, stop)]
    found = []
    while start + length <= stop:
        end = start + length
        free = all(o.start >= end or o.end <= start for o in taken)
        if free and start >= session.now and all(works(session, person, start, end) for person in group):
            found.append(start)
        start += HALF_HOUR
    return found
