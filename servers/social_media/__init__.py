"""A social network as one of its users sees it."""

from servers.social_media.tools import server

__all__ = ["server"]
