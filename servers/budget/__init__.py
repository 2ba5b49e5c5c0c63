"""A household budget with categories, limits and recurring expenses."""

from servers.budget.tools import server

__all__ = ["server"]
