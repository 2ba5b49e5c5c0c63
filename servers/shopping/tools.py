"""The shop's tools, registered group by group: catalogue, cart, checkout, orders, rewards."""

from __future__ import annotations

from servers.shopping import tools_cart, tools_catalog, tools_checkout, tools_orders, tools_rewards
from servers.shopping.server import server

__all__ = ["server", "tools_cart", "tools_catalog", "tools_checkout", "tools_orders", "tools_rewards"]
