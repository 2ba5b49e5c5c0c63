"""The network's tools, group by group."""

from __future__ import annotations

from servers.social_media import tools_people, tools_posts, tools_react
from servers.social_media.server import server

__all__ = ["server", "tools_people", "tools_posts", "tools_react"]
