"""A broker as an investor's assistant sees it: portfolios, order books, orders and trades."""

from servers.trading.tools import server

__all__ = ["server"]
