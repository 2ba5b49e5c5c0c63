"""Records and error codes of the calendar."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from servers.calendar.recurrence import Weekday
from servers.kernel.store import Record
from servers.kernel.types import Entity

CalendarId: TypeAlias = Annotated[str, Entity("calendar")]
EventId: TypeAlias = Annotated[str, Entity("calendar_event")]
RoomId: TypeAlias = Annotated[str, Entity("meeting_room")]
EmailAddress: TypeAlias = Annotated[str, Entity("email_address", natural=True)]

Access: TypeAlias = Literal["owner", "editor", "viewer", "free_busy"]
Answer: TypeAlias = Literal["accepted", "declined", "tentative"]
Response: TypeAlias = Literal["needs_action", "accepted", "declined", "tentative"]
RoomStatus: TypeAlias = Literal["open", "closed"]


class Fault(StrEnum):
    """What the calendar refuses, beyond bad arguments and unknown ids."""

    READ_ONLY_CALENDAR = "read_only_calendar"
    DETAILS_HIDDEN = "details_hidden"
    NOT_ORGANIZER = "not_organizer"
    TIME_CONFLICT = "time_conflict"
    IN_THE_PAST = "in_the_past"
    SKIPPED_TIME = "skipped_time"
    EVENT_CANCELLED = "event_cancelled"
    EVENT_OVER = "event_over"
    NO_SUCH_OCCURRENCE = "no_such_occurrence"
    OCCURRENCE_EXISTS = "occurrence_exists"
    RULE_MISSES_START = "rule_misses_start"
    RULE_ENDS_TWICE = "rule_ends_twice"
    ALREADY_INVITED = "already_invited"
    NOT_INVITED = "not_invited"
    ROOM_TAKEN = "room_taken"
    ROOM_TOO_SMALL = "room_too_small"
    ROOM_CLOSED = "room_closed"
    SELF_INCLUDED = "self_included"
    SCHEDULE_NOT_SHARED = "schedule_not_shared"
    NO_COMMON_SLOT = "no_common_slot"
    TOO_MANY_REMINDERS = "too_many_reminders"
    REMINDER_TOO_LATE = "reminder_too_late"
    DATES_REVERSED = "dates_reversed"
    ALREADY_AWAY = "already_away"


@dataclass(frozen=True, slots=True)
class Person(Record):
    """Somebody with a calendar, keyed by e-mail address; working hours are in their own zone."""

    id: EmailAddress
    name: str
    zone: str
    work_from: time
    work_until: time
    work_days: tuple[Weekday, ...]
    shares_schedule: bool
    me: bool


@dataclass(frozen=True, slots=True)
class Calendar(Record):
    """A calendar that the user sees; `access` is what the user may do in it."""

    id: CalendarId
    name: str
    owner: EmailAddress
    access: Access


@dataclass(frozen=True, slots=True)
class Event(Record):
    """An event or a series. `first` and `at` are wall-clock values in `zone`; `rule` is RFC 5545 text or empty.

    `reminders` are minutes before the start, for the user alone.
    """

    id: EventId
    calendar_id: CalendarId
    title: str
    organizer: EmailAddress
    first: date
    at: time
    minutes: int
    zone: str
    rule: str
    room_id: str = ""
    cancelled: bool = False
    reminders: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Deviation(Record):
    """One occurrence of a series that differs: moved to `starts_at`, or dropped when that is None."""

    event_id: EventId
    original: date
    starts_at: datetime | None


@dataclass(frozen=True, slots=True)
class Invitation(Record):
    """A person's place in an event; the organizer has none."""

    event_id: EventId
    email: EmailAddress
    response: Response
    optional: bool


@dataclass(frozen=True, slots=True)
class Room(Record):
    """A meeting room; what books it are the events that name it."""

    id: RoomId
    name: str
    seats: int
    features: str
    status: RoomStatus


@dataclass(frozen=True, slots=True)
class Absence(Record):
    """Whole days, both included, on which a person is out of office."""

    email: EmailAddress
    starts_on: date
    ends_on: date
