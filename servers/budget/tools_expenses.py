"""Tools about single and recurring expenses."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Annotated

from pydantic import Field

from servers.budget.model import (
    Category,
    CategoryId,
    Currency,
    Expense,
    ExpenseId,
    Fault,
    Interval,
    Recurring,
    RecurringId,
)
from servers.budget.rules import (
    active_category,
    category_of,
    check_day,
    check_limit,
    check_new_expense,
    check_open,
    exchanged,
    left,
    month_of,
    next_due,
)
from servers.budget.server import server
from servers.budget.views import (
    ExpenseSummary,
    Noted,
    RecurringSummary,
    Removed,
)
from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.store import shown
from servers.kernel.types import Amount, Date
from servers.shared.amounts import money

START_WINDOW = timedelta(days=366)

Description = Annotated[str, Field(min_length=2, max_length=80)]
Month = Annotated[str, Field(pattern=r"^20\d\d-(0[1-9]|1[0-2])$")]


def noted(session: Session, row: Expense) -> Noted:
    """An expense as a change shows it."""
    category = category_of(session, row.category_id)
    return Noted(row.id, category.name, row.amount, row.spent_on, left(session, category, month_of(row.spent_on)))


def recurring_summary(session: Session, row: Recurring) -> RecurringSummary:
    """A recurring expense as a list shows it."""
    name = category_of(session, row.category_id).name
    return RecurringSummary(row.id, row.description, row.amount, row.interval, name, next_due(session, row))


def expense_of(session: Session, expense_id: str) -> Expense:
    """The expense, if its month is open."""
    row = session.table(Expense).require(expense_id, "list_expenses shows the valid expense ids.")
    check_open(session, month_of(row.spent_on))
    return row


@server.tool(read_only=True)
def list_expenses(
    session: Session,
    query: Query = "",
    category_id: CategoryId | None = None,
    month: Month | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[ExpenseSummary]:
    """List expenses with their ids, newest first, by words, category or month.

    Args:
        query: words of the description.
        category_id: only this category.
        month: only this month, as YYYY-MM.
        limit: most expenses to return.
        offset: how many to skip.
    """
    if category_id is not None:
        category_of(session, category_id)
    names = {category.id: category.name for category in session.table(Category).all()}
    rows = [
        row
        for row in search(session.table(Expense).all(), query, lambda expense: expense.description)
        if category_id in (None, row.category_id) and month in (None, month_of(row.spent_on))
    ]
    rows.sort(key=lambda row: (-row.spent_on.toordinal(), row.id))
    return paginate(
        [ExpenseSummary(r.id, r.description, r.amount, r.spent_on, names[r.category_id]) for r in rows], limit, offset
    )


@server.tool()
def add_expense(
    session: Session,
    category_id: CategoryId,
    amount: Amount,
    description: Description,
    spent_on: Date | None = None,
    currency: Currency | None = None,
) -> Noted:
    """Note an expense in a budget category; another currency is exchanged at the stored rate.

    Args:
        category_id: the category, from list_budget_categories.
        amount: how much was paid.
        description: what it was for.
        spent_on: the day, by default today.
        currency: the currency paid in, by default the category's.

    Raises:
        category_archived: the category takes nothing new.
        future_expense: the day is still to come.
        month_closed: the books of that month are closed.
        month_out_of_range: the day lies before the first month of the books or of the category.
        limit_exceeded: a strict category has too little left.
        no_exchange_rate: the currency can't be exchanged into the category's.
        invalid_amount: the currency has no such fraction.
        duplicate_expense: the same expense is noted already.
    """
    category = active_category(session, category_id)
    day = spent_on or session.now.date()
    check_day(session, category, day)
    paid = money(amount, currency or category.currency, Fault.INVALID_AMOUNT)
    counted = exchanged(session, paid, category.currency)
    check_limit(session, category, day, counted)
    row = Expense(session.new_id("EXPN"), category.id, description, counted, paid, day)
    check_new_expense(session, row)
    return noted(session, session.table(Expense).add(row))


@server.tool()
def change_expense(
    session: Session,
    expense_id: ExpenseId,
    category_id: CategoryId | None = None,
    amount: Amount | None = None,
    spent_on: Date | None = None,
) -> Noted:
    """Correct an expense: move it to another category, or change its amount or day.

    Args:
        expense_id: the expense, from list_expenses.
        category_id: the category where it belongs.
        amount: the right amount, in the currency in which it was paid.
        spent_on: the right day.

    Raises:
        nothing_to_change: no change is given, or it is so already.
        month_closed: the books of the old or new month are closed.
        category_archived: the new category takes nothing new.
        future_expense: the new day is still to come.
        month_out_of_range: the day lies before the first month of the books or of the category.
        limit_exceeded: a strict category has too little left.
        no_exchange_rate: the amount can't be exchanged into the new category's currency.
        invalid_amount: the currency has no such fraction.
        duplicate_expense: another expense is just like that.
    """
    row = expense_of(session, expense_id)
    category = active_category(session, category_id or row.category_id)
    paid = row.paid if amount is None else money(amount, row.paid.currency, Fault.INVALID_AMOUNT)
    moved = category.id != row.category_id or paid != row.paid
    counted = exchanged(session, paid, category.currency) if moved else row.amount
    day = spent_on or row.spent_on
    changed = replace(row, category_id=category.id, paid=paid, amount=counted, spent_on=day)
    if changed == row:
        raise ToolError(
            Fault.NOTHING_TO_CHANGE,
            f"{shown(row.description)} is so already; give a new category_id, amount or spent_on.",
        )
    check_day(session, category, day)
    same_purse = (category.id, month_of(day)) == (row.category_id, month_of(row.spent_on))
    check_limit(session, category, day, counted - row.amount if same_purse else counted)
    check_new_expense(session, changed)
    return noted(session, session.table(Expense).put(changed))


@server.tool(destructive=True)
def delete_expense(session: Session, expense_id: ExpenseId) -> Removed:
    """Delete an expense that was noted by mistake, in a month that is still open.

    Args:
        expense_id: the expense, from list_expenses.

    Raises:
        month_closed: the books of its month are closed.
    """
    row = expense_of(session, expense_id)
    session.table(Expense).remove(row.id)
    category = category_of(session, row.category_id)
    return Removed(row.id, category.name, left(session, category, month_of(row.spent_on)))


@server.tool(read_only=True)
def list_recurring_expenses(
    session: Session, query: Query = "", interval: Interval | None = None, limit: Limit = 5, offset: Offset = 0
) -> Page[RecurringSummary]:
    """List recurring expenses with their ids and next day. Ordered by description.

    Args:
        query: words of the description.
        interval: only what comes back so often.
        limit: most to return.
        offset: how many to skip.
    """
    rows = search(session.table(Recurring).all(), query, lambda row: row.description)
    rows = sorted((r for r in rows if interval in (None, r.interval)), key=lambda row: (row.description, row.id))
    return paginate([recurring_summary(session, row) for row in rows], limit, offset)


@server.tool()
def add_recurring_expense(
    session: Session,
    category_id: CategoryId,
    amount: Amount,
    description: Description,
    interval: Interval,
    starts_on: Date | None = None,
) -> RecurringSummary:
    """Set up an expense that comes back every week, month or year and counts by itself.

    Args:
        category_id: the category, from list_budget_categories.
        amount: how much each time, in the category's currency.
        description: what it is for.
        interval: how often it comes back.
        starts_on: the first day, from today to a year ahead; by default today.

    Raises:
        category_archived: the category takes nothing new.
        start_not_allowed: the first day is past or more than a year ahead.
        recurring_exists: the category has a running one of that description.
        limit_exceeded: a strict category has too little left for the first time.
        invalid_amount: the currency has no such fraction.
    """
    category = active_category(session, category_id)
    today = session.now.date()
    start = starts_on or today
    if not today <= start <= today + START_WINDOW:
        raise ToolError(
            Fault.START_NOT_ALLOWED,
            f"The first day must lie between {today} and {today + START_WINDOW}; give such a day.",
        )
    for other in session.table(Recurring).where(category_id=category.id):
        if other.stopped_on is None and other.description.casefold() == description.casefold():
            raise ToolError(
                Fault.RECURRING_EXISTS,
                f"{shown(other.description)} runs already ({other.id}); stop_recurring_expense comes first.",
            )
    each = money(amount, category.currency, Fault.INVALID_AMOUNT)
    check_limit(session, category, start, each)
    row = Recurring(session.new_id("RCUR"), category.id, description, each, interval, start)
    return recurring_summary(session, session.table(Recurring).add(row))


@server.tool()
def stop_recurring_expense(session: Session, recurring_expense_id: RecurringId) -> RecurringSummary:
    """Stop a recurring expense from tomorrow on; what it counted so far stays.

    Args:
        recurring_expense_id: the recurring expense, from list_recurring_expenses.

    Raises:
        already_stopped: it no longer runs.
    """
    row = session.table(Recurring).require(recurring_expense_id, "list_recurring_expenses shows the valid ids.")
    if row.stopped_on is not None:
        raise ToolError(
            Fault.ALREADY_STOPPED, f"{shown(row.description)} was stopped on {row.stopped_on}; there is nothing to do."
        )
    stopped = replace(row, stopped_on=session.now.date() + timedelta(days=1))
    return recurring_summary(session, session.table(Recurring).put(stopped))
