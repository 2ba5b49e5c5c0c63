"""A multi-user POSIX-like file system, seen from one user's shell."""

from servers.filesystem.tools import server

__all__ = ["server"]
