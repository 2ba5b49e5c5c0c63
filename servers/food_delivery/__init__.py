"""Food delivery as a customer's assistant sees it: menus, one cart, orders on their way, refunds."""

from servers.food_delivery.tools import server

__all__ = ["server"]
