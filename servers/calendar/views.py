"""What the calendar's tools return."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from servers.calendar.model import (
    Access,
    CalendarId,
    EmailAddress,
    Event,
    EventId,
    Invitation,
    Person,
    Response,
    Room,
    RoomId,
    RoomStatus,
)
from servers.calendar.recurrence import parse_rule, to_local, to_utc
from servers.calendar.rules import Occurrence, away, me, next_occurrence
from servers.kernel.session import Session


@dataclass(frozen=True, slots=True)
class CalendarItem:
    """A calendar in a list."""

    id: CalendarId
    name: str
    access: Access


@dataclass(frozen=True, slots=True)
class Colleague:
    """A person in a list; `works` are hours of their own day."""

    email: EmailAddress
    name: str
    zone: str
    works: str
    away_until: date | None = None


@dataclass(frozen=True, slots=True)
class EventItem:
    """An event by its next occurrence, in the user's wall-clock time."""

    id: EventId
    title: str
    on: date
    at: str
    repeats: str | None = None


@dataclass(frozen=True, slots=True)
class Invitee:
    """One invited person's answer."""

    email: EmailAddress
    response: Response


@dataclass(frozen=True, slots=True)
class EventDetails:
    """One event; empty parts are left out.

    `organizer` is absent when it is the user; `invitees` are the others, `my_response` is the user's own answer.
    """

    id: EventId
    title: str
    on: date
    at: str
    minutes: int
    organizer: EmailAddress | None = None
    my_response: Response | None = None
    invitees: list[Invitee] | None = None
    repeats: str | None = None
    room: str | None = None
    reminders: list[int] | None = None


@dataclass(frozen=True, slots=True)
class AgendaItem:
    """An occurrence on a day."""

    id: EventId
    title: str
    at: str
    until: str
    room: str | None = None


@dataclass(frozen=True, slots=True)
class FreeBusy:
    """A person's day in the user's wall-clock time."""

    email: EmailAddress
    on: date
    busy: list[str]
    away: bool


@dataclass(frozen=True, slots=True)
class Slot:
    """A time that suits everyone, in the user's wall-clock time."""

    on: date
    at: str
    until: str


@dataclass(frozen=True, slots=True)
class RoomItem:
    """A room in a list."""

    id: RoomId
    name: str
    seats: int
    features: str
    status: RoomStatus


@dataclass(frozen=True, slots=True)
class Booked:
    """A room that an event has now."""

    event_id: EventId
    room_id: RoomId
    room: str
    on: date
    at: str


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Confirms a cancellation: of one date, or of the whole event when `on` is absent."""

    event_id: EventId
    title: str
    on: date | None = None
    cancelled: bool = True


@dataclass(frozen=True, slots=True)
class Invited:
    """A new or answered invitation; somebody who is away declines at once."""

    event_id: EventId
    email: EmailAddress
    response: Response


@dataclass(frozen=True, slots=True)
class Reminders:
    """When the user is reminded of an event."""

    event_id: EventId
    title: str
    reminders: list[int]


@dataclass(frozen=True, slots=True)
class AwayNotice:
    """An absence, and how many invitations were declined for it."""

    starts_on: date
    ends_on: date
    declined: int


def event_item(session: Session, event: Event, occurrence: Occurrence | None = None) -> EventItem:
    """An event by a given occurrence, its next one, or its first when it is over."""
    shown = occurrence or next_occurrence(session, event)
    start = shown.start if shown else to_utc(event.first, event.at, event.zone)
    local = to_local(start, me(session).zone)
    repeats = parse_rule(event.rule).frequency if event.rule else None
    return EventItem(event.id, event.title, local.date(), f"{local:%H:%M}", repeats)


def event_details(session: Session, event: Event) -> EventDetails:
    """Everything about one event."""
    item, user = event_item(session, event), me(session)
    guests = sorted(session.table(Invitation).where(event_id=event.id), key=lambda guest: guest.email)
    room = session.table(Room).get(event.room_id) if event.room_id else None
    return EventDetails(
        id=event.id,
        title=event.title,
        on=item.on,
        at=item.at,
        minutes=event.minutes,
        organizer=event.organizer if event.organizer != user.id else None,
        my_response=next((guest.response for guest in guests if guest.email == user.id), None),
        invitees=[Invitee(guest.email, guest.response) for guest in guests if guest.email != user.id] or None,
        repeats=event.rule or None,
        room=room.name if room else None,
        reminders=list(event.reminders) or None,
    )


def agenda_item(session: Session, occurrence: Occurrence) -> AgendaItem:
    """One line of a day's agenda."""
    zone = me(session).zone
    event = occurrence.event
    room = session.table(Room).get(event.room_id) if event.room_id else None
    start, end = to_local(occurrence.start, zone), to_local(occurrence.end, zone)
    return AgendaItem(event.id, event.title, f"{start:%H:%M}", f"{end:%H:%M}", room.name if room else None)


def colleague(session: Session, person: Person) -> Colleague:
    """A person with the hours that they work."""
    absence = away(session, person.id, session.now.date())
    hours = f"{person.work_from:%H:%M}-{person.work_until:%H:%M}"
    return Colleague(person.id, person.name, person.zone, hours, absence.ends_on if absence else None)
