"""The tracker's tools, by group; importing this registers them all."""

from __future__ import annotations

from servers.issue_tracker import tools_browse, tools_comments, tools_issues, tools_planning
from servers.issue_tracker.server import server

__all__ = ["server", "tools_browse", "tools_comments", "tools_issues", "tools_planning"]
