"""Records and error codes of the video meetings."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from servers.kernel.store import Record
from servers.kernel.types import Entity, Hidden, Sensitive

MeetingId: TypeAlias = Annotated[str, Entity("video_meeting")]
ParticipantId: TypeAlias = Annotated[str, Entity("meeting_participant")]
RecordingId: TypeAlias = Annotated[str, Entity("meeting_recording")]

MeetingState: TypeAlias = Literal["live", "scheduled", "over", "cancelled"]
Presence: TypeAlias = Literal["waiting", "joined", "left", "removed"]
Passcode: TypeAlias = Annotated[str, Sensitive(), Field(pattern=r"^\d{6}$")]


class Fault(StrEnum):
    """What the meeting service refuses, beyond bad arguments and unknown ids."""

    WRONG_PASSCODE = "wrong_passcode"
    MEETING_NOT_OPEN = "meeting_not_open"
    MEETING_OVER = "meeting_over"
    MEETING_CANCELLED = "meeting_cancelled"
    MEETING_FULL = "meeting_full"
    MEETING_LOCKED = "meeting_locked"
    ALREADY_JOINED = "already_joined"
    REMOVED_BY_HOST = "removed_by_host"
    NOT_HOST = "not_host"
    NOT_WAITING = "not_waiting"
    NOT_IN_CALL = "not_in_call"
    CANNOT_UNMUTE_OTHERS = "cannot_unmute_others"
    ALREADY_RECORDING = "already_recording"
    NOT_RECORDING = "not_recording"
    RECORDING_NOT_ALLOWED = "recording_not_allowed"
    RECORDING_RUNNING = "recording_running"
    RECORDING_HELD = "recording_held"
    RECORDING_EXPIRED = "recording_expired"
    STORAGE_FULL = "storage_full"
    STARTS_IN_PAST = "starts_in_past"
    TIME_CONFLICT = "time_conflict"
    PLAN_LIMIT_EXCEEDED = "plan_limit_exceeded"


@dataclass(frozen=True, slots=True)
class Host(Record):
    """Somebody with an account, and what their plan allows; the id is the user name."""

    id: str
    name: str
    plan: Literal["basic", "business"]
    max_minutes: int
    max_people: int
    storage_minutes: int


@dataclass(frozen=True, slots=True)
class Meeting(Record):
    """A planned, running or past meeting; which of these follows from the clock.

    `locked` meetings let nobody in. With a waiting room, whoever joins waits for a host. Co-hosts have
    the host's rights. An empty passcode means that none is needed.
    """

    id: MeetingId
    title: str
    host: str
    co_hosts: tuple[str, ...]
    starts_at: datetime
    minutes: int
    capacity: int
    waiting_room: bool
    locked: bool
    recording_allowed: bool
    cancelled: bool
    passcode: Annotated[str, Hidden]


@dataclass(frozen=True, slots=True)
class Participant(Record):
    """Somebody who came to a meeting. `since` is when their state last changed."""

    id: ParticipantId
    meeting_id: MeetingId
    name: str
    state: Presence
    muted: bool
    since: datetime


@dataclass(frozen=True, slots=True)
class Recording(Record):
    """A recording of a meeting; without `ended_at` it runs. `held` ones are kept for legal reasons."""

    id: RecordingId
    meeting_id: MeetingId
    started_at: datetime
    ended_at: datetime | None
    held: bool
