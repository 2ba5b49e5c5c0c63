"""The calendar server, to which the tool modules add their tools."""

from __future__ import annotations

from servers.calendar.model import Absence, Calendar, Deviation, Event, Fault, Invitation, Person, Room
from servers.calendar.seed import build
from servers.kernel.server import ToolServer

server = ToolServer(
    "calendar",
    "Calendars, meetings, rooms and availability of an office worker",
    records=(Person, Calendar, Event, Deviation, Invitation, Room, Absence),
    seed=build,
    faults=Fault,
)
