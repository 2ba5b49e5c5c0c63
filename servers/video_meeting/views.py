"""What the meeting service's tools show."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from servers.video_meeting.model import MeetingId, MeetingState, ParticipantId, Presence, RecordingId


@dataclass(frozen=True, slots=True)
class MeetingSummary:
    """A meeting in a list."""

    id: MeetingId
    title: str
    host: str
    starts_at: datetime
    state: MeetingState


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A new meeting."""

    id: MeetingId
    title: str
    starts_at: datetime
    minutes: int
    capacity: int
    needs_passcode: bool


@dataclass(frozen=True, slots=True)
class Joined:
    """What became of an attempt to join."""

    participant_id: ParticipantId
    meeting: str
    state: Presence
    people: int


@dataclass(frozen=True, slots=True)
class ParticipantSummary:
    """Somebody at a meeting."""

    id: ParticipantId
    name: str
    meeting: str
    state: Presence
    muted: bool


@dataclass(frozen=True, slots=True)
class LockState:
    """Whether a meeting lets people in, and how many are there."""

    meeting_id: MeetingId
    locked: bool
    people: int
    capacity: int


@dataclass(frozen=True, slots=True)
class RecordingSummary:
    """A recording and until when it is kept, which is left out when it must be kept for legal reasons."""

    id: RecordingId
    meeting: str
    recorded_at: datetime
    minutes: int
    running: bool
    kept_until: date | None


@dataclass(frozen=True, slots=True)
class Removed:
    """Confirms that something is gone."""

    id: str
    removed: bool = True
