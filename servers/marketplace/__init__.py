"""A second-hand marketplace as one of its members' assistant sees it."""

from servers.marketplace.tools import server

__all__ = ["server"]
