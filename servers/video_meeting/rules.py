"""The rules of the meetings: what the clock has brought about, who has host rights, what fits."""

from __future__ import annotations

from datetime import datetime, timedelta

from servers.kernel.errors import ToolError
from servers.kernel.session import Session
from servers.kernel.store import shown
from servers.shared.people import user
from servers.video_meeting.model import Fault, Host, Meeting, MeetingState, Participant, Presence, Recording
from servers.video_meeting.seed import KEEP

OPENS_BEFORE = timedelta(minutes=10)
"""How long before its start a meeting can be joined."""
ADMITTED_AFTER = timedelta(minutes=5)
"""How long another host leaves the user in the waiting room."""
GIVES_UP_AFTER = timedelta(minutes=90)
"""How long others wait to be admitted."""


def me(session: Session) -> Host:
    """The account that the assistant acts for."""
    return session.table(Host).require(user(session.world.seed).username, "The user has an account.")


def meeting_of(session: Session, meeting_id: str) -> Meeting:
    """The meeting, or an error that says how to find one."""
    return session.table(Meeting).require(meeting_id, "list_video_meetings shows the valid meeting ids.")


def ends_at(meeting: Meeting) -> datetime:
    """When a meeting ends by plan."""
    return meeting.starts_at + timedelta(minutes=meeting.minutes)


def state_of(session: Session, meeting: Meeting) -> MeetingState:
    """Whether a meeting is planned, runs or is over."""
    if meeting.cancelled:
        return "cancelled"
    if session.now < meeting.starts_at:
        return "scheduled"
    return "live" if session.now < ends_at(meeting) else "over"


def is_host(session: Session, meeting: Meeting) -> bool:
    """Whether the user is the meeting's host or a co-host."""
    return me(session).id in (meeting.host, *meeting.co_hosts)


def check_host(session: Session, meeting: Meeting) -> None:
    """Refuse what only a host may do."""
    if not is_host(session, meeting):
        host = session.table(Host).require(meeting.host, "Every meeting has a host.")
        raise ToolError(
            Fault.NOT_HOST,
            f"{meeting.title} is hosted by {host.name}; only hosts and co-hosts may do that, so ask them.",
        )


def check_running(session: Session, meeting: Meeting, early: timedelta = timedelta()) -> None:
    """Refuse what needs a running meeting, or one that starts within `early`."""
    if meeting.cancelled:
        raise ToolError(
            Fault.MEETING_CANCELLED, f"{meeting.title} was cancelled; list_video_meetings shows the live ones."
        )
    if session.now >= ends_at(meeting):
        raise ToolError(
            Fault.MEETING_OVER,
            f"{meeting.title} ended at {ends_at(meeting):%Y-%m-%d %H:%M} UTC; nothing can be done there.",
        )
    opens_at = meeting.starts_at - early
    if session.now < opens_at:
        raise ToolError(
            Fault.MEETING_NOT_OPEN, f"{meeting.title} has not begun; try again from {opens_at:%Y-%m-%d %H:%M} UTC on."
        )


def presence_of(session: Session, meeting: Meeting, participant: Participant) -> Presence:
    """Where somebody is now: hosts let the user in, others give up waiting, and a meeting ends."""
    if participant.state not in ("waiting", "joined"):
        return participant.state
    if state_of(session, meeting) == "over":
        return "left"
    waited = session.now - participant.since
    if participant.state == "waiting":
        if participant.name == me(session).name:
            return "joined" if waited >= ADMITTED_AFTER and not meeting.locked else "waiting"
        return "left" if waited >= GIVES_UP_AFTER else "waiting"
    return "joined"


def present(session: Session, meeting: Meeting) -> int:
    """How many people are in a meeting now."""
    rows = session.table(Participant).where(meeting_id=meeting.id)
    return sum(presence_of(session, meeting, row) == "joined" for row in rows)


def check_room(session: Session, meeting: Meeting) -> None:
    """Refuse to let anybody into a locked or full meeting."""
    if meeting.locked:
        raise ToolError(
            Fault.MEETING_LOCKED, f"{meeting.title} is locked; a host must unlock it with set_meeting_lock first."
        )
    if present(session, meeting) >= meeting.capacity:
        raise ToolError(
            Fault.MEETING_FULL,
            f"{meeting.title} holds {meeting.capacity} people and is full; somebody must leave first.",
        )


def participant_of(session: Session, participant_id: str) -> tuple[Meeting, Participant]:
    """A participant with their running meeting."""
    row = session.table(Participant).require(participant_id, "list_meeting_participants shows the valid ids.")
    meeting = meeting_of(session, row.meeting_id)
    check_running(session, meeting)
    return meeting, row


def length(session: Session, recording: Recording) -> int:
    """Minutes of a recording; a running one ends with its meeting."""
    last = min(session.now, ends_at(meeting_of(session, recording.meeting_id)))
    return max(int(((recording.ended_at or last) - recording.started_at).total_seconds()) // 60, 0)


def runs(session: Session, recording: Recording) -> bool:
    """Whether a recording still runs."""
    meeting = meeting_of(session, recording.meeting_id)
    return recording.ended_at is None and state_of(session, meeting) == "live"


def expires_at(recording: Recording) -> datetime:
    """When a recording is deleted by itself, unless it is held."""
    return recording.started_at + KEEP


def is_kept(session: Session, recording: Recording) -> bool:
    """Whether a recording is still there."""
    return recording.held or session.now < expires_at(recording)


def recordings_of(session: Session, host: Host) -> list[Recording]:
    """Recordings of all meetings that somebody hosts, as far as they are still there."""
    hosted = {meeting.id for meeting in session.table(Meeting).where(host=host.id)}
    return [row for row in session.table(Recording).all() if row.meeting_id in hosted and is_kept(session, row)]


def check_storage(session: Session, meeting: Meeting) -> None:
    """Refuse to record when the host's storage is full."""
    host = session.table(Host).require(meeting.host, "Every meeting has a host.")
    used = sum(length(session, row) for row in recordings_of(session, host))
    if used >= host.storage_minutes:
        raise ToolError(
            Fault.STORAGE_FULL,
            f"The recordings of {host.name} fill {used} of {host.storage_minutes} minutes; "
            "delete_meeting_recording makes room.",
        )


def check_plan(session: Session, starts_at: datetime, minutes: int, capacity: int) -> None:
    """Refuse a new meeting that the user's plan or calendar doesn't allow."""
    host = me(session)
    if starts_at <= session.now:
        raise ToolError(
            Fault.STARTS_IN_PAST, f"It is {session.now:%Y-%m-%d %H:%M} UTC; give a later start, at most a year ahead."
        )
    if starts_at > session.now + timedelta(days=366) or minutes > host.max_minutes or capacity > host.max_people:
        raise ToolError(
            Fault.PLAN_LIMIT_EXCEEDED,
            f"The {host.plan} plan allows {host.max_minutes} minutes and {host.max_people} people, up to a year ahead.",
        )
    for other in session.table(Meeting).where(host=host.id, cancelled=False):
        if starts_at < ends_at(other) and other.starts_at < starts_at + timedelta(minutes=minutes):
            raise ToolError(
                Fault.TIME_CONFLICT,
                f"You host {shown(other.title)} from {other.starts_at:%Y-%m-%d %H:%M} to {ends_at(other):%H:%M} UTC; "
                "choose another time.",
            )
