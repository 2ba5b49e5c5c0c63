"""Tools about categories, their limits, and months as a whole."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from servers.budget.model import (
    Carried,
    Category,
    CategoryId,
    CategoryState,
    ClosedMonth,
    Currency,
    Fault,
    MonthlyLimit,
)
from servers.budget.rules import (
    active_category,
    carried,
    categories_in,
    check_month,
    check_open,
    first_open,
    left,
    limit_of,
    month_after,
    spent,
    state_of,
    this_month,
    to_spend,
)
from servers.budget.server import server
from servers.budget.views import (
    CategoryDetails,
    CategorySummary,
    CategoryTotal,
    MonthClosed,
    SpendingReport,
)
from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.store import shown
from servers.kernel.types import Amount, Money
from servers.shared.amounts import money

Month = Annotated[str, Field(pattern=r"^20\d\d-(0[1-9]|1[0-2])$")]


def details(session: Session, category: Category) -> CategoryDetails:
    """A category as a change shows it."""
    month = this_month(session)
    limit, rest = limit_of(session, category, month), left(session, category, month)
    return CategoryDetails(category.id, category.name, limit, rest, category.strict, category.rollover)


def put_limit(session: Session, category: Category, amount: Money) -> None:
    """Let a limit hold from this month on; months before keep theirs."""
    month = this_month(session)
    session.table(MonthlyLimit).put(MonthlyLimit(f"{category.id}/{month}", category.id, month, amount))


@server.tool(read_only=True)
def list_budget_categories(
    session: Session,
    query: Query = "",
    state: CategoryState | None = None,
    month: Month | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[CategorySummary]:
    """List budget categories with their ids, monthly limit and what is left. Ordered by name.

    Use it first whenever a request names a category.

    Args:
        query: words of the category's name.
        state: only categories used up so far.
        month: the month to look at as YYYY-MM, by default the present one.
        limit: most categories to return.
        offset: how many to skip.

    Raises:
        month_out_of_range: the books do not hold that month.
    """
    month = month or this_month(session)
    check_month(session, month)
    rows = search(categories_in(session, month), query, lambda category: category.name)
    found = [
        CategorySummary(c.id, c.name, limit_of(session, c, month), left(session, c, month), state_of(session, c, month))
        for c in sorted(rows, key=lambda category: (category.name, category.id))
    ]
    return paginate([item for item in found if state in (None, item.state)], limit, offset)


@server.tool()
def create_budget_category(
    session: Session,
    name: Annotated[str, Field(min_length=2, max_length=40, pattern=r"^\S.{1,39}$")],
    monthly_limit: Amount,
    currency: Currency = "USD",
    strict: bool = False,
    rollover: bool = False,
) -> CategoryDetails:
    """Create a budget category with a monthly limit, from this month on.

    Args:
        name: what the money is for.
        monthly_limit: how much may go out in a month.
        currency: the currency of the limit.
        strict: refuse expenses beyond the limit.
        rollover: carry what is left into the next month.

    Raises:
        category_exists: a category has that name, perhaps an archived one.
        invalid_amount: the currency has no such fraction.
    """
    for other in session.table(Category).all():
        if other.name.casefold() == name.strip().casefold():
            raise ToolError(
                Fault.CATEGORY_EXISTS,
                f"{shown(other.name)} exists{' as an archived category' if other.archived else ''} ({other.id}); "
                "choose another name or use set_budget_limit.",
            )
    limit = money(monthly_limit, currency, Fault.INVALID_AMOUNT)
    row = session.table(Category).add(Category(session.new_id("BCAT"), name.strip(), currency, strict, rollover, False))
    put_limit(session, row, limit)
    return details(session, row)


@server.tool(idempotent=True)
def set_budget_limit(session: Session, category_id: CategoryId, monthly_limit: Amount) -> CategoryDetails:
    """Change the monthly limit of a budget category from this month on; earlier months keep theirs.

    Args:
        category_id: the category, from list_budget_categories.
        monthly_limit: the new limit in the category's currency.

    Raises:
        category_archived: archived categories keep their limit.
        limit_below_spent: a strict category has spent more than that this month.
        invalid_amount: the currency has no such fraction.
    """
    category = active_category(session, category_id)
    wanted = money(monthly_limit, category.currency, Fault.INVALID_AMOUNT)
    used = spent(session, category, this_month(session)) - carried(session, category, this_month(session))
    if category.strict and wanted < used:
        raise ToolError(
            Fault.LIMIT_BELOW_SPENT,
            f"{category.name} is strict and needs at least {used} this month; set {used} or more.",
        )
    put_limit(session, category, wanted)
    return details(session, category)


@server.tool(read_only=True)
def get_spending_report(session: Session, month: Month | None = None) -> SpendingReport:
    """Sum up a month: totals for each currency and the categories that used most of their limit.

    Args:
        month: the month as YYYY-MM, by default the present one.

    Raises:
        month_out_of_range: the books do not hold that month.
    """
    month = month or this_month(session)
    check_month(session, month)
    totals: dict[str, Money] = {}
    shares, over = [], 0
    for category in categories_in(session, month):
        used = spent(session, category, month)
        totals[used.currency] = totals.get(used.currency, Money(0, used.currency)) + used
        full = to_spend(session, category, month).minor
        shares.append(CategoryTotal(category.name, used, used.minor * 100 // max(full, 1)))
        over += state_of(session, category, month) == "over_limit"
    shares.sort(key=lambda item: (-item.percent_of_limit, item.category))
    return SpendingReport(
        month=month,
        closed=session.table(ClosedMonth).get(month) is not None,
        totals=[totals[currency] for currency in sorted(totals)],
        over_limit=over,
        top=shares[:3],
    )


@server.tool()
def close_budget_month(session: Session, month: Month) -> MonthClosed:
    """Close a month that is over: its expenses are fixed and what is left rolls over.

    Args:
        month: the month as YYYY-MM; months are closed one after the other.

    Raises:
        month_closed: it is closed already.
        month_not_over: its last day has not passed.
        earlier_month_open: a month before it is still open.
        month_out_of_range: the books do not hold that month.
    """
    if month == this_month(session):
        raise ToolError(Fault.MONTH_NOT_OVER, f"{month} still runs; it can be closed from {month_after(month)}-01 on.")
    check_month(session, month)
    check_open(session, month)
    if month != first_open(session):
        raise ToolError(Fault.EARLIER_MONTH_OPEN, f"{first_open(session)} is still open; close it before {month}.")
    session.table(ClosedMonth).add(ClosedMonth(month, session.now))
    after, passed_on, overspent = month_after(month), 0, 0
    for category in [row for row in categories_in(session, month) if not row.archived]:
        rest = left(session, category, month)
        overspent += rest.minor < 0
        if category.rollover and rest.minor > 0:
            session.table(Carried).add(Carried(f"{category.id}/{after}", category.id, after, rest))
            passed_on += 1
    return MonthClosed(month, after, passed_on, overspent)
