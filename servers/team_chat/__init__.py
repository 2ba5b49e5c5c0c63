"""A team chat as one of its people sees it."""

from servers.team_chat import tools, tools_messages
from servers.team_chat.server import server

__all__ = ["server", "tools", "tools_messages"]
