"""All tools of the food delivery service, gathered from their groups."""

from servers.food_delivery import tools_browse, tools_cart, tools_orders
from servers.food_delivery.server import server

__all__ = ["server", "tools_browse", "tools_cart", "tools_orders"]
