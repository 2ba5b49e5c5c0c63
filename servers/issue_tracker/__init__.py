"""An issue tracker as a member of a software team sees it."""

from servers.issue_tracker.tools import server

__all__ = ["server"]
