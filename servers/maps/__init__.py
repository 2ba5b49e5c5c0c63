"""A map service as its user's assistant sees it."""

from servers.maps.tools import server

__all__ = ["server"]
