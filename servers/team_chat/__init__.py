"""A team chat as one of its people sees it."""

from servers.team_chat.tools import server

__all__ = ["server"]
