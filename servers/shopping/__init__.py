"""An online shop as its customer's assistant sees it."""

from servers.shopping.tools import server

__all__ = ["server"]
