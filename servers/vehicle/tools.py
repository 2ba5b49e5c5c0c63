"""The cars' tools, by group; importing this registers them all."""

from servers.vehicle import tools_cabin, tools_care, tools_driving, tools_journey
from servers.vehicle.server import server

__all__ = ["server", "tools_cabin", "tools_care", "tools_driving", "tools_journey"]
