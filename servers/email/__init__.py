"""A person's mailbox."""

from servers.email.tools import server

__all__ = ["server"]
