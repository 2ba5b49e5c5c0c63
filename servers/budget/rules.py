"""The rules of the budget: months, exchange, what is spent and what is left."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from datetime import date, timedelta

from servers.budget.model import (
    Carried,
    Category,
    CategoryState,
    ClosedMonth,
    Expense,
    Fault,
    MonthlyLimit,
    Rate,
    Recurring,
)
from servers.budget.seed import FIRST_MONTH
from servers.kernel.errors import ToolError
from servers.kernel.session import Session
from servers.kernel.store import shown
from servers.kernel.types import MINOR_DIGITS, Money

NEARLY = 85
"""Percentage of the limit from which on a category counts as nearly used."""


def category_of(session: Session, category_id: str) -> Category:
    """The category, or an error that says how to find one."""
    return session.table(Category).require(category_id, "list_budget_categories shows the valid category ids.")


def active_category(session: Session, category_id: str) -> Category:
    """The category, if it still takes expenses."""
    category = category_of(session, category_id)
    if category.archived:
        raise ToolError(
            Fault.CATEGORY_ARCHIVED,
            f"{category.name} is archived and takes nothing new; list_budget_categories shows the others.",
        )
    return category


def limits_of(session: Session, category: Category) -> list[MonthlyLimit]:
    """The limits that a category has had, the first one first."""
    return sorted(session.table(MonthlyLimit).where(category_id=category.id), key=lambda row: row.since)


def limit_of(session: Session, category: Category, month: str) -> Money:
    """The limit that holds in a month; nothing before the category's first month."""
    rows = [row for row in limits_of(session, category) if row.since <= month]
    return rows[-1].amount if rows else Money(0, category.currency)


def categories_in(session: Session, month: str) -> list[Category]:
    """The categories that had begun in a month."""
    return [row for row in session.table(Category).all() if limits_of(session, row)[0].since <= month]


def month_of(day: date) -> str:
    """The month of a day as YYYY-MM."""
    return f"{day:%Y-%m}"


def month_after(month: str) -> str:
    """The next month."""
    first = date.fromisoformat(f"{month}-01")
    return month_of(first + timedelta(days=31))


def this_month(session: Session) -> str:
    """The month in which the session is."""
    return month_of(session.now.date())


def check_month(session: Session, month: str) -> None:
    """Refuse a month before the first or after the present one."""
    if not FIRST_MONTH <= month <= this_month(session):
        raise ToolError(
            Fault.MONTH_OUT_OF_RANGE,
            f"The books run from {FIRST_MONTH} to {this_month(session)}; give a month in between.",
        )


def check_day(session: Session, category: Category, day: date) -> None:
    """Refuse an expense in the future, before the category's first month, or in a month that is closed."""
    if day > session.now.date():
        raise ToolError(
            Fault.FUTURE_EXPENSE,
            f"{day} is still to come; give a day up to {session.now.date()}, or use add_recurring_expense.",
        )
    check_month(session, month_of(day))
    begun = limits_of(session, category)[0].since
    if month_of(day) < begun:
        raise ToolError(
            Fault.MONTH_OUT_OF_RANGE, f"{category.name} begins in {begun}; give a day from then on or another category."
        )
    check_open(session, month_of(day))


def check_open(session: Session, month: str) -> None:
    """Refuse to change a closed month."""
    if session.table(ClosedMonth).get(month) is not None:
        raise ToolError(Fault.MONTH_CLOSED, f"{month} is closed; only months from {first_open(session)} on can change.")


def first_open(session: Session) -> str:
    """The earliest month that is not closed."""
    return max((month_after(row.id) for row in session.table(ClosedMonth).all()), default=FIRST_MONTH)


def exchanged(session: Session, paid: Money, currency: str) -> Money:
    """What an amount is worth in another currency, rounded to its smallest unit."""
    if paid.currency == currency:
        return paid
    rate = session.table(Rate).get(f"{paid.currency}/{currency}")
    if rate is None:
        known = sorted(row.source for row in session.table(Rate).where(target=currency))
        raise ToolError(
            Fault.NO_EXCHANGE_RATE,
            f"There is no rate from {paid.currency} to {currency}; give the amount in {', '.join([currency, *known])}.",
        )
    shift = MINOR_DIGITS[paid.currency] - MINOR_DIGITS[currency]
    whole = Money(paid.minor * 10 ** max(-shift, 0), currency)
    return whole.share(rate.millionths, 1_000_000 * 10 ** max(shift, 0))


def occurrences(recurring: Recurring, until: date) -> Iterator[date]:
    """The days on which a recurring expense fell due, up to a day."""
    last = until if recurring.stopped_on is None else min(until, recurring.stopped_on - timedelta(days=1))
    day, number = recurring.starts_on, 0
    while day <= last:
        yield day
        number += 1
        day = nth_day(recurring, number)


def nth_day(recurring: Recurring, number: int) -> date:
    """The day of the occurrence with this number; the 31st becomes the last day of a shorter month."""
    start = recurring.starts_on
    if recurring.interval == "weekly":
        return start + timedelta(weeks=number)
    months = number * (12 if recurring.interval == "yearly" else 1) + start.month - 1
    year, month = start.year + months // 12, months % 12 + 1
    return date(year, month, min(start.day, monthrange(year, month)[1]))


def next_due(session: Session, recurring: Recurring) -> date | None:
    """The next day on which it falls due after today, if it isn't stopped."""
    if recurring.stopped_on is not None:
        return None
    done = sum(1 for _ in occurrences(recurring, session.now.date()))
    return nth_day(recurring, done)


def spent(session: Session, category: Category, month: str) -> Money:
    """What went out of a category in a month, recurring expenses that fell due included."""
    total = Money(0, category.currency)
    for expense in session.table(Expense).where(category_id=category.id):
        if month_of(expense.spent_on) == month:
            total += expense.amount
    for recurring in session.table(Recurring).where(category_id=category.id):
        due = [day for day in occurrences(recurring, session.now.date()) if month_of(day) == month]
        total += recurring.amount * len(due)
    return total


def carried(session: Session, category: Category, month: str) -> Money:
    """What a category brought along from the month before."""
    row = session.table(Carried).get(f"{category.id}/{month}")
    return row.amount if row else Money(0, category.currency)


def to_spend(session: Session, category: Category, month: str) -> Money:
    """The month's limit and what was brought along."""
    return limit_of(session, category, month) + carried(session, category, month)


def left(session: Session, category: Category, month: str) -> Money:
    """What may still be spent; below zero when it is overspent."""
    return to_spend(session, category, month) - spent(session, category, month)


def state_of(session: Session, category: Category, month: str) -> CategoryState:
    """How far a category is used up."""
    if category.archived:
        return "archived"
    rest = left(session, category, month).minor
    if rest < 0:
        return "over_limit"
    full = to_spend(session, category, month).minor
    return "nearly_used" if rest * 100 <= full * (100 - NEARLY) else "within_limit"


def check_limit(session: Session, category: Category, day: date, extra: Money) -> None:
    """Refuse to spend more than is left of a strict category."""
    month = month_of(day)
    rest = left(session, category, month)
    if category.strict and extra > max(rest, Money(0, rest.currency)):
        advice = "use another category"
        if month >= this_month(session):
            advice = f"set_budget_limit can raise it, or {advice}"
        raise ToolError(
            Fault.LIMIT_EXCEEDED,
            f"{category.name} is strict and has {rest} left for {month}, {extra} is too much; {advice}.",
        )


def check_new_expense(session: Session, row: Expense) -> None:
    """Refuse an expense that is noted already."""
    for other in session.table(Expense).where(category_id=row.category_id):
        same = (other.spent_on, other.paid, other.description.casefold())
        if other.id != row.id and same == (row.spent_on, row.paid, row.description.casefold()):
            raise ToolError(
                Fault.DUPLICATE_EXPENSE,
                f"{shown(other.description)} over {other.paid} on {other.spent_on} is noted already ({other.id}); "
                "say in the description what is different.",
            )
