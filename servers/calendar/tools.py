"""The calendar's tools, group by group."""

from __future__ import annotations

from servers.calendar import tools_edit, tools_look, tools_meet
from servers.calendar.server import server

__all__ = ["server", "tools_edit", "tools_look", "tools_meet"]
