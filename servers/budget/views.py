"""What the budget's tools show."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from servers.budget.model import CategoryId, CategoryState, ExpenseId, Interval, RecurringId
from servers.kernel.types import Money


@dataclass(frozen=True, slots=True)
class CategorySummary:
    """A category and what is left of it in a month."""

    id: CategoryId
    name: str
    limit: Money
    left: Money
    state: CategoryState


@dataclass(frozen=True, slots=True)
class CategoryDetails:
    """A category after a change."""

    id: CategoryId
    name: str
    limit: Money
    left: Money
    strict: bool
    rollover: bool


@dataclass(frozen=True, slots=True)
class ExpenseSummary:
    """An expense in a list."""

    id: ExpenseId
    description: str
    amount: Money
    spent_on: date
    category: str


@dataclass(frozen=True, slots=True)
class Noted:
    """An expense that was noted or changed, and what its category has left in that month."""

    expense_id: ExpenseId
    category: str
    amount: Money
    spent_on: date
    left: Money


@dataclass(frozen=True, slots=True)
class Removed:
    """Confirms that an expense is gone, and what its category has left in that month."""

    id: str
    category: str
    left: Money
    removed: bool = True


@dataclass(frozen=True, slots=True)
class RecurringSummary:
    """A recurring expense; without `next_due` it is stopped."""

    id: RecurringId
    description: str
    amount: Money
    interval: Interval
    category: str
    next_due: date | None


@dataclass(frozen=True, slots=True)
class CategoryTotal:
    """What went out of one category in a month."""

    category: str
    spent: Money
    percent_of_limit: int


@dataclass(frozen=True, slots=True)
class SpendingReport:
    """A month in figures: totals for each currency, then the categories that used most of their limit."""

    month: str
    closed: bool
    totals: list[Money]
    over_limit: int
    top: list[CategoryTotal]


@dataclass(frozen=True, slots=True)
class MonthClosed:
    """A closed month and what it passed on."""

    month: str
    carried_to: str
    categories_carried: int
    overspent: int
