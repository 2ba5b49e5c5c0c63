"""The tracker's tools for what people add to an issue: links, comments, hours and their interest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Annotated, Literal

from pydantic import Field

from servers.issue_tracker.model import Comment, Fault, Issue, IssueKey, Link, Relation, WorkLog
from servers.issue_tracker.rules import live_issue, me, reaches, save
from servers.issue_tracker.server import server
from servers.kernel.errors import ToolError
from servers.kernel.session import Session
from servers.kernel.types import Date

DAY_MINUTES = 12 * 60
WORK_LOG_WINDOW = timedelta(days=14)


@dataclass(frozen=True, slots=True)
class Linked:
    """A link between two issues."""

    source: str
    relation: Relation
    target: str


@dataclass(frozen=True, slots=True)
class Commented:
    """Confirms a comment."""

    issue_key: str
    comments: int


@dataclass(frozen=True, slots=True)
class Logged:
    """Confirms logged work: the day's and the issue's total hours."""

    issue_key: str
    day: date
    hours_that_day: float
    hours_on_issue: float


@dataclass(frozen=True, slots=True)
class Watching:
    """Who follows an issue."""

    issue_key: str
    watching: bool
    watchers: int


@server.tool()
def link_issues(session: Session, source_key: IssueKey, relation: Relation, target_key: IssueKey) -> Linked:
    """Record that one issue blocks or duplicates another.

    Args:
        source_key: the issue that blocks, or the duplicate.
        relation: blocks or duplicates.
        target_key: the issue that is blocked, or the original.

    Raises:
        self_link: both keys are the same.
        link_exists: the link is there already.
        link_cycle: the target leads back to the source.
        project_archived: a project of the two can only be read.
    """
    source, target = live_issue(session, source_key), live_issue(session, target_key)
    if source.id == target.id:
        raise ToolError(Fault.SELF_LINK, f"{source.id} can't be linked to itself; give two different issues.")
    if session.table(Link).where(source=source.id, target=target.id, relation=relation):
        raise ToolError(Fault.LINK_EXISTS, f"{source.id} {relation} {target.id} already.")
    if reaches(session, target.id, source.id, relation):
        raise ToolError(
            Fault.LINK_CYCLE,
            f"{target.id} {relation} {source.id} already, directly or through others; the link can't run both ways.",
        )
    session.table(Link).add(Link(session.new_id("ILNK"), source.id, relation, target.id))
    return Linked(source.id, relation, target.id)


@server.tool()
def comment_on_issue(
    session: Session, issue_key: IssueKey, text: Annotated[str, Field(min_length=2, max_length=500)]
) -> Commented:
    """Write a comment under an issue; whoever comments follows the issue.

    Args:
        issue_key: the issue's key, such as WEB-12.
        text: what to write.

    Raises:
        project_archived: the project can only be read.
        duplicate_comment: the user wrote the same text there before.
    """
    issue, author = live_issue(session, issue_key), me(session).id
    if session.table(Comment).where(issue_key=issue.id, author=author, text=text):
        raise ToolError(
            Fault.DUPLICATE_COMMENT, f"You wrote this under {issue.id} before; list_issue_comments shows it."
        )
    session.table(Comment).add(Comment(session.new_id("ICOM"), issue.id, author, text, session.now))
    save(session, replace(issue, watchers=tuple(sorted({*issue.watchers, author}))))
    return Commented(issue.id, len(session.table(Comment).where(issue_key=issue.id)))


@server.tool()
def log_issue_work(
    session: Session,
    issue_key: IssueKey,
    hours: Annotated[float, Field(ge=0.25, le=12)],
    day: Date | None = None,
) -> Logged:
    """Record hours that the user worked on an issue, today or on a day of the last two weeks.

    Args:
        issue_key: the issue's key, such as WEB-12.
        hours: how long, in hours, such as 1.5.
        day: the day of the work; today when left out.

    Raises:
        project_archived: the project can only be read.
        work_not_started: nobody has begun the issue.
        day_not_allowed: the day is in the future or over two weeks ago.
        day_full: more than twelve hours on that day.
    """
    issue, author, today = live_issue(session, issue_key), me(session).id, session.now.date()
    day = day or today
    if issue.status in ("backlog", "todo"):
        raise ToolError(
            Fault.WORK_NOT_STARTED, f"{issue.id} is in {issue.status}; transition_issue to in_progress comes first."
        )
    if not today - WORK_LOG_WINDOW <= day <= today:
        raise ToolError(Fault.DAY_NOT_ALLOWED, f"The day must lie between {today - WORK_LOG_WINDOW} and {today}.")
    minutes = round(hours * 60)
    done = sum(log.minutes for log in session.table(WorkLog).where(author=author) if log.day == day)
    if done + minutes > DAY_MINUTES:
        left = (DAY_MINUTES - done) / 60
        raise ToolError(Fault.DAY_FULL, f"{day} has {done / 60:g} hours already; at most {left:g} more fit.")
    session.table(WorkLog).add(WorkLog(session.new_id("IWRK"), issue.id, author, minutes, day))
    total = sum(log.minutes for log in session.table(WorkLog).where(issue_key=issue.id))
    return Logged(issue.id, day, round((done + minutes) / 60, 2), round(total / 60, 2))


@server.tool(idempotent=True)
def watch_issue(session: Session, issue_key: IssueKey, action: Literal["watch", "unwatch"]) -> Watching:
    """Start or stop following an issue's changes for the user.

    Args:
        issue_key: the issue's key, such as WEB-12.
        action: watch to follow, unwatch to stop.

    Raises:
        project_archived: the project can only be read.
    """
    issue, name = live_issue(session, issue_key), me(session).id
    others = {watcher for watcher in issue.watchers if watcher != name}
    watchers = tuple(sorted({*others, name} if action == "watch" else others))
    session.table(Issue).put(replace(issue, watchers=watchers))
    return Watching(issue.id, action == "watch", len(watchers))
