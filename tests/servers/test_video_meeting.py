"""The video meetings: each error code is reached, and no meeting holds more people than fit."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from servers.shared.people import user
from servers.video_meeting.model import Fault, Host, Meeting, Participant, Recording
from servers.video_meeting.rules import ends_at, is_host, is_kept, presence_of, present, state_of
from tests.servers.play import Play


def meeting(play: Play, state: str = "live", host: bool = True, **columns: object) -> Meeting:
    """A meeting in this state where the user is a host or not."""
    return next(
        row
        for row in play.rows(Meeting)
        if state_of(play.session, row) == state
        and is_host(play.session, row) == host
        and all(getattr(row, name) == value for name, value in columns.items())
    )


def full(play: Play, row: Meeting) -> bool:
    return present(play.session, row) >= row.capacity


def person(play: Play, row: Meeting, state: str) -> Participant:
    people = play.session.table(Participant).where(meeting_id=row.id)
    return next(p for p in people if presence_of(play.session, row, p) == state and p.name != user(0).name)


def with_people(play: Play, state: str, host: bool = True) -> tuple[Meeting, Participant]:
    """A live meeting with room and an open door, and somebody there in this state."""
    for row in play.rows(Meeting):
        fits = state_of(play.session, row) == "live" and is_host(play.session, row) == host
        if fits and not row.locked and not full(play, row):
            found = [p for p in play.rows(Participant) if p.meeting_id == row.id]
            chosen = [p for p in found if presence_of(play.session, row, p) == state and p.name != user(0).name]
            if chosen:
                return row, chosen[0]
    raise LookupError(state)


def joinable(play: Play, host: bool = False) -> Meeting:
    mine = {row.meeting_id for row in play.rows(Participant) if row.name == user(0).name}
    return next(
        row
        for row in play.rows(Meeting)
        if state_of(play.session, row) == "live"
        and is_host(play.session, row) == host
        and not (row.locked or full(play, row) or row.id in mine)
        and row.passcode
    )


def wrong_passcode(play: Play) -> None:
    row = joinable(play)
    wrong = "000000" if row.passcode != "000000" else "111111"
    play.fails("wrong_passcode", "join_video_meeting", meeting_id=row.id, passcode=wrong)
    message = play.fails("wrong_passcode", "join_video_meeting", meeting_id=row.id)
    assert row.passcode not in message
    play.ok("join_video_meeting", meeting_id=row.id, passcode=row.passcode)


def meeting_not_open(play: Play) -> None:
    rows = [row for row in play.rows(Meeting) if state_of(play.session, row) == "scheduled"]
    late = max(rows, key=lambda row: row.starts_at)
    play.fails("meeting_not_open", "join_video_meeting", meeting_id=late.id, passcode=late.passcode or "123456")
    hosted = [row for row in rows if is_host(play.session, row)]
    soon = min(hosted, key=lambda row: row.starts_at)
    key = play.ok("join_video_meeting", meeting_id=soon.id)["participant_id"]
    play.fails("meeting_not_open", "set_participant_mute", participant_id=key, action="unmute")
    play.fails("meeting_not_open", "admit_meeting_participant", participant_id=key)


def meeting_over(play: Play) -> None:
    row = meeting(play)
    play.wait(minutes=(ends_at(row) - play.session.now).total_seconds() / 60)
    play.fails("meeting_over", "set_meeting_lock", meeting_id=row.id, action="lock")
    play.fails("meeting_over", "join_video_meeting", meeting_id=row.id)


def meeting_cancelled(play: Play) -> None:
    row = next(row for row in play.rows(Meeting) if row.cancelled)
    play.fails("meeting_cancelled", "join_video_meeting", meeting_id=row.id)


def meeting_full(play: Play) -> None:
    row = next(r for r in play.rows(Meeting) if state_of(play.session, r) == "live" and full(play, r) and not r.locked)
    if any(p.name == user(0).name for p in play.rows(Participant) if p.meeting_id == row.id):
        raise AssertionError("the user must not be in the full meeting of this world")
    arguments = {"passcode": row.passcode} if row.passcode else {}
    assert str(row.capacity) in play.fails("meeting_full", "join_video_meeting", meeting_id=row.id, **arguments)


def meeting_locked(play: Play) -> None:
    row, waiting = with_people(play, "waiting")
    play.ok("set_meeting_lock", meeting_id=row.id, action="lock")
    play.fails("meeting_locked", "admit_meeting_participant", participant_id=waiting.id)
    play.ok("set_meeting_lock", meeting_id=row.id, action="unlock")
    play.ok("admit_meeting_participant", participant_id=waiting.id)


def already_joined(play: Play) -> None:
    row = joinable(play)
    arguments = {"meeting_id": row.id, "passcode": row.passcode}
    play.ok("join_video_meeting", **arguments)
    play.fails("already_joined", "join_video_meeting", **arguments)


def removed_by_host(play: Play) -> None:
    rows = [p for p in play.rows(Participant) if p.name == user(0).name and p.state == "removed"]
    row = next(r for p in rows for r in play.rows(Meeting) if r.id == p.meeting_id)
    play.fails("removed_by_host", "join_video_meeting", meeting_id=row.id, passcode=row.passcode or "123456")


def not_host(play: Play) -> None:
    row = meeting(play, host=False)
    play.fails("not_host", "set_meeting_lock", meeting_id=row.id, action="lock")
    play.fails("not_host", "control_meeting_recording", meeting_id=row.id, action="start")
    play.fails("not_host", "set_participant_mute", participant_id=person(play, row, "joined").id, action="mute")


def not_waiting(play: Play) -> None:
    _, joined = with_people(play, "joined")
    play.fails("not_waiting", "admit_meeting_participant", participant_id=joined.id)


def not_in_call(play: Play) -> None:
    _, waiting = with_people(play, "waiting")
    assert "admit" in play.fails("not_in_call", "set_participant_mute", participant_id=waiting.id, action="mute")


def cannot_unmute_others(play: Play) -> None:
    _, joined = with_people(play, "joined")
    play.fails("cannot_unmute_others", "set_participant_mute", participant_id=joined.id, action="unmute")


def unrecorded(play: Play) -> Meeting:
    running = {row.meeting_id for row in play.rows(Recording) if row.ended_at is None}
    rows = [row for row in play.rows(Meeting) if state_of(play.session, row) == "live" and is_host(play.session, row)]
    return next(row for row in rows if row.id not in running and row.recording_allowed and row.host == user(0).username)


def already_recording(play: Play) -> None:
    arguments = {"meeting_id": unrecorded(play).id, "action": "start"}
    play.ok("control_meeting_recording", **arguments)
    play.fails("already_recording", "control_meeting_recording", **arguments)


def not_recording(play: Play) -> None:
    play.fails("not_recording", "control_meeting_recording", meeting_id=unrecorded(play).id, action="stop")


def recording_not_allowed(play: Play) -> None:
    row = meeting(play, recording_allowed=False)
    play.fails("recording_not_allowed", "control_meeting_recording", meeting_id=row.id, action="start")


def recording_running(play: Play) -> None:
    row = play.ok("control_meeting_recording", meeting_id=unrecorded(play).id, action="start")
    play.fails("recording_running", "delete_meeting_recording", recording_id=row["id"])


def own_recordings(play: Play) -> list[Recording]:
    hosted = {row.id for row in play.rows(Meeting) if row.host == user(0).username}
    return [row for row in play.rows(Recording) if row.meeting_id in hosted]


def recording_held(play: Play) -> None:
    row = next(row for row in own_recordings(play) if row.held)
    play.fails("recording_held", "delete_meeting_recording", recording_id=row.id)


def recording_expired(play: Play) -> None:
    listed = play.ok("list_meeting_recordings", limit=50)["total"]
    play.wait(days=61)
    gone = next(row for row in own_recordings(play) if not is_kept(play.session, row))
    play.fails("recording_expired", "delete_meeting_recording", recording_id=gone.id)
    assert play.ok("list_meeting_recordings")["total"] < listed


def storage_full(play: Play) -> None:
    row = unrecorded(play)
    play.ok("control_meeting_recording", meeting_id=row.id, action="start")
    play.wait(minutes=20)
    play.ok("control_meeting_recording", meeting_id=row.id, action="stop")
    play.fails("storage_full", "control_meeting_recording", meeting_id=row.id, action="start")
    for item in play.ok("list_meeting_recordings", limit=50)["items"]:
        play.catalog.call(play.session, "delete_meeting_recording", {"recording_id": item["id"]})
    play.ok("control_meeting_recording", meeting_id=row.id, action="start")


def plan(**changes: object) -> dict[str, object]:
    return {"title": "Book Club", "starts_at": "2026-12-05T18:00:00Z", "minutes": 60, **changes}


def starts_in_past(play: Play) -> None:
    play.fails("starts_in_past", "schedule_video_meeting", **plan(starts_at="2026-03-02T09:00:00Z"))


def time_conflict(play: Play) -> None:
    play.ok("schedule_video_meeting", **plan())
    clash = plan(starts_at="2026-12-05T19:30:00+01:00")
    assert "Book Club" in play.fails("time_conflict", "schedule_video_meeting", **clash)
    play.ok("schedule_video_meeting", **plan(starts_at="2026-12-05T19:00:00Z"))


def plan_limit_exceeded(play: Play) -> None:
    for change in ({"minutes": 600}, {"capacity": 101}, {"starts_at": "2027-06-01T10:00:00Z"}):
        assert "240" in play.fails("plan_limit_exceeded", "schedule_video_meeting", **plan(**change))


FAULTS: dict[str, Callable[[Play], None]] = {
    name: scenario for name, scenario in globals().items() if name in set(Fault)
}


@pytest.mark.parametrize("fault", sorted(Fault))
def test_fault_is_reached(fault: str) -> None:
    FAULTS[fault](Play("video_meeting"))


@pytest.mark.parametrize("seed", [0, 1])
def test_no_meeting_holds_more_than_fit(seed: int) -> None:
    play = Play("video_meeting", seed)
    for row in play.rows(Participant):
        play.catalog.call(play.session, "admit_meeting_participant", {"participant_id": row.id})
    assert all(present(play.session, row) <= row.capacity for row in play.rows(Meeting))


def test_joining_leaves_the_other_meeting() -> None:
    play = Play("video_meeting")
    for row in (joinable(play, host=True), joinable(play)):
        play.ok("join_video_meeting", meeting_id=row.id, passcode=row.passcode)
    mine = [row for row in play.rows(Participant) if row.name == user(0).name]
    assert sum(row.state in ("joined", "waiting") for row in mine) == 1


def test_another_host_lets_the_user_in_after_a_while() -> None:
    play = Play("video_meeting")
    mine = {row.meeting_id for row in play.rows(Participant) if row.name == user(0).name}
    row = next(
        r
        for r in play.rows(Meeting)
        if state_of(play.session, r) == "live"
        and not (is_host(play.session, r) or r.locked or full(play, r) or r.id in mine)
        and r.waiting_room
    )
    arguments = {"passcode": row.passcode} if row.passcode else {}
    assert play.ok("join_video_meeting", meeting_id=row.id, **arguments)["state"] == "waiting"
    play.wait(minutes=6)
    own = play.ok("list_meeting_participants", meeting_id=row.id, query=user(0).name)["items"][0]
    assert own["state"] == "joined"
    unmuted = play.ok("set_participant_mute", participant_id=own["id"], action="unmute")
    assert unmuted["muted"] is False


def test_no_result_shows_a_passcode() -> None:
    play = Play("video_meeting")
    secrets = {row.passcode for row in play.rows(Meeting) if row.passcode}
    shown = str(play.ok("list_video_meetings", limit=50))
    assert not any(secret in shown for secret in secrets)


def test_the_user_knows_each_passcode_and_for_which_meeting_it_is() -> None:
    play = Play("video_meeting")
    play.ok("schedule_video_meeting", **plan(new_passcode="284000"))
    play.ok("schedule_video_meeting", **plan(starts_at="2026-12-06T18:00:00Z"))
    facts = {fact.about: fact.value for fact in play.server.knows(play.session) if fact.param == "passcode"}
    assert facts == {row.id: row.passcode for row in play.rows(Meeting) if row.passcode}


def test_held_recordings_are_kept_without_an_end() -> None:
    play = Play("video_meeting")
    held = {row.id for row in own_recordings(play) if row.held}
    items = play.ok("list_meeting_recordings", limit=50)["items"]
    assert held and all(("kept_until" in item) != (item["id"] in held) for item in items)


def test_the_user_has_the_best_plan() -> None:
    play = Play("video_meeting")
    own = next(row for row in play.rows(Host) if row.id == user(0).username)
    assert (own.plan, own.max_minutes) == ("business", 240)
