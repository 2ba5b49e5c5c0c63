"""The meeting service's initial world: hosts, meetings around the present moment, participants and recordings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from servers.kernel.dice import Dice
from servers.kernel.server import SeedBuilder
from servers.kernel.session import EPOCH
from servers.kernel.store import Record
from servers.shared.people import Person, people
from servers.video_meeting.model import Host, Meeting, Participant, Presence, Recording

_TOPICS = ("Standup", "Design Review", "Budget Check", "Retrospective", "Interview", "Training", "Demo", "Planning")
_THEMES = (
    "Atlas",
    "Beacon",
    "Onboarding",
    "Sales",
    "Support",
    "Website",
    "Warehouse",
    "Hiring",
    "Mobile App",
    "Finance",
)
LIVE, PLANNED = 26, 44
"""How many meetings run at the start, and how many of the list lie not behind."""
KEEP = timedelta(days=60)
"""How long a recording is kept, unless it is held."""


def build(make: SeedBuilder) -> Iterator[Record]:
    """Write hosts and meetings, then who came and what was recorded."""
    dice, crowd = make.dice, people(make.seed, 60)
    hosts = [_host(dice, person, n) for n, person in enumerate(crowd[:10])]
    own_minutes = 0
    yield from hosts[1:]
    titles = dice.shuffled([f"{theme} {topic}" for theme in _THEMES for topic in _TOPICS])
    for n, title in enumerate(titles[:70]):
        meeting = _meeting(make, dice, hosts, title, n)
        yield meeting
        if meeting.starts_at <= EPOCH and not meeting.cancelled:
            yield from _participants(make, dice, meeting, crowd, n)
            for recording in _recordings(make, dice, meeting, n):
                own_minutes += _kept_minutes(recording) if meeting.host == hosts[0].id else 0
                yield recording
    yield replace(hosts[0], storage_minutes=own_minutes + 12)


def _kept_minutes(recording: Recording) -> int:
    """Minutes of storage that a recording takes up when the world begins."""
    kept = recording.held or recording.started_at + KEEP > EPOCH
    return int(((recording.ended_at or EPOCH) - recording.started_at).total_seconds()) // 60 if kept else 0


def _host(dice: Dice, person: Person, n: int) -> Host:
    business = n == 0 or dice.chance(0.4)
    return Host(
        id=person.username,
        name=person.name,
        plan="business" if business else "basic",
        max_minutes=240 if business else 45,
        max_people=100 if business else 20,
        storage_minutes=2000 if business else 600,
    )


def _meeting(make: SeedBuilder, dice: Dice, hosts: list[Host], title: str, n: int) -> Meeting:
    """The first 26 run now, then come 18 that are planned, then 30 of the past weeks."""
    if n < LIVE:
        minutes = dice.choice((90, 120, 180, 240))
        starts_at = EPOCH - timedelta(minutes=dice.integer(1, 12) * 5)
    elif n < PLANNED:
        minutes = dice.choice((30, 45, 60))
        starts_at = EPOCH + timedelta(minutes=5 if n < LIVE + 4 else 15 * dice.integer(2, 900))
    else:
        minutes = dice.choice((30, 45, 60, 90))
        starts_at = EPOCH - timedelta(minutes=15 * dice.integer(20, 4000))
    own = n == 0 or n % 5 == 3 or (n >= PLANNED and n % 3 == 1)
    others = hosts[1:]
    return Meeting(
        id=make.new_id("VMTG"),
        title=title,
        host=hosts[0].id if own else dice.choice(others).id,
        co_hosts=(hosts[0].id,) if not own and n % 5 != 1 and n < LIVE + 4 else (),
        starts_at=starts_at,
        minutes=minutes,
        capacity=dice.choice((6, 8)) if n % 8 == 5 else dice.choice((12, 20, 30)),
        waiting_room=n % 3 != 1,
        locked=n % 9 == 4 and n < LIVE,
        recording_allowed=n % 6 != 2,
        cancelled=n in (28, 31, 36, 41, 47, 58),
        passcode=f"{dice.integer(0, 999_999):06d}",
    )


def _participants(make: SeedBuilder, dice: Dice, meeting: Meeting, crowd: list[Person], n: int) -> Iterator[Record]:
    running = n < LIVE
    size = meeting.capacity if n % 8 == 5 and running else min(meeting.capacity - 2, dice.integer(3, 6))
    minutes = int((EPOCH - meeting.starts_at).total_seconds()) // 60 if running else meeting.minutes
    guests = dice.sample(crowd[1:], size + 8)
    if n in (1, 7, 16):
        guests.insert(0, crowd[0])
    for place, person in enumerate(guests):
        state: Presence = "joined" if place < size else "waiting" if running and meeting.waiting_room else "left"
        if state == "waiting" and place % 4 == 3:
            state = "removed"
        if person is crowd[0]:
            state = "joined" if n == 7 else "removed"
        recent = dice.integer(0, min(minutes, 14)) if state == "waiting" else dice.integer(0, minutes)
        since = EPOCH - timedelta(minutes=recent) if running else meeting.starts_at + timedelta(minutes=recent)
        yield Participant(make.new_id("VPRT"), meeting.id, person.name, state, dice.chance(0.4), since)


def _recordings(make: SeedBuilder, dice: Dice, meeting: Meeting, n: int) -> Iterator[Recording]:
    if not meeting.recording_allowed:
        return
    if n < LIVE:
        if n % 4 == 3:
            yield Recording(make.new_id("VREC"), meeting.id, EPOCH - timedelta(minutes=2), None, False)
        return
    started_at = meeting.starts_at + timedelta(minutes=dice.integer(0, 4))
    length = dice.integer(10, meeting.minutes - 6)
    yield Recording(make.new_id("VREC"), meeting.id, started_at, started_at + timedelta(minutes=length), n % 11 == 4)
    if dice.chance(0.4):
        again: datetime = started_at + timedelta(minutes=length + 1)
        ended_at = again + timedelta(minutes=dice.integer(2, 5))
        yield Recording(make.new_id("VREC"), meeting.id, again, ended_at, False)
