"""An issue tracker as a member of a software team sees it."""

from servers.issue_tracker import tools, tools_activity, tools_issues, tools_planning
from servers.issue_tracker.server import server

__all__ = ["server", "tools", "tools_activity", "tools_issues", "tools_planning"]
