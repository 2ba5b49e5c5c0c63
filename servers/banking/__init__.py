"""A retail bank as its customer's assistant sees it."""

from servers.banking.tools import server

__all__ = ["server"]
