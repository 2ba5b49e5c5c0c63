"""The marketplace's tools, registered group by group: buying, offers and deals, selling."""

from __future__ import annotations

from servers.marketplace import tools_buy, tools_offers, tools_sell
from servers.marketplace.server import server

__all__ = ["server", "tools_buy", "tools_offers", "tools_sell"]
