"""A smart home as the assistant of its owner sees it."""

from servers.iot_devices.tools import server

__all__ = ["server"]
