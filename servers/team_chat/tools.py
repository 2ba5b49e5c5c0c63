"""The chat's tools, by group; importing this registers them all."""

from __future__ import annotations

from servers.team_chat import tools_channels, tools_messages
from servers.team_chat.server import server

__all__ = ["server", "tools_channels", "tools_messages"]
