"""The meeting service's tools."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.server import Known, ToolServer
from servers.kernel.session import Session
from servers.kernel.types import DateTime
from servers.video_meeting.model import (
    Fault,
    Host,
    Meeting,
    MeetingId,
    MeetingState,
    Participant,
    ParticipantId,
    Passcode,
    Presence,
    Recording,
    RecordingId,
)
from servers.video_meeting.rules import (
    OPENS_BEFORE,
    check_host,
    check_plan,
    check_room,
    check_running,
    check_storage,
    expires_at,
    is_host,
    is_kept,
    length,
    me,
    meeting_of,
    participant_of,
    presence_of,
    present,
    recordings_of,
    runs,
    state_of,
)
from servers.video_meeting.seed import build
from servers.video_meeting.views import (
    Joined,
    LockState,
    MeetingSummary,
    ParticipantSummary,
    RecordingSummary,
    Removed,
    Scheduled,
)

_ORDER: dict[MeetingState, int] = {"live": 0, "scheduled": 1, "over": 2, "cancelled": 3}


def knows(session: Session) -> Iterator[Known]:
    """The user has the passcode of each invitation that has one, and a favourite one for new meetings."""
    yield Known("new_passcode", f"{284_000 + session.world.seed % 1000:06d}")
    for meeting in session.table(Meeting).all():
        if meeting.passcode:
            yield Known("passcode", meeting.passcode, meeting.id)


server = ToolServer(
    "video_meeting",
    "Video meetings with waiting rooms, participants and recordings",
    records=(Host, Meeting, Participant, Recording),
    seed=build,
    faults=Fault,
    knows=knows,
)


def participant_summary(session: Session, meeting: Meeting, row: Participant) -> ParticipantSummary:
    """Somebody as a list shows them."""
    return ParticipantSummary(row.id, row.name, meeting.title, presence_of(session, meeting, row), row.muted)


def recording_summary(session: Session, row: Recording) -> RecordingSummary:
    """A recording as a list shows it."""
    title, minutes = meeting_of(session, row.meeting_id).title, length(session, row)
    kept_until = None if row.held else expires_at(row).date()
    return RecordingSummary(row.id, title, row.started_at, minutes, runs(session, row), kept_until)


@server.tool(read_only=True)
def list_video_meetings(
    session: Session,
    query: Query = "",
    state: MeetingState | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[MeetingSummary]:
    """List video meetings with their ids, live ones first, then those to come.

    Use it first whenever a request names a meeting. Ordered by state; to come soonest first, others
    latest first, then by id.

    Args:
        query: words of the title or the host's name.
        state: only meetings in this state.
        limit: most meetings to return.
        offset: how many to skip.
    """
    names = {host.id: host.name for host in session.table(Host).all()}
    rows = [
        MeetingSummary(m.id, m.title, names[m.host], m.starts_at, state_of(session, m))
        for m in search(session.table(Meeting).all(), query, lambda m: f"{m.title} {names[m.host]}")
    ]
    rows = [row for row in rows if state in (None, row.state)]
    rows.sort(key=order)
    return paginate(rows, limit, offset)


def order(row: MeetingSummary) -> tuple[int, float, str]:
    """Where a meeting stands in a list."""
    start = row.starts_at.timestamp()
    return (_ORDER[row.state], start if row.state == "scheduled" else -start, row.id)


@server.tool()
def schedule_video_meeting(
    session: Session,
    title: Annotated[str, Field(min_length=2, max_length=80)],
    starts_at: DateTime,
    minutes: Annotated[int, Field(ge=10, le=600)],
    new_passcode: Passcode | None = None,
    capacity: Annotated[int, Field(ge=2, le=500)] = 20,
    waiting_room: bool = True,
) -> Scheduled:
    """Schedule a video meeting that the user hosts.

    Args:
        title: what it is about.
        starts_at: when it begins, ISO 8601, in UTC unless it has an offset.
        minutes: how long it lasts.
        new_passcode: six digits that guests must give; none if left out.
        capacity: most people at once.
        waiting_room: whether guests wait to be admitted.

    Raises:
        starts_in_past: the start is not in the future.
        plan_limit_exceeded: too long, too many people, or too far ahead for the user's plan.
        time_conflict: the user hosts another meeting then.
    """
    check_plan(session, starts_at, minutes, capacity)
    row = Meeting(
        id=session.new_id("VMTG"),
        title=title,
        host=me(session).id,
        co_hosts=(),
        starts_at=starts_at,
        minutes=minutes,
        capacity=capacity,
        waiting_room=waiting_room,
        locked=False,
        recording_allowed=True,
        cancelled=False,
        passcode=new_passcode or "",
    )
    session.table(Meeting).add(row)
    return Scheduled(row.id, title, starts_at, minutes, capacity, bool(new_passcode))


@server.tool()
def join_video_meeting(session: Session, meeting_id: MeetingId, passcode: Passcode | None = None) -> Joined:
    """Join a meeting, from ten minutes before its start; this leaves any other meeting.

    With a waiting room, guests wait until a host lets them in. Hosts need no passcode.

    Args:
        meeting_id: the meeting, from list_video_meetings.
        passcode: its six digits as the user said them.

    Raises:
        meeting_cancelled: it will not take place.
        meeting_not_open: it starts later.
        meeting_over: it has ended.
        already_joined: the user is in it or waits already.
        removed_by_host: a host has put the user out.
        wrong_passcode: the passcode is missing or not the meeting's.
        meeting_locked: nobody is let in.
        meeting_full: nobody else fits in.
    """
    meeting, own = meeting_of(session, meeting_id), me(session)
    check_running(session, meeting, OPENS_BEFORE)
    table, hosting = session.table(Participant), is_host(session, meeting)
    before = {row.meeting_id: row for row in table.where(name=own.name)}
    old = before.get(meeting.id)
    check_welcome(session, meeting, old, passcode)
    check_room(session, meeting)
    for row in before.values():
        if row.state in ("joined", "waiting"):
            table.put(replace(row, state="left", since=session.now))
    state: Presence = "waiting" if meeting.waiting_room and not hosting else "joined"
    key = old.id if old else session.new_id("VPRT")
    table.put(Participant(key, meeting.id, own.name, state, True, session.now))
    return Joined(key, meeting.title, state, present(session, meeting))


def check_welcome(session: Session, meeting: Meeting, old: Participant | None, passcode: str | None) -> None:
    """Refuse a user who is there already, was put out, or lacks the passcode; hosts always get in."""
    there, hosting = presence_of(session, meeting, old) if old else "left", is_host(session, meeting)
    if there in ("joined", "waiting"):
        raise ToolError(Fault.ALREADY_JOINED, f"You are already in {meeting.title} ({there}); there is nothing to do.")
    if there == "removed" and not hosting:
        raise ToolError(
            Fault.REMOVED_BY_HOST, f"A host removed you from {meeting.title}; only they can invite you again."
        )
    if meeting.passcode and not hosting and passcode != meeting.passcode:
        raise ToolError(
            Fault.WRONG_PASSCODE, f"That is not the passcode of {meeting.title}. Ask the user; never guess."
        )


@server.tool(read_only=True)
def list_meeting_participants(
    session: Session,
    meeting_id: MeetingId,
    query: Query = "",
    state: Presence | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[ParticipantSummary]:
    """List who is in a meeting, who waits and who left, with their ids. Ordered by name.

    Args:
        meeting_id: the meeting, from list_video_meetings.
        query: words of the participant's name.
        state: only those who wait, are in, have left or were removed.
        limit: most people to return.
        offset: how many to skip.
    """
    meeting = meeting_of(session, meeting_id)
    rows = search(session.table(Participant).where(meeting_id=meeting_id), query, lambda row: row.name)
    rows.sort(key=lambda row: (row.name, row.id))
    people = [participant_summary(session, meeting, row) for row in rows]
    return paginate([person for person in people if state in (None, person.state)], limit, offset)


@server.tool()
def admit_meeting_participant(session: Session, participant_id: ParticipantId) -> ParticipantSummary:
    """Let somebody in from the waiting room of a meeting that the user hosts or co-hosts.

    Args:
        participant_id: who is let in, from list_meeting_participants.

    Raises:
        meeting_not_open: it has not begun.
        meeting_over: it has ended.
        meeting_cancelled: it will not take place.
        not_host: the user is no host of the meeting.
        not_waiting: the person is not in the waiting room.
        meeting_locked: the meeting is locked.
        meeting_full: nobody else fits in.
    """
    meeting, row = participant_of(session, participant_id)
    check_host(session, meeting)
    there = presence_of(session, meeting, row)
    if there != "waiting":
        raise ToolError(
            Fault.NOT_WAITING,
            f"{row.name} is not waiting ({there}); list_meeting_participants with state waiting shows who is.",
        )
    check_room(session, meeting)
    admitted = session.table(Participant).put(replace(row, state="joined", since=session.now))
    return participant_summary(session, meeting, admitted)


@server.tool(idempotent=True)
def set_participant_mute(
    session: Session, participant_id: ParticipantId, action: Literal["mute", "unmute"]
) -> ParticipantSummary:
    """Mute somebody in a meeting that the user hosts; unmuting works for oneself only.

    Args:
        participant_id: whose microphone, from list_meeting_participants.
        action: mute or unmute.

    Raises:
        meeting_not_open: it has not begun.
        meeting_over: it has ended.
        meeting_cancelled: it will not take place.
        not_host: only hosts mute others.
        not_in_call: the person is not in the meeting now.
        cannot_unmute_others: people unmute themselves.
    """
    meeting, row = participant_of(session, participant_id)
    myself = row.name == me(session).name
    if not myself:
        check_host(session, meeting)
    there = presence_of(session, meeting, row)
    if there != "joined":
        cure = "admit_meeting_participant comes first." if there == "waiting" else "Choose somebody who has joined."
        raise ToolError(Fault.NOT_IN_CALL, f"{row.name} is not in the call ({there}). {cure}")
    if action == "unmute" and not myself:
        raise ToolError(Fault.CANNOT_UNMUTE_OTHERS, f"Only {row.name} can switch that microphone on; ask them to.")
    changed = session.table(Participant).put(replace(row, muted=action == "mute"))
    return participant_summary(session, meeting, changed)


@server.tool(idempotent=True)
def set_meeting_lock(session: Session, meeting_id: MeetingId, action: Literal["lock", "unlock"]) -> LockState:
    """Lock a running meeting so that nobody else gets in, or unlock it.

    Args:
        meeting_id: a live meeting that the user hosts or co-hosts.
        action: lock or unlock.

    Raises:
        not_host: the user is no host of the meeting.
        meeting_not_open: it has not begun.
        meeting_over: it has ended.
        meeting_cancelled: it will not take place.
    """
    meeting = meeting_of(session, meeting_id)
    check_running(session, meeting)
    check_host(session, meeting)
    changed = session.table(Meeting).put(replace(meeting, locked=action == "lock"))
    return LockState(changed.id, changed.locked, present(session, changed), changed.capacity)


@server.tool()
def control_meeting_recording(
    session: Session, meeting_id: MeetingId, action: Literal["start", "stop"]
) -> RecordingSummary:
    """Start or stop the recording of a running meeting.

    Args:
        meeting_id: a live meeting that the user hosts or co-hosts.
        action: start or stop.

    Raises:
        not_host: the user is no host of the meeting.
        meeting_not_open: it has not begun.
        meeting_over: it has ended.
        meeting_cancelled: it will not take place.
        recording_not_allowed: this meeting must not be recorded.
        already_recording: a recording runs.
        not_recording: no recording runs.
        storage_full: the host's recordings fill the storage.
    """
    meeting = meeting_of(session, meeting_id)
    check_running(session, meeting)
    check_host(session, meeting)
    table = session.table(Recording)
    running = next((row for row in table.where(meeting_id=meeting.id) if runs(session, row)), None)
    if action == "stop":
        if running is None:
            raise ToolError(Fault.NOT_RECORDING, f"{meeting.title} is not being recorded; start a recording first.")
        return recording_summary(session, table.put(replace(running, ended_at=session.now)))
    if not meeting.recording_allowed:
        raise ToolError(Fault.RECORDING_NOT_ALLOWED, f"{meeting.title} was set up as a meeting without recordings.")
    if running is not None:
        raise ToolError(Fault.ALREADY_RECORDING, f"{meeting.title} is being recorded already; stop that one first.")
    check_storage(session, meeting)
    return recording_summary(
        session, table.add(Recording(session.new_id("VREC"), meeting.id, session.now, None, False))
    )


@server.tool(read_only=True)
def list_meeting_recordings(
    session: Session, query: Query = "", limit: Limit = 5, offset: Offset = 0
) -> Page[RecordingSummary]:
    """List recordings of meetings that the user hosts, with their ids. Newest first, then by id.

    Args:
        query: words of the meeting's title.
        limit: most recordings to return.
        offset: how many to skip.
    """
    rows = search(recordings_of(session, me(session)), query, lambda row: meeting_of(session, row.meeting_id).title)
    rows.sort(key=lambda row: (-row.started_at.timestamp(), row.id))
    return paginate([recording_summary(session, row) for row in rows], limit, offset)


@server.tool(destructive=True)
def delete_meeting_recording(session: Session, recording_id: RecordingId) -> Removed:
    """Delete a recording of a meeting that the user hosts, which frees storage.

    Args:
        recording_id: the recording, from list_meeting_recordings.

    Raises:
        not_host: somebody else hosted the meeting.
        recording_expired: it was deleted by itself after 60 days.
        recording_running: it must be stopped first.
        recording_held: it must be kept for legal reasons.
    """
    row = session.table(Recording).require(recording_id, "list_meeting_recordings shows the valid ids.")
    meeting = meeting_of(session, row.meeting_id)
    if meeting.host != me(session).id:
        raise ToolError(Fault.NOT_HOST, f"Only the host of {meeting.title} can delete its recordings; ask them.")
    if not is_kept(session, row):
        raise ToolError(Fault.RECORDING_EXPIRED, f"That recording was deleted by itself on {expires_at(row):%Y-%m-%d}.")
    if runs(session, row):
        raise ToolError(
            Fault.RECORDING_RUNNING, f"{meeting.title} is being recorded; stop it with control_meeting_recording first."
        )
    if row.held:
        raise ToolError(
            Fault.RECORDING_HELD, f"The recording of {meeting.title} is kept for legal reasons; delete another one."
        )
    session.table(Recording).remove(row.id)
    return Removed(row.id)
