"""The calendar's initial world: people, calendars, rooms, and events past, present, repeated and cancelled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import NamedTuple

from servers.calendar.model import (
    Absence,
    Access,
    Calendar,
    Deviation,
    Event,
    Invitation,
    Person,
    Response,
    Room,
)
from servers.calendar.recurrence import WEEKDAYS, Weekday, dates_between, parse_rule, weekday_of
from servers.kernel.dice import Dice
from servers.kernel.server import SeedBuilder
from servers.kernel.session import EPOCH
from servers.kernel.store import Record
from servers.shared.people import people
from servers.shared.places import CITIES

TODAY = EPOCH.date()

_TOPICS = (
    "Budget", "Roadmap", "Hiring", "Launch", "Security", "Onboarding", "Website", "Pricing", "Warehouse", "Payroll",
    "Brand", "Mobile app", "Customer", "Supplier", "Analytics", "Training",
)  # fmt: skip
_KINDS = ("review", "planning", "workshop", "sync", "kick-off", "retrospective", "check-in", "demo")
_PRIVATE = (
    "Dentist", "Haircut", "Car inspection", "Eye test", "Concert", "Theatre night", "Library talk", "Bank appointment",
    "Plumber visit", "Passport renewal",
)  # fmt: skip
_ROUTINES = ("Gym session", "Dog walk", "Spanish lesson", "Piano practice", "Evening run", "Meditation")
_FAMILY = (
    "School run", "Swimming class", "Parents' evening", "Grandma's birthday", "Vet appointment", "Family dinner",
    "Football practice", "Weekend hike",
)  # fmt: skip
_CHOIR = ("Choir rehearsal", "Sectional practice", "Spring concert", "Committee meeting", "Sheet music sorting")
_LAUNCHES = ("Falcon beta", "Falcon release", "Heron pilot", "Heron rollout", "Lynx preview", "Lynx general sale")
_HOLIDAYS = (("Company day", 24), ("Spring break", 33), ("Founders' day", 60), ("Summer closing", 150))
_ROOMS = (
    ("Acacia", 4, "screen"), ("Birch", 6, "screen, whiteboard"), ("Cedar", 8, "projector"), ("Dogwood", 2, "phone"),
    ("Elm", 12, "projector, video system"), ("Fir", 20, "projector, stage"), ("Ginkgo", 3, "phone, whiteboard"),
    ("Hazel", 6, "video system"), ("Ivy", 10, "screen, video system"), ("Juniper", 4, "whiteboard"),
    ("Larch", 14, "projector, whiteboard"), ("Maple", 5, "screen"),
)  # fmt: skip
_HOURS = (time(8), time(8, 30), time(9), time(9, 30), time(10))


class Series(NamedTuple):
    """When something takes place."""

    first: date
    at: time
    minutes: int
    rule: str


def build(make: SeedBuilder) -> Iterator[Record]:
    """People first, then calendars, rooms, and what fills them."""
    dice = make.dice
    crowd = _people(make, dice)
    user, colleagues, relatives = crowd[0], crowd[1:21], crowd[21:25]
    rooms = [
        Room(make.new_id("MRM"), name, seats, features, "closed" if n in (3, 8) else "open")
        for n, (name, seats, features) in enumerate(_ROOMS)
    ]
    yield from crowd
    yield from rooms
    titles = dice.shuffled([f"{topic} {kind}" for topic in _TOPICS for kind in _KINDS])
    work = _calendar(make, "Work", user, "owner")
    yield work
    yield from _work(make, work, crowd[:26], rooms, titles)
    yield from _own(make, user, relatives)
    yield from _viewed(make, user, colleagues)
    for n, colleague in enumerate(colleagues):
        shared = _calendar(make, colleague.name, colleague, "free_busy")
        yield shared
        yield from _hidden(make, shared, colleague, titles, rooms)
        if n % 5 == 0:
            starts = TODAY + timedelta(days=dice.integer(-3, 9))
            yield Absence(make.new_id("OOO"), colleague.id, starts, starts + timedelta(days=dice.integer(2, 9)))
    yield Absence(make.new_id("OOO"), user.id, date(2026, 4, 20), date(2026, 4, 24))
    yield Absence(make.new_id("OOO"), user.id, date(2026, 1, 5), date(2026, 1, 9))


def _people(make: SeedBuilder, dice: Dice) -> list[Person]:
    home = dice.choice([city for city in CITIES if city.zone.startswith(("Europe", "America"))])
    found = []
    for n, person in enumerate(people(make.seed, 30)):
        zone = home.zone if n == 0 or dice.chance(0.6) else dice.choice(CITIES).zone
        start = time(9) if n == 0 else dice.choice(_HOURS)
        days = WEEKDAYS[:4] if dice.chance(0.15) and n else WEEKDAYS[:5]
        shares = n <= 18 or 21 <= n < 25
        finish = time(start.hour + 8, start.minute)
        found.append(Person(person.email, person.name, zone, start, finish, days, shares, n == 0))
    return found


def _calendar(make: SeedBuilder, name: str, owner: Person, access: Access) -> Calendar:
    return Calendar(make.new_id("CAL"), name, owner.id, access)


def _day(dice: Dice, low: int, high: int) -> date:
    """A working day some days from today."""
    day = TODAY + timedelta(days=dice.integer(low, high))
    return day - timedelta(days=max(0, day.weekday() - 4))


def _at(dice: Dice, low: int, high: int) -> time:
    return time(dice.integer(low, high), dice.choice((0, 30)))


def _once(dice: Dice) -> Series:
    return Series(_day(dice, -12, 45), _at(dice, 9, 16), dice.choice((30, 60, 60, 90)), "")


def _repeated(dice: Dice, low: int = 9, high: int = 16) -> Series:
    first = _day(dice, -70, 6)
    own = weekday_of(first)
    other: Weekday = "TH" if own == "TU" else "TU"
    pair = ",".join(day for day in WEEKDAYS if day in (own, other))
    rule = dice.weighted(
        (
            f"FREQ=WEEKLY;BYDAY={pair}",
            f"FREQ=WEEKLY;BYDAY={own}",
            "FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR",
            f"FREQ=WEEKLY;INTERVAL=2;BYDAY={own}",
            f"FREQ=MONTHLY;BYDAY={(first.day - 1) // 7 + 1}{own}" if first.day <= 28 else "FREQ=MONTHLY",
            f"FREQ=WEEKLY;UNTIL={TODAY + timedelta(days=dice.integer(-9, 40)):%Y%m%d};BYDAY={own}",
            f"FREQ=WEEKLY;COUNT={dice.integer(4, 14)};BYDAY={own}",
        ),
        (6, 3, 3, 2, 2, 2, 1),
    )
    return Series(first, _at(dice, low, high), dice.choice((15, 30, 30, 60)), rule)


def _event(
    make: SeedBuilder, calendar: Calendar, title: str, organizer: Person, when: Series, cancelled: bool = False
) -> Event:
    return Event(
        id=make.new_id("CEV"),
        calendar_id=calendar.id,
        title=title,
        organizer=organizer.id,
        first=when.first,
        at=when.at,
        minutes=when.minutes,
        zone=organizer.zone,
        rule=when.rule,
        cancelled=cancelled,
    )


def _work(
    make: SeedBuilder, calendar: Calendar, crowd: list[Person], rooms: list[Room], titles: list[str]
) -> Iterator[Record]:
    dice, user = make.dice, crowd[0]
    for n in range(56):
        organizer = user if n % 5 < 3 else dice.choice(crowd[1:21])
        when = _repeated(dice) if n % 5 in (0, 3) else _once(dice)
        event = _event(make, calendar, titles.pop(), organizer, when, cancelled=n % 14 == 9)
        guests = dice.sample([p for p in crowd[1:] if p.id != organizer.id], dice.integer(1, 4))
        room = dice.choice(rooms)
        if dice.chance(0.45) and room.status == "open" and room.seats > len(guests) + 2:
            event = replace(event, room_id=room.id)
        if dice.chance(0.3):
            event = replace(event, reminders=dice.choice(((10,), (15, 60), (5, 30, 1440))))
        yield event
        yield from _changes(event)
        if organizer is not user:
            mine: Response = dice.weighted(("needs_action", "accepted", "tentative", "declined"), (5, 2, 2, 1))
            yield Invitation(f"{event.id}/{user.id}", event.id, user.id, mine, dice.chance(0.2))
        for guest in guests:
            answer: Response = dice.weighted(("needs_action", "accepted", "tentative", "declined"), (2, 5, 1, 1))
            yield Invitation(f"{event.id}/{guest.id}", event.id, guest.id, answer, dice.chance(0.2))


def _changes(event: Event) -> Iterator[Record]:
    """In some series one date in March is dropped."""
    if event.rule and event.minutes >= 30 and not event.cancelled:
        days = list(dates_between(parse_rule(event.rule), event.first, date(2026, 3, 20), date(2026, 4, 20)))
        if days:
            yield Deviation(f"{event.id}/{days[0]}", event.id, days[0], None)
        if len(days) > 3:
            moved = datetime.combine(days[2], time(7, 30), EPOCH.tzinfo)
            yield Deviation(f"{event.id}/{days[2]}", event.id, days[2], moved)


def _own(make: SeedBuilder, user: Person, relatives: list[Person]) -> Iterator[Record]:
    dice = make.dice
    personal = _calendar(make, "Personal", user, "owner")
    yield personal
    for title in _PRIVATE:
        when = Series(_day(dice, -6, 40), _at(dice, 17, 19), 60, "")
        yield _event(make, personal, title, user, when)
    for title in _ROUTINES:
        yield _event(make, personal, title, user, _repeated(dice, 6, 7)._replace(minutes=30))
    family = _calendar(make, "Family", relatives[0], "editor")
    yield family
    for n, title in enumerate(_FAMILY):
        organizer = relatives[0] if n % 2 else user
        when = _repeated(dice, 18, 20) if n % 3 == 0 else Series(_day(dice, 1, 50), _at(dice, 18, 20), 90, "")
        event = _event(make, family, title, organizer, when)
        yield event
        if n % 2:
            yield Invitation(f"{event.id}/{user.id}", event.id, user.id, "needs_action", False)
    choir = _calendar(make, "Choir Committee", user, "owner")
    yield choir
    for n, title in enumerate(_CHOIR):
        when = _repeated(dice, 19, 20) if n < 2 else Series(_day(dice, 3, 50), time(20), 120, "")
        yield _event(make, choir, title, user, when)


def _viewed(make: SeedBuilder, user: Person, colleagues: list[Person]) -> Iterator[Record]:
    dice = make.dice
    launches = _calendar(make, "Product Launches", colleagues[0], "viewer")
    yield launches
    for title in _LAUNCHES:
        when = Series(_day(dice, 2, 60), _at(dice, 10, 15), 60, "")
        yield _event(make, launches, title, colleagues[0], when)
    holidays = _calendar(make, "Company Holidays", colleagues[1], "viewer")
    yield holidays
    for title, days in _HOLIDAYS:
        when = Series(TODAY + timedelta(days=days), time(0), 1440, "")
        yield _event(make, holidays, title, colleagues[1], when)
    archive = _calendar(make, "Archive 2025", user, "viewer")
    yield archive
    for n in range(6):
        when = Series(date(2025, 6 + n, dice.integer(2, 27)), _at(dice, 9, 15), 60, "")
        yield _event(make, archive, f"Annual report part {n + 1}", user, when)


def _hidden(
    make: SeedBuilder, calendar: Calendar, owner: Person, titles: list[str], rooms: list[Room]
) -> Iterator[Record]:
    dice = make.dice
    for n, title in enumerate(dice.sample(titles, 5)):
        when = _repeated(dice) if n == 0 else Series(_day(dice, 0, 14), _at(dice, 9, 16), dice.choice((30, 60)), "")
        event = _event(make, calendar, title, owner, when)
        if n == 1:
            event = replace(event, room_id=dice.choice(rooms[:3]).id)
        yield event
