"""The smart home's tools, by group; importing this registers them all."""

from servers.iot_devices import tools_devices, tools_doors, tools_home, tools_rooms, tools_scenes
from servers.iot_devices.server import server

__all__ = ["server", "tools_devices", "tools_doors", "tools_home", "tools_rooms", "tools_scenes"]
