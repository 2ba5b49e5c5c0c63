"""Repetition of events: a subset of RFC 5545 over civil dates, and civil time to UTC.

Rules know FREQ=DAILY|WEEKLY|MONTHLY, INTERVAL, COUNT, UNTIL (as a date, included) and BYDAY, in monthly rules with
one ordinal such as 2TU or -1FR. Weeks start on Monday. A rule yields civil dates; the time of day stays what the wall
clock shows in the event's zone, so that an occurrence moves in UTC when daylight saving time begins or ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from itertools import count
from typing import Literal, TypeAlias, get_args
from zoneinfo import ZoneInfo

Frequency: TypeAlias = Literal["daily", "weekly", "monthly"]
Weekday: TypeAlias = Literal["MO", "TU", "WE", "TH", "FR", "SA", "SU"]

FREQUENCIES: tuple[Frequency, ...] = get_args(Frequency)
WEEKDAYS: tuple[Weekday, ...] = get_args(Weekday)


@dataclass(frozen=True, slots=True)
class Rule:
    """How an event repeats; `nth` says which of the month's weekdays, -1 being the last."""

    frequency: Frequency
    interval: int = 1
    count: int | None = None
    until: date | None = None
    weekdays: tuple[Weekday, ...] = ()
    nth: int | None = None

    def __str__(self) -> str:
        parts = [f"FREQ={self.frequency.upper()}"]
        if self.interval != 1:
            parts.append(f"INTERVAL={self.interval}")
        if self.count is not None:
            parts.append(f"COUNT={self.count}")
        if self.until is not None:
            parts.append(f"UNTIL={self.until:%Y%m%d}")
        if self.weekdays:
            parts.append("BYDAY=" + ",".join(f"{self.nth or ''}{day}" for day in self.weekdays))
        return ";".join(parts)


@lru_cache(maxsize=1024)
def parse_rule(text: str) -> Rule:
    """Read a rule in the spelling that `str` gives it.

    Raises:
        ValueError: a part is unknown or malformed.
    """
    rule = Rule("daily")
    for part in text.split(";"):
        name, _, value = part.partition("=")
        match name:
            case "FREQ":
                rule = replace(rule, frequency=_frequency(value))
            case "INTERVAL":
                rule = replace(rule, interval=int(value))
            case "COUNT":
                rule = replace(rule, count=int(value))
            case "UNTIL":
                rule = replace(rule, until=datetime.strptime(value, "%Y%m%d").date())
            case "BYDAY":
                days = value.split(",")
                ordinal = days[0][:-2]
                rule = replace(rule, weekdays=tuple(_weekday(day[-2:]) for day in days))
                rule = replace(rule, nth=int(ordinal) if ordinal else None)
            case _:
                raise ValueError(f"unknown part {part!r} in the rule {text!r}")
    return rule


def _frequency(text: str) -> Frequency:
    return FREQUENCIES[[known.upper() for known in FREQUENCIES].index(text)]


def _weekday(text: str) -> Weekday:
    return WEEKDAYS[WEEKDAYS.index(text)]


def weekday_of(day: date) -> Weekday:
    """The two letters of a date's weekday."""
    return WEEKDAYS[day.weekday()]


def dates_between(rule: Rule, first: date, low: date, high: date) -> Iterator[date]:
    """The dates from `low` to `high`, both included, on which a rule that starts on `first` occurs, in order."""
    last = high if rule.until is None else min(high, rule.until)
    met = 0
    for period in count(0 if rule.count else max(0, _period_of(rule, first, low) - 1)):
        if _period_start(rule, first, period) > last:
            return
        for day in _candidates(rule, first, period):
            if day < first:
                continue
            met += 1
            if day > last or (rule.count is not None and met > rule.count):
                return
            if day >= low:
                yield day


def occurs_on(rule: Rule, first: date, day: date) -> bool:
    """Whether the rule that starts on `first` has an occurrence on `day`."""
    return any(True for _ in dates_between(rule, first, day, day))


def continued(rule: Rule, first: date, old: date, new: date) -> Rule:
    """The rest of a series that began on `first`, when its occurrence of `old` moves to `new` and begins it.

    Weekdays stay as they are if the new day is among them, and turn with it otherwise.
    """
    if rule.count is not None:
        rule = replace(rule, count=rule.count - sum(day < old for day in dates_between(rule, first, first, old)))
    if rule.nth is not None:
        last = (new + timedelta(days=7)).month != new.month
        nth = -1 if last and (rule.nth < 0 or new.day > 28) else (new.day - 1) // 7 + 1
        rule = replace(rule, weekdays=(weekday_of(new),), nth=nth)
    elif rule.weekdays and weekday_of(new) not in rule.weekdays:
        turn = (new - old).days
        turned = {WEEKDAYS[(WEEKDAYS.index(day) + turn) % 7] for day in rule.weekdays}
        until = rule.until + timedelta(days=turn) if rule.until else None
        return replace(rule, weekdays=tuple(sorted(turned, key=WEEKDAYS.index)), until=until)
    return replace(rule, until=max(rule.until, new) if rule.until else None)


def _period_of(rule: Rule, first: date, day: date) -> int:
    match rule.frequency:
        case "daily":
            return (day - first).days // rule.interval
        case "weekly":
            return ((day - first).days + first.weekday()) // (7 * rule.interval)
        case "monthly":
            return ((day.year - first.year) * 12 + day.month - first.month) // rule.interval


def _period_start(rule: Rule, first: date, period: int) -> date:
    match rule.frequency:
        case "daily":
            return first + timedelta(days=period * rule.interval)
        case "weekly":
            return first + timedelta(days=period * rule.interval * 7 - first.weekday())
        case "monthly":
            months = first.month - 1 + period * rule.interval
            return date(first.year + months // 12, months % 12 + 1, 1)


def _candidates(rule: Rule, first: date, period: int) -> list[date]:
    start = _period_start(rule, first, period)
    match rule.frequency:
        case "daily":
            return [start] if not rule.weekdays or weekday_of(start) in rule.weekdays else []
        case "weekly":
            wanted = rule.weekdays or (weekday_of(first),)
            return [start + timedelta(days=n) for n, day in enumerate(WEEKDAYS) if day in wanted]
        case "monthly":
            return _days_of_month(rule, first, start)


def _days_of_month(rule: Rule, first: date, start: date) -> list[date]:
    days = [start + timedelta(days=n) for n in range(31)]
    days = [day for day in days if day.month == start.month]
    if not rule.weekdays:
        return [day for day in days if day.day == first.day]
    fitting = [day for day in days if weekday_of(day) in rule.weekdays]
    if rule.nth is None:
        return fitting
    place = rule.nth if rule.nth < 0 else rule.nth - 1
    return fitting[place : place + 1 or None]


@lru_cache(maxsize=64)
def zone_of(name: str) -> ZoneInfo:
    """The time zone of an IANA name."""
    return ZoneInfo(name)


def to_utc(day: date, at: time, zone: str) -> datetime:
    """The moment of a civil time: a skipped one is read with the offset before the gap, a repeated one is the first."""
    return datetime.combine(day, at, zone_of(zone)).astimezone(UTC)


def to_local(moment: datetime, zone: str) -> datetime:
    """What the wall clock of a zone shows at a moment."""
    return moment.astimezone(zone_of(zone))


def is_skipped(day: date, at: time, zone: str) -> bool:
    """Whether clocks jump over this civil time, as they do when daylight saving time begins."""
    return to_local(to_utc(day, at, zone), zone).time() != at
