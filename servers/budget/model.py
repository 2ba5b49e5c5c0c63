"""Records and error codes of the household budget."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from servers.kernel.store import Record
from servers.kernel.types import Entity, Money

CategoryId: TypeAlias = Annotated[str, Entity("budget_category")]
ExpenseId: TypeAlias = Annotated[str, Entity("expense")]
RecurringId: TypeAlias = Annotated[str, Entity("recurring_expense")]

Currency: TypeAlias = Literal["USD", "EUR", "GBP", "CHF", "JPY", "INR"]
Interval: TypeAlias = Literal["weekly", "monthly", "yearly"]
CategoryState: TypeAlias = Literal["within_limit", "nearly_used", "over_limit", "archived"]


class Fault(StrEnum):
    """What the budget refuses, beyond bad arguments and unknown ids."""

    LIMIT_EXCEEDED = "limit_exceeded"
    LIMIT_BELOW_SPENT = "limit_below_spent"
    CATEGORY_ARCHIVED = "category_archived"
    CATEGORY_EXISTS = "category_exists"
    MONTH_CLOSED = "month_closed"
    MONTH_NOT_OVER = "month_not_over"
    EARLIER_MONTH_OPEN = "earlier_month_open"
    MONTH_OUT_OF_RANGE = "month_out_of_range"
    FUTURE_EXPENSE = "future_expense"
    NO_EXCHANGE_RATE = "no_exchange_rate"
    INVALID_AMOUNT = "invalid_amount"
    DUPLICATE_EXPENSE = "duplicate_expense"
    NOTHING_TO_CHANGE = "nothing_to_change"
    RECURRING_EXISTS = "recurring_exists"
    START_NOT_ALLOWED = "start_not_allowed"
    ALREADY_STOPPED = "already_stopped"


@dataclass(frozen=True, slots=True)
class Category(Record):
    """What money is set aside for each month; its limits are `MonthlyLimit` rows, the first of which starts it.

    A `strict` category takes no expense beyond its limit. With `rollover`, what is left when a month is
    closed is added to the next month. Archived categories keep their history only.
    """

    id: CategoryId
    name: str
    currency: Currency
    strict: bool
    rollover: bool
    archived: bool


@dataclass(frozen=True, slots=True)
class MonthlyLimit(Record):
    """What may go out of a category each month from `since` (YYYY-MM) on, until a later limit holds."""

    id: str
    category_id: CategoryId
    since: str
    amount: Money


@dataclass(frozen=True, slots=True)
class Expense(Record):
    """Something paid; `amount` counts in the category's currency, `paid` is what left the purse."""

    id: ExpenseId
    category_id: CategoryId
    description: str
    amount: Money
    paid: Money
    spent_on: date


@dataclass(frozen=True, slots=True)
class Recurring(Record):
    """An expense that comes back by itself from its start until it was stopped."""

    id: RecurringId
    category_id: CategoryId
    description: str
    amount: Money
    interval: Interval
    starts_on: date
    stopped_on: date | None = None


@dataclass(frozen=True, slots=True)
class ClosedMonth(Record):
    """A month whose books are closed; its id is the month as YYYY-MM."""

    id: str
    closed_at: datetime


@dataclass(frozen=True, slots=True)
class Carried(Record):
    """What a category brought along into a month from the one before."""

    id: str
    category_id: CategoryId
    month: str
    amount: Money


@dataclass(frozen=True, slots=True)
class Rate(Record):
    """An exchange rate: millionths of one unit of `target` for one unit of `source`; its id is `EUR/USD`."""

    id: str
    source: Currency
    target: Currency
    millionths: int
