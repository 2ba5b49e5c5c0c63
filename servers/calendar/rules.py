"""When events happen, who is busy, and what the user may change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from servers.calendar.model import (
    Absence,
    Calendar,
    Deviation,
    Event,
    Fault,
    Invitation,
    Person,
    Room,
)
from servers.calendar.recurrence import dates_between, is_skipped, parse_rule, to_local, to_utc, weekday_of
from servers.kernel.errors import ToolError
from servers.kernel.session import Session

HORIZON = timedelta(days=60)
"""How far ahead the occurrences of a series are checked against other events."""

DAY = timedelta(days=1)
FAR = timedelta(days=5 * 366)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One happening of an event; `original` is the civil date that its rule gave it."""

    event: Event
    original: date
    start: datetime

    @property
    def end(self) -> datetime:
        """When it is over."""
        return self.start + timedelta(minutes=self.event.minutes)


def me(session: Session) -> Person:
    """The user whom the assistant serves."""
    return session.table(Person).where(me=True)[0]


def person_of(session: Session, email: str) -> Person:
    """The person, or an error that says how to find one."""
    return session.table(Person).require(email, "list_colleagues shows the known addresses.")


def calendar_of(session: Session, calendar_id: str) -> Calendar:
    """The calendar, or an error that says how to find one."""
    return session.table(Calendar).require(calendar_id, "list_calendars shows the valid ids.")


def room_of(session: Session, room_id: str) -> Room:
    """The room, or an error that says how to find one."""
    return session.table(Room).require(room_id, "list_meeting_rooms shows the valid ids.")


def readable_event(session: Session, event_id: str) -> Event:
    """An event whose details the user may see and that is not cancelled."""
    event = session.table(Event).require(event_id, "list_calendar_events shows the valid ids.")
    calendar = calendar_of(session, event.calendar_id)
    if calendar.access == "free_busy":
        raise ToolError(
            Fault.DETAILS_HIDDEN,
            f"{calendar.name} shares only busy times; get_free_busy for {calendar.owner} shows them.",
        )
    if event.cancelled:
        raise ToolError(Fault.EVENT_CANCELLED, f"{event.title} was cancelled; create_calendar_event makes a new one.")
    return event


def writable_calendar(session: Session, calendar_id: str) -> Calendar:
    """A calendar in which the user may create and change events."""
    calendar = calendar_of(session, calendar_id)
    if calendar.access not in ("owner", "editor"):
        good = [c.name for c in session.table(Calendar).all() if c.access in ("owner", "editor")]
        raise ToolError(
            Fault.READ_ONLY_CALENDAR, f"{calendar.name} can only be viewed; you may write to {', '.join(good)}."
        )
    return calendar


def editable_event(session: Session, event_id: str) -> Event:
    """An event that the user may change: in a writable calendar, and organised by the user or its owner."""
    event = readable_event(session, event_id)
    calendar = writable_calendar(session, event.calendar_id)
    if event.organizer not in (me(session).id, calendar.owner):
        raise ToolError(
            Fault.NOT_ORGANIZER,
            f"{event.title} is organised by {event.organizer}; you can only answer with respond_to_invitation.",
        )
    return event


def occurrences(session: Session, event: Event, low: datetime, high: datetime) -> list[Occurrence]:
    """What happens of an event between two moments, by start; an overlap of any length counts."""
    if event.cancelled:
        return []
    length = timedelta(minutes=event.minutes)
    found = []
    changes = session.table(Deviation).where(event_id=event.id) if event.rule else []
    changed = {change.original for change in changes}
    for day in _dates(event, (low - length - DAY).date(), (high + DAY).date()):
        if day not in changed:
            found.append(Occurrence(event, day, to_utc(day, event.at, event.zone)))
    found += [Occurrence(event, c.original, c.starts_at) for c in changes if c.starts_at is not None]
    inside = [o for o in found if o.start < high and o.end > low]
    return sorted(inside, key=lambda o: (o.start, o.original))


def _dates(event: Event, low: date, high: date) -> Iterable[date]:
    if event.rule:
        return dates_between(parse_rule(event.rule), event.first, low, high)
    return [event.first] if low <= event.first <= high else []


def next_occurrence(session: Session, event: Event) -> Occurrence | None:
    """The occurrence that is running or comes next; None when the event is over."""
    if not event.rule:
        only = Occurrence(event, event.first, to_utc(event.first, event.at, event.zone))
        return only if only.end > session.now else None
    moved = session.table(Deviation).where(event_id=event.id)
    changed = {change.original for change in moved}
    coming = [Occurrence(event, c.original, c.starts_at) for c in moved if c.starts_at is not None]
    for day in _dates(event, session.now.date() - 2 * DAY, (session.now + FAR).date()):
        plain = Occurrence(event, day, to_utc(day, event.at, event.zone))
        if day not in changed and plain.end > session.now:
            coming.append(plain)
            break
    coming = [o for o in coming if o.end > session.now]
    return min(coming, key=lambda o: o.start, default=None)


def upcoming(session: Session, event: Event) -> Occurrence:
    """The next occurrence, or an error when the event is over."""
    found = next_occurrence(session, event)
    if found is None:
        raise ToolError(Fault.EVENT_OVER, f"{event.title} is over; choose one that is still to come.")
    return found


def ahead(session: Session, event: Event) -> list[Occurrence]:
    """The next occurrence and those of the following 60 days."""
    start = upcoming(session, event).start
    return [o for o in occurrences(session, event, start, start + HORIZON) if o.end > session.now]


def occurrence_on(session: Session, event: Event, day: date) -> Occurrence:
    """The occurrence that begins on this day of the user's wall clock."""
    zone = me(session).zone
    start = to_utc(day, time(), zone)
    for found in occurrences(session, event, start, start + 2 * DAY):
        if to_local(found.start, zone).date() == day:
            return found
    near = next_occurrence(session, event)
    hint = f"the next one is on {to_local(near.start, zone):%Y-%m-%d}" if near else "it is over"
    raise ToolError(Fault.NO_SUCH_OCCURRENCE, f"{event.title} doesn't take place on {day}; {hint}.")


def moment_of(session: Session, day: date, at: time) -> datetime:
    """A future moment from what the user's wall clock will show."""
    zone = me(session).zone
    if is_skipped(day, at, zone):
        raise ToolError(
            Fault.SKIPPED_TIME,
            f"On {day} clocks in {zone} jump over {at:%H:%M} as summer time begins; choose another time.",
        )
    moment = to_utc(day, at, zone)
    if moment < session.now:
        now = to_local(session.now, zone)
        raise ToolError(Fault.IN_THE_PAST, f"It is {now:%Y-%m-%d %H:%M} now in {zone}; choose a later time.")
    return moment


def attended(session: Session, email: str) -> Iterator[Event]:
    """Events that take a person's time: those they organise, and those they said yes or maybe to."""
    yield from session.table(Event).where(organizer=email)
    for invitation in session.table(Invitation).where(email=email):
        if invitation.response in ("accepted", "tentative"):
            event = session.table(Event).get(invitation.event_id)
            if event is not None:
                yield event


def busy(session: Session, email: str, low: datetime, high: datetime) -> list[Occurrence]:
    """What keeps a person busy between two moments, by start."""
    found = [o for event in attended(session, email) for o in occurrences(session, event, low, high)]
    return sorted(found, key=lambda o: (o.start, o.event.id))


def check_conflict(session: Session, planned: list[Occurrence], allow_conflict: bool) -> None:
    """Refuse occurrences that overlap something that the user attends, unless they may."""
    if allow_conflict or not planned:
        return
    user = me(session)
    others = busy(session, user.id, planned[0].start, max(o.end for o in planned))
    for mine in planned:
        for other in others:
            if other.event.id != mine.event.id and other.start < mine.end and other.end > mine.start:
                when = to_local(other.start, user.zone)
                until = to_local(other.end, user.zone)
                raise ToolError(
                    Fault.TIME_CONFLICT,
                    f"{other.event.title} is on {when:%Y-%m-%d %H:%M}-{until:%H:%M}. "
                    "Choose another time, or set allow_conflict if the user wants both.",
                )


def room_clash(session: Session, room: Room, planned: list[Occurrence]) -> Occurrence | None:
    """The first other occurrence that has the room at a planned time."""
    if not planned:
        return None
    low, high = planned[0].start, max(o.end for o in planned)
    taken = [
        other
        for event in session.table(Event).where(room_id=room.id)
        if event.id != planned[0].event.id
        for other in occurrences(session, event, low, high)
    ]
    taken.sort(key=lambda o: (o.start, o.event.id))
    return next((o for mine in planned for o in taken if o.start < mine.end and o.end > mine.start), None)


def check_room(session: Session, room: Room, planned: list[Occurrence]) -> None:
    """Refuse a room that somebody else has at one of the planned times."""
    clash = room_clash(session, room, planned)
    if clash is not None:
        zone = me(session).zone
        start, end = to_local(clash.start, zone), to_local(clash.end, zone)
        raise ToolError(
            Fault.ROOM_TAKEN,
            f"{room.name} is taken on {start:%Y-%m-%d %H:%M}-{end:%H:%M}; "
            "list_meeting_rooms with this event_id shows rooms that are free.",
        )


def heads(session: Session, event: Event) -> int:
    """How many people may come: the organizer and everyone who has not declined."""
    guests = session.table(Invitation).where(event_id=event.id)
    return 1 + sum(guest.response != "declined" for guest in guests)


def away(session: Session, email: str, day: date) -> Absence | None:
    """The absence that covers a day."""
    rows = session.table(Absence).where(email=email)
    return next((row for row in rows if row.starts_on <= day <= row.ends_on), None)


def works(session: Session, person: Person, start: datetime, end: datetime) -> bool:
    """Whether a time lies within one working day of a person who isn't away."""
    begin, finish = to_local(start, person.zone), to_local(end, person.zone)
    return (
        begin.date() == finish.date()
        and weekday_of(begin.date()) in person.work_days
        and person.work_from <= begin.time()
        and finish.time() <= person.work_until
        and away(session, person.id, begin.date()) is None
    )


def check_shared(person: Person) -> None:
    """Refuse to look into a schedule that isn't shared."""
    if not person.shares_schedule:
        raise ToolError(
            Fault.SCHEDULE_NOT_SHARED,
            f"{person.name} does not share a schedule; leave them out and invite them with invite_to_event.",
        )


def utc_day(session: Session, day: date) -> tuple[datetime, datetime]:
    """The beginning and the end of a day of the user's wall clock, in UTC."""
    zone = me(session).zone
    return to_utc(day, time(), zone), to_utc(day + DAY, time(), zone).astimezone(UTC)
