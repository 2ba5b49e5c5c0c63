"""The file system's tools, by group."""

from servers.filesystem import tools_access, tools_archive, tools_look, tools_place, tools_text, tools_trash
from servers.filesystem.server import server

__all__ = ["server", "tools_access", "tools_archive", "tools_look", "tools_place", "tools_text", "tools_trash"]
