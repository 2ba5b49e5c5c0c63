"""The chain's tools, registered group by group: stock and prices, then the customers' counter."""

from __future__ import annotations

from servers.retail_chain import tools_counter, tools_stock
from servers.retail_chain.server import server

__all__ = ["server", "tools_counter", "tools_stock"]
