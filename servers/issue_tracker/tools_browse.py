"""The tracker's lookup tools: projects, members, issues and their comments."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from servers.issue_tracker.model import (
    Comment,
    Issue,
    IssueKey,
    IssueKind,
    Member,
    MemberName,
    Priority,
    Project,
    ProjectKey,
    Release,
    Resolution,
    Sprint,
    Status,
)
from servers.issue_tracker.rules import is_away, issue_of, member_of, open_blockers, open_count, project_of
from servers.issue_tracker.server import server
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session


@dataclass(frozen=True, slots=True)
class ProjectSummary:
    """A project in a list."""

    id: ProjectKey
    name: str
    lead: str
    open_issues: int
    archived: bool


@dataclass(frozen=True, slots=True)
class MemberSummary:
    """A member in a list; `away_until` is absent for those at work."""

    id: MemberName
    name: str
    open_issues: int
    issue_limit: int
    away_until: date | None


@dataclass(frozen=True, slots=True)
class IssueSummary:
    """An issue in a list."""

    id: IssueKey
    title: str
    status: Status
    priority: Priority
    assignee: str | None


@dataclass(frozen=True, slots=True)
class IssueDetails:
    """An issue with what it waits for."""

    id: IssueKey
    title: str
    kind: IssueKind
    status: Status
    priority: Priority
    assignee: str | None
    points: int | None
    sprint: str | None
    release: str | None
    parent: str | None
    resolution: Resolution | None
    blocked_by: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class CommentLine:
    """A comment in a list."""

    author: str
    text: str
    day: date


@server.tool(read_only=True)
def list_tracker_projects(session: Session, query: Query = "") -> Page[ProjectSummary]:
    """List the tracker's projects with key, lead and number of open issues. Ordered by key.

    Args:
        query: words of the project's name or key.
    """
    rows = search(session.table(Project).all(), query, lambda project: f"{project.id} {project.name}")
    found = []
    for project in sorted(rows, key=lambda project: project.id):
        count = sum(issue.status != "done" for issue in session.table(Issue).where(project_key=project.id))
        found.append(ProjectSummary(project.id, project.name, project.lead, count, project.archived))
    return paginate(found, 10)


@server.tool(read_only=True)
def list_tracker_members(
    session: Session, query: Query = "", project_key: ProjectKey | None = None, limit: Limit = 5, offset: Offset = 0
) -> Page[MemberSummary]:
    """List people who work on issues, with their load and absence; search by name.

    Use it to find somebody's user name or somebody with room. Ordered by name.

    Args:
        query: words of the person's name or user name.
        project_key: only members of this project.
        limit: most people to return.
        offset: how many to skip.
    """
    if project_key is not None:
        project_of(session, project_key)
    rows = search(session.table(Member).all(), query, lambda member: f"{member.name} {member.id}")
    rows = [member for member in rows if project_key is None or project_key in member.projects]
    rows.sort(key=lambda member: (member.name, member.id))
    found = [
        MemberSummary(
            member.id,
            member.name,
            open_count(session, member.id),
            member.issue_limit,
            member.away_until if is_away(session, member) else None,
        )
        for member in rows
    ]
    return paginate(found, limit, offset)


@server.tool(read_only=True)
def search_issues(
    session: Session,
    query: Query = "",
    project_key: ProjectKey | None = None,
    status: Status | None = None,
    kind: IssueKind | None = None,
    assignee: MemberName | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[IssueSummary]:
    """Find issues by words in title, component or label, and by filters; shows their keys.

    Ordered by last change, newest first, then key. Archived projects are searched only when project_key names them.

    Args:
        query: words of the title, component or labels.
        project_key: only issues of this project.
        status: only issues in this status.
        kind: only stories, bugs or tasks.
        assignee: only issues of this person.
        limit: most issues to return.
        offset: how many to skip.
    """
    if project_key is not None:
        project_of(session, project_key)
    if assignee is not None:
        member_of(session, assignee)
    wanted = {"project_key": project_key, "status": status, "kind": kind, "assignee": assignee}
    rows = session.table(Issue).where(**{name: value for name, value in wanted.items() if value is not None})
    if project_key is None:
        archived = {project.id for project in session.table(Project).where(archived=True)}
        rows = [issue for issue in rows if issue.project_key not in archived]
    rows = search(rows, query, lambda issue: f"{issue.title} {issue.component} {' '.join(issue.labels)}")
    rows.sort(key=lambda issue: (-issue.updated_at.timestamp(), issue.id))
    found = [IssueSummary(issue.id, issue.title, issue.status, issue.priority, issue.assignee) for issue in rows]
    return paginate(found, limit, offset)


@server.tool(read_only=True)
def get_issue(session: Session, issue_key: IssueKey) -> IssueDetails:
    """Show one issue: status, assignee, points, sprint, release and what blocks it.

    Args:
        issue_key: the issue's key, such as WEB-12.
    """
    issue = issue_of(session, issue_key)
    sprint = session.table(Sprint).get(issue.sprint_id) if issue.sprint_id else None
    release = session.table(Release).get(issue.release_id) if issue.release_id else None
    return IssueDetails(
        id=issue.id,
        title=issue.title,
        kind=issue.kind,
        status=issue.status,
        priority=issue.priority,
        assignee=issue.assignee,
        points=issue.points,
        sprint=sprint.name if sprint else None,
        release=release.name if release else None,
        parent=issue.parent,
        resolution=issue.resolution,
        blocked_by=tuple(open_blockers(session, issue.id)) or None,
    )


@server.tool(read_only=True)
def list_issue_comments(
    session: Session, issue_key: IssueKey, query: Query = "", limit: Limit = 3, offset: Offset = 0
) -> Page[CommentLine]:
    """List what people wrote under an issue, newest first.

    Args:
        issue_key: the issue's key, such as WEB-12.
        query: words of the comment or its author's user name.
        limit: most comments to return.
        offset: how many to skip.
    """
    issue_of(session, issue_key)
    rows = session.table(Comment).where(issue_key=issue_key)
    rows = search(rows, query, lambda comment: f"{comment.author} {comment.text}")
    rows.sort(key=lambda comment: (-comment.written_at.timestamp(), comment.id))
    return paginate([CommentLine(row.author, row.text, row.written_at.date()) for row in rows], limit, offset)
