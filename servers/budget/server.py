"""The budget as a tool server."""

from __future__ import annotations

from servers.budget.model import Carried, Category, ClosedMonth, Expense, Fault, MonthlyLimit, Rate, Recurring
from servers.budget.seed import build
from servers.kernel.server import ToolServer

server = ToolServer(
    "budget",
    "A household's budget: categories, limits, expenses and monthly reports",
    records=(Category, MonthlyLimit, Expense, Recurring, ClosedMonth, Carried, Rate),
    seed=build,
    faults=Fault,
)
