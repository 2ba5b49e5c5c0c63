"""All tools of the broker, gathered from their groups."""

from servers.trading import tools_market, tools_orders, tools_portfolio
from servers.trading.server import server

__all__ = ["server", "tools_market", "tools_orders", "tools_portfolio"]
