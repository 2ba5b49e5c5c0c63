"""A person's calendars, meetings, rooms and availability."""

from servers.calendar.tools import server

__all__ = ["server"]
