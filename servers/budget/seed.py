"""The budget's initial world: categories in several currencies, five months of expenses, recurring ones and rates."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

from servers.budget.model import (
    Carried,
    Category,
    ClosedMonth,
    Currency,
    Expense,
    Interval,
    MonthlyLimit,
    Rate,
    Recurring,
)
from servers.kernel.dice import Dice
from servers.kernel.server import SeedBuilder
from servers.kernel.session import EPOCH
from servers.kernel.store import Record
from servers.kernel.types import MINOR_DIGITS, Money

MONTHS = ("2025-10", "2025-11", "2025-12", "2026-01", "2026-02", "2026-03")
FIRST_MONTH = MONTHS[0]
_CATEGORIES: tuple[tuple[str, Currency, int, str, tuple[str, ...]], ...] = (
    ("Groceries", "USD", 620, "r", ("weekly shop", "farmers market", "bakery", "corner shop")),
    ("Dining Out", "USD", 240, "s", ("pizza night", "sushi lunch", "brunch", "coffee with friends")),
    ("Transport", "USD", 180, "", ("train tickets", "fuel", "parking", "taxi home")),
    ("Health", "USD", 150, "r", ("pharmacy", "dentist", "eye test", "physiotherapy")),
    ("Clothing", "USD", 130, "sr", ("winter boots", "two shirts", "running shoes", "scarf")),
    ("Home Repairs", "USD", 200, "r", ("paint", "plumber", "light bulbs", "new lock")),
    ("Gifts", "USD", 90, "", ("birthday present", "flowers", "book for a friend", "wedding gift")),
    ("Pets", "USD", 110, "", ("cat food", "vet visit", "litter", "scratching post")),
    ("Hobbies", "USD", 100, "s", ("climbing hall", "guitar strings", "board game", "yarn")),
    ("Education", "USD", 160, "r", ("language course", "textbook", "exam fee", "workshop")),
    ("Berlin Trip", "EUR", 450, "s", ("hotel night", "museum", "tram pass", "dinner")),
    ("Lisbon Flat", "EUR", 520, "r", ("cleaning", "furniture", "internet", "repairs")),
    ("London Commute", "GBP", 210, "", ("oyster top-up", "bus", "rail fare", "bike hire")),
    ("Tokyo Savings Trip", "JPY", 48_000, "sr", ("guide book", "rail pass", "onsen deposit", "capsule hotel")),
    ("Old Gym", "USD", 60, "a", ("membership", "locker", "towel fee")),
    ("Baby Supplies", "EUR", 140, "a", ("nappies", "toys", "formula")),
)
_RECURRING: tuple[tuple[str, str, int, Interval], ...] = (
    ("Groceries", "vegetable box", 28, "weekly"),
    ("Transport", "bike lease", 39, "monthly"),
    ("Health", "gym membership", 45, "monthly"),
    ("Health", "travel insurance", 96, "yearly"),
    ("Pets", "pet insurance", 22, "monthly"),
    ("Hobbies", "music streaming", 11, "monthly"),
    ("Hobbies", "magazine", 7, "weekly"),
    ("Education", "online academy", 30, "monthly"),
    ("Lisbon Flat", "fibre internet", 35, "monthly"),
    ("Lisbon Flat", "window cleaner", 18, "weekly"),
    ("London Commute", "season ticket share", 60, "monthly"),
    ("Gifts", "charity donation", 15, "monthly"),
    ("Dining Out", "office lunch plan", 25, "weekly"),
    ("Home Repairs", "boiler service", 120, "yearly"),
)
_RATES: tuple[tuple[Currency, Currency, int], ...] = (
    ("EUR", "USD", 1_080_000),
    ("GBP", "USD", 1_270_000),
    ("CHF", "USD", 1_130_000),
    ("USD", "EUR", 926_000),
    ("GBP", "EUR", 1_176_000),
    ("EUR", "GBP", 850_000),
    ("USD", "JPY", 149_500_000),
    ("EUR", "JPY", 161_400_000),
    ("JPY", "USD", 6_690),
)


def build(make: SeedBuilder) -> Iterator[Record]:
    """Write the rows in an order that needs no look-ahead."""
    dice = make.dice
    categories: dict[str, Category] = {}
    for name, currency, limit, flags, words in _CATEGORIES:
        category = _category(make, name, currency, flags)
        each = _limit(dice, limit, currency)
        categories[name] = category
        yield category
        yield MonthlyLimit(f"{category.id}/{FIRST_MONTH}", category.id, FIRST_MONTH, each)
        yield from _expenses(make, dice, category, each, words)
        yield from _carried(dice, category, each)
    yield from _recurring(make, dice, categories)
    for month, after in pairwise(MONTHS[:5]):
        closed = datetime.fromisoformat(f"{after}-01").replace(tzinfo=UTC)
        yield ClosedMonth(month, closed + timedelta(days=dice.integer(1, 5), minutes=dice.integer(0, 900)))
    for source, target, millionths in _RATES:
        yield Rate(f"{source}/{target}", source, target, millionths * dice.integer(970, 1030) // 1000)


def _units(dice: Dice, low: int, high: int, currency: str) -> Money:
    scale = 10 ** MINOR_DIGITS[currency]
    return Money(dice.integer(low * scale, high * scale), currency)


def _limit(dice: Dice, usual: int, currency: str) -> Money:
    wide = usual * dice.integer(85, 115) // 100
    step = 500 if currency == "JPY" else 5
    return Money(wide // step * step * 10 ** MINOR_DIGITS[currency], currency)


def _category(make: SeedBuilder, name: str, currency: Currency, flags: str) -> Category:
    return Category(
        id=make.new_id("BCAT"),
        name=name,
        currency=currency,
        strict="s" in flags,
        rollover="r" in flags,
        archived="a" in flags,
    )


def _expenses(
    make: SeedBuilder, dice: Dice, category: Category, limit: Money, words: tuple[str, ...]
) -> Iterator[Record]:
    unit = limit.minor // 10 ** MINOR_DIGITS[limit.currency]
    for month in MONTHS[:3] if category.archived else MONTHS:
        first = date.fromisoformat(f"{month}-01")
        for _ in range(2 if month == MONTHS[-1] else dice.integer(3, 6)):
            day = first + timedelta(days=dice.integer(0, 1 if month == MONTHS[-1] else 27))
            heavy = month == MONTHS[-1] and category.name in ("Dining Out", "Gifts", "Hobbies")
            amount = _units(dice, unit // 3, unit // 2, limit.currency) if heavy else _small(dice, unit, limit.currency)
            yield Expense(make.new_id("EXPN"), category.id, dice.choice(words), amount, amount, day)


def _small(dice: Dice, unit: int, currency: str) -> Money:
    return _units(dice, max(unit // 40, 1), max(unit // 5, 2), currency)


def _carried(dice: Dice, category: Category, limit: Money) -> Iterator[Record]:
    if category.rollover and not category.archived:
        for month in MONTHS[1:5]:
            amount = limit.share(dice.integer(2, 20), 100)
            yield Carried(f"{category.id}/{month}", category.id, month, amount)


def _recurring(make: SeedBuilder, dice: Dice, categories: dict[str, Category]) -> Iterator[Record]:
    for n, (name, text, amount, interval) in enumerate(_RECURRING):
        category = categories[name]
        start = EPOCH.date() - timedelta(days=dice.integer(20, 330))
        stopped = EPOCH.date() - timedelta(days=dice.integer(1, 15)) if n % 5 == 4 else None
        money = Money(amount * 100 + dice.integer(0, 99), category.currency)
        yield Recurring(make.new_id("RCUR"), category.id, text, money, interval, start, stopped)
