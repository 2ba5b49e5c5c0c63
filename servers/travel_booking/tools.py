"""All tools of the travel desk, gathered from their groups."""

from servers.travel_booking import tools_flights, tools_hotels, tools_reservations
from servers.travel_booking.server import server

__all__ = ["server", "tools_flights", "tools_hotels", "tools_reservations"]
