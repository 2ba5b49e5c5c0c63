"""A family business's connected electric cars as their keeper's assistant sees them."""

from servers.vehicle.tools import server

__all__ = ["server"]
