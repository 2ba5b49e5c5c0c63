"""The budget's tools, by group."""

from servers.budget import tools_categories, tools_expenses
from servers.budget.server import server

__all__ = ["server", "tools_categories", "tools_expenses"]
