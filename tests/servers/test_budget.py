"""The budget: each error code is reached, and what is left always follows from what was noted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date

import pytest

from servers.budget.model import Category, Expense, Fault, Recurring
from servers.budget.rules import month_of, nth_day
from servers.kernel.types import Money
from tests.servers.play import Play


def category(play: Play, name: str) -> Category:
    return next(row for row in play.rows(Category) if row.name == name)


def expense(play: Play, name: str, month: str) -> Expense:
    wanted = category(play, name).id
    return next(row for row in play.rows(Expense) if row.category_id == wanted and month_of(row.spent_on) == month)


def recurring(play: Play, stopped: bool) -> Recurring:
    return next(row for row in play.rows(Recurring) if (row.stopped_on is not None) == stopped)


def spend(play: Play, name: str = "Groceries", **changes: object) -> dict[str, object]:
    return {"category_id": category(play, name).id, "amount": 5, "description": "pencils", **changes}


def left(play: Play, name: str, month: str = "2026-03") -> str:
    return str(play.ok("list_budget_categories", query=name, month=month)["items"][0]["left"])


def limit_exceeded(play: Play) -> None:
    message = play.fails("limit_exceeded", "add_expense", **spend(play, "Dining Out", amount=5000))
    assert left(play, "Dining Out") in message
    play.ok("add_expense", **spend(play, "Groceries", amount=5000))
    regular = spend(play, "Hobbies", amount=5000, interval="monthly")
    play.fails("limit_exceeded", "add_recurring_expense", **regular)


def limit_below_spent(play: Play) -> None:
    arguments = {"category_id": category(play, "Dining Out").id, "monthly_limit": 1}
    play.fails("limit_below_spent", "set_budget_limit", **arguments)


def category_archived(play: Play) -> None:
    play.fails("category_archived", "add_expense", **spend(play, "Old Gym"))
    play.fails("category_archived", "set_budget_limit", category_id=category(play, "Old Gym").id, monthly_limit=9)


def category_exists(play: Play) -> None:
    assert "archived" in play.fails("category_exists", "create_budget_category", name="old gym", monthly_limit=5)


def month_closed(play: Play) -> None:
    play.fails("month_closed", "add_expense", **spend(play, spent_on="2026-01-20"))
    play.fails("month_closed", "delete_expense", expense_id=expense(play, "Pets", "2025-12").id)
    play.fails("month_closed", "close_budget_month", month="2026-01")


def month_not_over(play: Play) -> None:
    play.fails("month_not_over", "close_budget_month", month="2026-03")


def earlier_month_open(play: Play) -> None:
    play.wait(days=31)
    play.fails("earlier_month_open", "close_budget_month", month="2026-03")
    play.ok("close_budget_month", month="2026-02")
    play.ok("close_budget_month", month="2026-03")


def month_out_of_range(play: Play) -> None:
    play.fails("month_out_of_range", "get_spending_report", month="2026-04")
    play.fails("month_out_of_range", "add_expense", **spend(play, spent_on="2025-09-30"))
    new = play.ok("create_budget_category", name="Garden", monthly_limit=40)["id"]
    seeds = {"category_id": new, "amount": 5, "description": "seeds", "spent_on": "2026-02-28"}
    assert "2026-03" in play.fails("month_out_of_range", "add_expense", **seeds)


def future_expense(play: Play) -> None:
    play.fails("future_expense", "add_expense", **spend(play, spent_on="2026-03-03"))


def no_exchange_rate(play: Play) -> None:
    assert "EUR" in play.fails("no_exchange_rate", "add_expense", **spend(play, currency="INR"))


def invalid_amount(play: Play) -> None:
    play.fails("invalid_amount", "add_expense", **spend(play, "Tokyo Savings Trip", amount=10.5))


def duplicate_expense(play: Play) -> None:
    play.ok("add_expense", **spend(play))
    play.fails("duplicate_expense", "add_expense", **spend(play, description="Pencils"))


def nothing_to_change(play: Play) -> None:
    row = expense(play, "Pets", "2026-02")
    play.fails("nothing_to_change", "change_expense", expense_id=row.id)
    play.fails("nothing_to_change", "change_expense", expense_id=row.id, spent_on=str(row.spent_on))


def recurring_exists(play: Play) -> None:
    regular = spend(play, "Groceries", description="Vegetable Box", interval="weekly")
    play.fails("recurring_exists", "add_recurring_expense", **regular)


def start_not_allowed(play: Play) -> None:
    for day in ("2026-03-01", "2027-03-04"):
        play.fails("start_not_allowed", "add_recurring_expense", **spend(play, interval="weekly", starts_on=day))


def already_stopped(play: Play) -> None:
    play.fails("already_stopped", "stop_recurring_expense", recurring_expense_id=recurring(play, True).id)


FAULTS: dict[str, Callable[[Play], None]] = {
    name: scenario for name, scenario in globals().items() if name in set(Fault)
}


@pytest.mark.parametrize("fault", sorted(Fault))
def test_fault_is_reached(fault: str) -> None:
    FAULTS[fault](Play("budget"))


def cents(text: str) -> int:
    return round(float(text.split()[0]) * 100)


def test_an_expense_takes_from_what_is_left_and_gives_it_back() -> None:
    play = Play("budget")
    before = left(play, "Groceries")
    row = play.ok("add_expense", **spend(play, amount=12.34))
    assert cents(left(play, "Groceries")) == cents(before) - 1234
    play.ok("delete_expense", expense_id=row["expense_id"])
    assert left(play, "Groceries") == before


def test_moving_an_expense_moves_its_amount() -> None:
    play = Play("budget")
    row = play.ok("add_expense", **spend(play, amount=20))
    pets, groceries = cents(left(play, "Pets")), cents(left(play, "Groceries"))
    play.ok("change_expense", expense_id=row["expense_id"], category_id=category(play, "Pets").id)
    assert cents(left(play, "Pets")) == pets - 2000 and cents(left(play, "Groceries")) == groceries + 2000


def test_foreign_money_is_exchanged() -> None:
    play = Play("budget")
    row = play.ok("add_expense", **spend(play, amount=100, currency="EUR"))
    assert 10_400 < cents(row["amount"]) < 11_200 and row["amount"].endswith("USD")
    yen = play.ok("add_expense", **spend(play, amount=10_000, currency="JPY"))
    assert 6_400 < cents(yen["amount"]) < 7_000
    into_yen = play.ok("add_expense", **spend(play, "Tokyo Savings Trip", amount=10, currency="USD"))
    assert 1_400 < int(into_yen["amount"].split()[0]) < 1_560


def test_closing_a_month_rolls_over_what_is_left() -> None:
    play = Play("budget")
    february, march = cents(left(play, "Groceries", "2026-02")), cents(left(play, "Groceries"))
    transport = left(play, "Transport")
    play.ok("close_budget_month", month="2026-02")
    assert cents(left(play, "Groceries")) == march + max(february, 0)
    assert left(play, "Transport") == transport


def test_recurring_expenses_count_when_their_day_comes() -> None:
    play = Play("budget")
    before = cents(left(play, "Groceries"))
    row = play.ok("add_recurring_expense", **spend(play, amount=10, interval="weekly", starts_on="2026-03-03"))
    assert row["next_due"] == "2026-03-03" and cents(left(play, "Groceries")) == before
    box = next(item for item in play.rows(Recurring) if item.description == "vegetable box")
    if box.stopped_on is None:
        play.ok("stop_recurring_expense", recurring_expense_id=box.id)
    play.wait(days=8)
    assert cents(left(play, "Groceries")) == before - 2000
    play.ok("stop_recurring_expense", recurring_expense_id=row["id"])
    play.wait(days=14)
    assert cents(left(play, "Groceries")) == before - 2000


def test_a_monthly_expense_on_the_last_day() -> None:
    row = Recurring("R", "C", "rent", Money(1, "USD"), "monthly", date(2026, 1, 31))
    assert [nth_day(row, n).day for n in range(4)] == [31, 28, 31, 30]
    leap = Recurring("R", "C", "fee", Money(1, "USD"), "yearly", date(2024, 2, 29))
    assert nth_day(leap, 1) == date(2025, 2, 28)


@pytest.mark.parametrize("seed", range(3))
def test_the_report_agrees_with_the_categories(seed: int) -> None:
    play = Play("budget", seed)
    for month in ("2025-10", "2025-11", "2025-12", "2026-01", "2026-02", "2026-03"):
        report = play.ok("get_spending_report", month=month)
        over = play.ok("list_budget_categories", state="over_limit", month=month)["total"]
        assert report["closed"] == (month < "2026-02") and report["over_limit"] == over
        assert [total.split()[1] for total in report["totals"]] == ["EUR", "GBP", "JPY", "USD"]


def test_a_new_limit_leaves_earlier_months_as_they_were() -> None:
    play = Play("budget")
    february, march = left(play, "Groceries", "2026-02"), cents(left(play, "Groceries"))
    limit = play.ok("list_budget_categories", query="Groceries")["items"][0]["limit"]
    play.ok("set_budget_limit", category_id=category(play, "Groceries").id, monthly_limit=cents(limit) / 100 + 300)
    assert left(play, "Groceries", "2026-02") == february
    play.ok("close_budget_month", month="2026-02")
    assert cents(left(play, "Groceries")) == march + 30_000 + max(cents(february), 0)
    play.wait(days=31)
    shown = play.ok("list_budget_categories", query="Groceries", month="2026-04")["items"][0]
    assert cents(shown["limit"]) == cents(limit) + 30_000


def test_a_category_counts_from_the_month_in_which_it_was_created() -> None:
    play = Play("budget")
    new = play.ok("create_budget_category", name="Garden", monthly_limit=40, rollover=True)
    assert new["left"] == "40.00 USD"
    assert play.ok("list_budget_categories", query="Garden", month="2026-02")["items"] == []
    play.ok("close_budget_month", month="2026-02")
    assert left(play, "Garden") == "40.00 USD"
    play.wait(days=31)
    play.ok("close_budget_month", month="2026-03")
    assert left(play, "Garden", "2026-04") == "80.00 USD"


def test_an_overspent_strict_category_takes_a_correction_downwards() -> None:
    play = Play("budget")
    row = play.ok("add_expense", **spend(play, "Groceries", amount=5000))
    groceries = category(play, "Groceries")
    play.session.table(Category).put(replace(groceries, strict=True))
    play.session.commit("", {})
    play.fails("limit_exceeded", "change_expense", expense_id=row["expense_id"], amount=5001)
    assert play.ok("change_expense", expense_id=row["expense_id"], amount=4900)["left"].startswith("-")
