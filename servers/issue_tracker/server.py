"""The issue tracker's server object, which its tool modules fill."""

from __future__ import annotations

from servers.issue_tracker.model import (
    Comment,
    Component,
    Fault,
    Issue,
    Link,
    Member,
    Project,
    Release,
    Sprint,
    WorkLog,
)
from servers.issue_tracker.seed import build
from servers.kernel.server import ToolServer

server = ToolServer(
    "issue_tracker",
    "Projects, issues, sprints and releases of a software team",
    records=(Project, Component, Member, Issue, Link, Comment, WorkLog, Sprint, Release),
    seed=build,
    faults=Fault,
)
