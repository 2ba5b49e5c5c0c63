"""A travel desk: flights, hotels and itineraries of one customer and the people they travel with."""

from servers.travel_booking.tools import server

__all__ = ["server"]
