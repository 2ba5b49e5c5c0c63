"""The map's tools, by group; importing this registers them all."""

from servers.maps import tools_places, tools_routes, tools_transit
from servers.maps.server import server

__all__ = ["server", "tools_places", "tools_routes", "tools_transit"]
