"""The calendar: recurrence over DST weeks, each of its error codes, and its invariants."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta

import pytest

from servers.calendar.model import Absence, Calendar, Event, Fault, Invitation, Person, Room
from servers.calendar.recurrence import Rule, continued, dates_between, is_skipped, parse_rule, to_local, to_utc
from tests.servers.play import Play

ZONE = "Europe/Berlin"


def march(rule: str, first: date, low: int = 1, high: int = 31) -> list[int]:
    return [day.day for day in dates_between(parse_rule(rule), first, date(2026, 3, low), date(2026, 3, high))]


@pytest.mark.parametrize(
    ("rule", "first", "days"),
    [
        ("FREQ=DAILY;INTERVAL=10", date(2026, 2, 20), [2, 12, 22]),
        ("FREQ=DAILY;COUNT=4", date(2026, 2, 27), [1, 2]),
        ("FREQ=DAILY;BYDAY=SA,SU", date(2026, 2, 28), [1, 7, 8, 14, 15, 21, 22, 28, 29]),
        ("FREQ=WEEKLY;UNTIL=20260316", date(2026, 2, 2), [2, 9, 16]),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE", date(2026, 2, 25), [9, 11, 23, 25]),
        ("FREQ=WEEKLY;COUNT=3;BYDAY=TU,TH", date(2026, 3, 5), [5, 10, 12]),
        ("FREQ=MONTHLY;BYDAY=-1FR", date(2026, 1, 30), [27]),
        ("FREQ=MONTHLY;BYDAY=2TU", date(2026, 1, 13), [10]),
        ("FREQ=MONTHLY;BYDAY=MO", date(2026, 2, 2), [2, 9, 16, 23, 30]),
        ("FREQ=MONTHLY;INTERVAL=2", date(2025, 12, 31), []),
        ("FREQ=MONTHLY", date(2026, 1, 31), [31]),
    ],
)
def test_rules(rule: str, first: date, days: list[int]) -> None:
    assert march(rule, first) == days
    assert str(parse_rule(rule)) == rule


def test_a_month_without_the_day_is_left_out() -> None:
    days = list(dates_between(Rule("monthly"), date(2026, 1, 31), date(2026, 1, 1), date(2026, 6, 30)))
    assert [day.month for day in days] == [1, 3, 5]


def test_a_late_window_agrees_with_a_full_expansion() -> None:
    for rule in (Rule("weekly", 3, weekdays=("MO", "SU")), Rule("daily", 4), Rule("monthly", 5)):
        first = date(2024, 1, 8) if rule.weekdays else date(2024, 1, 10)
        full = [d for d in dates_between(rule, first, first, date(2026, 12, 31)) if d >= date(2026, 3, 1)]
        assert list(dates_between(rule, first, date(2026, 3, 1), date(2026, 12, 31))) == full


def test_wall_clock_time_stays_in_the_week_when_summer_time_begins() -> None:
    days = list(dates_between(Rule("daily"), date(2026, 3, 27), date(2026, 3, 27), date(2026, 3, 31)))
    moments = [to_utc(day, time(9), ZONE) for day in days]
    assert [moment.hour for moment in moments] == [8, 8, 7, 7, 7]
    assert {to_local(moment, ZONE).time() for moment in moments} == {time(9)}


def test_wall_clock_time_stays_in_the_week_when_summer_time_ends() -> None:
    days = list(dates_between(Rule("daily"), date(2026, 10, 23), date(2026, 10, 23), date(2026, 10, 27)))
    assert [to_utc(day, time(9), ZONE).hour for day in days] == [7, 7, 8, 8, 8]
    assert to_utc(date(2026, 10, 25), time(2, 30), ZONE) == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)


def test_a_skipped_time_is_read_with_the_offset_before_the_gap() -> None:
    assert is_skipped(date(2026, 3, 29), time(2, 30), ZONE)
    assert not is_skipped(date(2026, 3, 29), time(3, 0), ZONE)
    assert to_utc(date(2026, 3, 29), time(2, 30), ZONE) == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)


def test_zones_change_their_clocks_in_different_weeks() -> None:
    seen = [
        to_local(to_utc(date(2026, 3, day), time(10), "America/New_York"), ZONE).time() for day in (2, 9, 16, 23, 30)
    ]
    assert seen == [time(16), time(15), time(15), time(15), time(16)]


def test_the_rest_of_a_series_keeps_its_count_and_turns_its_weekdays() -> None:
    first = date(2026, 3, 2)
    rest = continued(Rule("weekly", count=5, weekdays=("MO",)), first, date(2026, 3, 16), date(2026, 3, 18))
    assert rest == Rule("weekly", count=3, weekdays=("WE",))
    workdays = Rule("daily", weekdays=("MO", "TU", "WE", "TH", "FR"))
    assert continued(workdays, first, date(2026, 3, 9), date(2026, 3, 10)) == workdays
    monthly = continued(Rule("monthly", weekdays=("MO",), nth=1), first, first, date(2026, 3, 12))
    assert monthly == Rule("monthly", weekdays=("TH",), nth=2)


def user(play: Play) -> Person:
    return next(p for p in play.rows(Person) if p.me)


def calendar(play: Play, name: str) -> str:
    return str(next(c.id for c in play.rows(Calendar) if c.name == name))


def create(play: Play, day: str = "2026-03-14", start_time: str = "06:10", **changes: object) -> str:
    arguments = {
        "calendar_id": calendar(play, "Personal"),
        "title": "Flat viewing",
        "day": day,
        "start_time": start_time,
        **changes,
    }
    return str(play.ok("create_calendar_event", **arguments)["id"])


def foreign(play: Play) -> Event:
    """A coming event in the user's own calendar that somebody else organises."""
    work, me = calendar(play, "Work"), user(play)
    return next(
        e
        for e in play.rows(Event)
        if e.calendar_id == work and e.organizer != me.id and not e.cancelled and e.first > date(2026, 3, 4)
    )


def away_person(play: Play) -> Person:
    today = play.session.now.date()
    gone = next(a for a in play.rows(Absence) if a.starts_on <= today + timedelta(days=5) <= a.ends_on)
    return next(p for p in play.rows(Person) if p.id == gone.email)


def free_person(play: Play) -> str:
    gone = {a.email for a in play.rows(Absence)}
    return next(str(p.id) for p in play.rows(Person) if not p.me and p.id not in gone and p.shares_schedule)


def read_only_calendar(play: Play) -> None:
    target = calendar(play, "Product Launches")
    arguments = {"calendar_id": target, "title": "Mine", "day": "2026-03-14", "start_time": "06:00"}
    assert "Work" in play.fails("read_only_calendar", "create_calendar_event", **arguments)


def details_hidden(play: Play) -> None:
    hidden = next(c for c in play.rows(Calendar) if c.access == "free_busy")
    event = next(e for e in play.rows(Event) if e.calendar_id == hidden.id)
    play.fails("details_hidden", "get_calendar_event", event_id=event.id)
    play.fails("details_hidden", "list_calendar_events", calendar_id=hidden.id)


def not_organizer(play: Play) -> None:
    play.fails("not_organizer", "cancel_calendar_event", event_id=foreign(play).id)


def time_conflict(play: Play) -> None:
    create(play)
    again = {"calendar_id": calendar(play, "Work"), "title": "Other", "day": "2026-03-14", "start_time": "06:40"}
    assert "Flat viewing" in play.fails("time_conflict", "create_calendar_event", **again)
    play.ok("create_calendar_event", **again, allow_conflict=True)
    play.ok("create_calendar_event", **{**again, "start_time": "05:10", "title": "Third"})


def in_the_past(play: Play) -> None:
    event = create(play)
    play.fails("in_the_past", "move_calendar_event", event_id=event, day="2026-02-27", start_time="10:00")
    play.fails("in_the_past", "set_out_of_office", starts_on="2026-02-20", ends_on="2026-03-20")


def skipped_time(play: Play) -> None:
    zone = user(play).zone
    gap = next(
        (day, at)
        for day in (date(2026, 3, 8), date(2026, 3, 29))
        for at in (time(1, 30), time(2, 30))
        if is_skipped(day, at, zone)
    )
    arguments = {"day": str(gap[0]), "start_time": f"{gap[1]:%H:%M}"}
    play.fails("skipped_time", "move_calendar_event", event_id=create(play), **arguments)


def event_cancelled(play: Play) -> None:
    event = create(play)
    play.ok("cancel_calendar_event", event_id=event)
    play.fails("event_cancelled", "get_calendar_event", event_id=event)


def event_over(play: Play) -> None:
    event = create(play, day="2026-03-03", start_time="04:10")
    play.wait(days=2)
    play.fails("event_over", "cancel_calendar_event", event_id=event)
    play.fails("event_over", "invite_to_event", event_id=event, attendee=free_person(play))


def series(play: Play, **rule: object) -> str:
    event = create(play, day="2026-03-09", start_time="05:10", minutes=20)
    play.ok("set_event_recurrence", **{"event_id": event, "frequency": "weekly", "allow_conflict": True, **rule})
    return event


def no_such_occurrence(play: Play) -> None:
    message = play.fails("no_such_occurrence", "cancel_calendar_event", event_id=series(play), occurrence="2026-03-11")
    assert "2026-03-09" in message


def occurrence_exists(play: Play) -> None:
    arguments = {"occurrence": "2026-03-09", "day": "2026-03-16", "start_time": "21:45"}
    play.fails("occurrence_exists", "move_calendar_event", event_id=series(play), **arguments)


def rule_misses_start(play: Play) -> None:
    event = create(play)
    arguments = {"event_id": event, "frequency": "weekly", "weekdays": ["TU"]}
    assert "SA" in play.fails("rule_misses_start", "set_event_recurrence", **arguments)
    arguments = {"event_id": event, "frequency": "weekly", "until": "2026-03-10"}
    assert "until" in play.fails("rule_misses_start", "set_event_recurrence", **arguments)


def rule_ends_twice(play: Play) -> None:
    arguments = {"event_id": create(play), "frequency": "daily", "count": 3, "until": "2026-05-01"}
    play.fails("rule_ends_twice", "set_event_recurrence", **arguments)


def already_invited(play: Play) -> None:
    event, guest = create(play), free_person(play)
    play.ok("invite_to_event", event_id=event, attendee=guest)
    play.fails("already_invited", "invite_to_event", event_id=event, attendee=guest)
    play.fails("already_invited", "invite_to_event", event_id=event, attendee=user(play).id)


def not_invited(play: Play) -> None:
    play.fails("not_invited", "respond_to_invitation", event_id=create(play), response="accepted")


def room(play: Play, name: str) -> str:
    return str(next(r.id for r in play.rows(Room) if r.name == name))


def room_taken(play: Play) -> None:
    first, second = create(play), create(play, allow_conflict=True, title="Second")
    play.ok("book_meeting_room", event_id=first, room_id=room(play, "Fir"))
    play.fails("room_taken", "book_meeting_room", event_id=second, room_id=room(play, "Fir"))
    free = play.ok("list_meeting_rooms", event_id=second, limit=20)["items"]
    assert room(play, "Fir") not in {row["id"] for row in free}
    play.ok("book_meeting_room", event_id=second, room_id=free[0]["id"])


def room_too_small(play: Play) -> None:
    event = create(play)
    play.ok("book_meeting_room", event_id=event, room_id=room(play, "Ginkgo"))
    gone = {a.email for a in play.rows(Absence)}
    guests = [p.id for p in play.rows(Person) if not p.me and p.id not in gone][:3]
    for guest in guests[:2]:
        play.ok("invite_to_event", event_id=event, attendee=guest)
    play.fails("room_too_small", "invite_to_event", event_id=event, attendee=guests[2])


def room_closed(play: Play) -> None:
    play.fails("room_closed", "book_meeting_room", event_id=create(play), room_id=room(play, "Dogwood"))


def self_included(play: Play) -> None:
    people = [free_person(play), user(play).id]
    play.fails("self_included", "find_common_slot", people=people, minutes=30, day="2026-03-04")


def schedule_not_shared(play: Play) -> None:
    secretive = next(p.id for p in play.rows(Person) if not p.shares_schedule)
    play.fails("schedule_not_shared", "get_free_busy", attendee=secretive, day="2026-03-04")
    play.fails("schedule_not_shared", "find_common_slot", people=[secretive], minutes=30, day="2026-03-04")


def no_common_slot(play: Play) -> None:
    arguments = {"people": [free_person(play)], "minutes": 30, "day": "2026-03-07", "days": 2}
    play.fails("no_common_slot", "find_common_slot", **arguments)


def too_many_reminders(play: Play) -> None:
    event = create(play)
    for minutes in (5, 10, 15):
        play.ok("set_event_reminder", event_id=event, minutes_before=minutes)
    play.ok("set_event_reminder", event_id=event, minutes_before=10)
    play.fails("too_many_reminders", "set_event_reminder", event_id=event, minutes_before=20)


def reminder_too_late(play: Play) -> None:
    event = create(play, day="2026-03-03", start_time="04:10")
    play.fails("reminder_too_late", "set_event_reminder", event_id=event, minutes_before=20_000)


def dates_reversed(play: Play) -> None:
    play.fails("dates_reversed", "set_out_of_office", starts_on="2026-03-20", ends_on="2026-03-18")


def already_away(play: Play) -> None:
    play.fails("already_away", "set_out_of_office", starts_on="2026-04-24", ends_on="2026-04-28")


FAULTS: dict[str, Callable[[Play], None]] = {
    name: scenario for name, scenario in globals().items() if name in set(Fault)
}


@pytest.mark.parametrize("fault", list(Fault))
def test_fault(fault: str) -> None:
    FAULTS[fault](Play("calendar"))


def agenda(play: Play, day: str) -> dict[str, str]:
    return {row["id"]: row["at"] for row in play.ok("get_day_agenda", day=day, limit=50)["items"]}


def test_one_occurrence_moves_or_goes_and_the_others_stay() -> None:
    play = Play("calendar")
    event = series(play, count=4)
    play.ok("cancel_calendar_event", event_id=event, occurrence="2026-03-16")
    play.ok("move_calendar_event", event_id=event, occurrence="2026-03-23", day="2026-03-25", start_time="23:15")
    seen = {
        day: agenda(play, f"2026-{day}").get(event) for day in ("03-09", "03-16", "03-23", "03-25", "03-30", "04-06")
    }
    assert seen == {"03-09": "05:10", "03-16": None, "03-23": None, "03-25": "23:15", "03-30": "05:10", "04-06": None}
    play.fails("no_such_occurrence", "cancel_calendar_event", event_id=event, occurrence="2026-03-16")
    play.ok("cancel_calendar_event", event_id=event, occurrence="2026-03-25")


def test_a_moved_series_goes_on_from_the_new_day() -> None:
    play = Play("calendar")
    event = series(play, count=3)
    play.wait(days=8)
    play.ok("move_calendar_event", event_id=event, day="2026-03-18", start_time="23:30", allow_conflict=True)
    assert play.ok("get_calendar_event", event_id=event)["repeats"] == "FREQ=WEEKLY;COUNT=2"
    assert [agenda(play, f"2026-03-{day}").get(event) for day in (16, 18, 25)] == [None, "23:30", "23:30"]


def test_an_invited_person_who_is_away_declines_at_once() -> None:
    play = Play("calendar")
    day = play.session.now.date() + timedelta(days=5)
    event = create(play, day=str(day), start_time="12:00", allow_conflict=True)
    answer = play.ok("invite_to_event", event_id=event, attendee=away_person(play).id)
    assert answer["response"] == "declined"


def test_a_common_slot_can_be_booked_and_is_taken_then() -> None:
    play = Play("calendar")
    guest = free_person(play)
    find = {"people": [guest], "minutes": 60, "day": "2026-03-03", "days": 14}
    slot = play.ok("find_common_slot", **find)["items"][0]
    event = create(play, day=slot["on"], start_time=slot["at"])
    play.ok("invite_to_event", event_id=event, attendee=guest)
    assert slot not in play.ok("find_common_slot", **find)["items"]


def test_only_answers_of_the_user_and_single_events_change_with_an_absence() -> None:
    play = Play("calendar")
    before = {i.id: i.response for i in play.rows(Invitation)}
    result = play.ok("set_out_of_office", starts_on="2026-03-04", ends_on="2026-04-17", decline_meetings=True)
    changed = [i for i in play.rows(Invitation) if before[i.id] != i.response]
    assert len(changed) == result["declined"] > 0
    assert {i.email for i in changed} == {user(play).id} and {i.response for i in changed} == {"declined"}
    events = {e.id: e for e in play.rows(Event)}
    assert not any(events[i.event_id].rule for i in changed)


def test_accepting_what_overlaps_needs_the_override() -> None:
    play = Play("calendar")
    open_ones = play.ok("list_calendar_events", unanswered=True, limit=50)["items"]
    assert open_ones
    item = next(row for row in open_ones if row["on"] >= "2026-03-04")
    create(play, day=item["on"], start_time=item["at"], allow_conflict=True)
    play.fails("time_conflict", "respond_to_invitation", event_id=item["id"], response="accepted")
    play.ok("respond_to_invitation", event_id=item["id"], response="declined")
    play.ok("respond_to_invitation", event_id=item["id"], response="accepted", allow_conflict=True)


def test_calendars_that_take_events_come_first_and_busy_times_only_when_searched() -> None:
    play = Play("calendar")
    first = play.ok("list_calendars")
    assert first["items"][:4] == [row for row in first["items"] if row["access"] in ("owner", "editor")]
    assert {"Work", "Personal", "Family"} <= {row["name"] for row in first["items"]}
    rest = play.ok("list_calendars", limit=50, offset=first["next_offset"])["items"]
    assert len(first["items"]) + len(rest) == first["total"]
    assert "free_busy" not in {row["access"] for row in rest}
    hidden = next(c for c in play.rows(Calendar) if c.access == "free_busy")
    assert hidden.id in {row["id"] for row in play.ok("list_calendars", query=hidden.name)["items"]}


def test_declined_meetings_are_found_only_by_their_title() -> None:
    play = Play("calendar")
    row = next(r for r in play.ok("list_calendar_events", unanswered=True, limit=50)["items"] if "repeats" not in r)
    assert row["id"] in agenda(play, row["on"])
    play.ok("respond_to_invitation", event_id=row["id"], response="declined")
    assert row["id"] not in agenda(play, row["on"])

    def listed(**arguments: object) -> set[str]:
        return {str(item["id"]) for item in play.ok("list_calendar_events", limit=50, **arguments)["items"]}

    assert row["id"] not in listed()
    assert row["id"] in listed(query=row["title"])
    assert play.ok("get_calendar_event", event_id=row["id"])["my_response"] == "declined"


def test_the_user_is_no_colleague() -> None:
    play = Play("calendar")
    assert play.ok("list_colleagues", query=user(play).id)["items"] == []
    assert "organizer" not in play.ok("get_calendar_event", event_id=create(play))
    shown = play.ok("get_calendar_event", event_id=foreign(play).id)
    assert shown["organizer"] == foreign(play).organizer and "my_response" in shown
    assert user(play).id not in {guest["email"] for guest in shown.get("invitees", [])}
