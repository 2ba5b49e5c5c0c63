"""A payment processor as its merchant's assistant sees it."""

from servers.payments.tools import server

__all__ = ["server"]
