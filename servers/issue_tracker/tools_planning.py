"""The tracker's tools for sprints and releases."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta

from servers.issue_tracker.model import (
    Fault,
    Issue,
    IssueKey,
    Project,
    ProjectKey,
    Release,
    ReleaseId,
    Sprint,
    SprintId,
    SprintState,
)
from servers.issue_tracker.rules import (
    check_capacity,
    check_lead,
    open_issue,
    project_of,
    release_of,
    sprint_of,
    sprint_points,
)
from servers.issue_tracker.server import server
from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session

START_WINDOW = timedelta(days=7)
_STATE_ORDER: tuple[SprintState, ...] = ("active", "planned", "closed")


@dataclass(frozen=True, slots=True)
class SprintSummary:
    """A sprint in a list; `points_left` is the room in its capacity."""

    id: SprintId
    name: str
    state: SprintState
    starts: date
    points_left: int


@dataclass(frozen=True, slots=True)
class SprintReport:
    """How far a sprint has come; `days_left` counts today and is 0 when it is over."""

    sprint_id: SprintId
    name: str
    state: SprintState
    capacity: int
    points_planned: int
    points_done: int
    open_issues: int
    days_left: int


@dataclass(frozen=True, slots=True)
class InSprint:
    """Where an issue is planned now."""

    issue_key: str
    sprint: str
    points_left: int | None


@dataclass(frozen=True, slots=True)
class StartedSprint:
    """A sprint that has begun."""

    sprint_id: SprintId
    state: SprintState
    ends: date
    issues: int


@dataclass(frozen=True, slots=True)
class ClosedSprint:
    """A sprint that is over, and how many open issues were left without a sprint."""

    sprint_id: SprintId
    state: SprintState
    points_done: int
    left_without_sprint: int


@dataclass(frozen=True, slots=True)
class ReleaseSummary:
    """A release in a list; `late` says that its day has passed without it."""

    id: ReleaseId
    name: str
    due: date
    open_issues: int
    published: bool
    late: bool


@dataclass(frozen=True, slots=True)
class Published:
    """A release that is out."""

    release_id: ReleaseId
    published: bool
    issues: int


@server.tool(read_only=True)
def list_sprints(
    session: Session,
    query: Query = "",
    project_key: ProjectKey | None = None,
    state: SprintState | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[SprintSummary]:
    """List active and planned sprints with ids and room; closed ones only when asked for.

    Ordered by state (active first), start and id.

    Args:
        query: words of the sprint's name.
        project_key: only sprints of this project.
        state: only sprints in this state.
        limit: most sprints to return.
        offset: how many to skip.
    """
    if project_key is not None:
        project_of(session, project_key)
    states = (state,) if state else ("active", "planned")
    rows = search(session.table(Sprint).all(), query, lambda sprint: sprint.name)
    rows = [row for row in rows if row.state in states and project_key in (None, row.project_key)]
    rows.sort(key=lambda row: (_STATE_ORDER.index(row.state), row.starts, row.id))
    found = [
        SprintSummary(row.id, row.name, row.state, row.starts, row.capacity - sprint_points(session, row.id))
        for row in rows
    ]
    return paginate(found, limit, offset)


@server.tool(read_only=True)
def get_sprint_report(session: Session, sprint_id: SprintId) -> SprintReport:
    """Show a sprint's progress: points planned and done, open issues and days left.

    Args:
        sprint_id: the sprint, from list_sprints.
    """
    sprint = sprint_of(session, sprint_id)
    issues = session.table(Issue).where(sprint_id=sprint.id)
    left = (sprint.ends - max(session.now.date(), sprint.starts)).days + 1
    return SprintReport(
        sprint_id=sprint.id,
        name=sprint.name,
        state=sprint.state,
        capacity=sprint.capacity,
        points_planned=sprint_points(session, sprint.id),
        points_done=sum(issue.points or 0 for issue in issues if issue.status == "done"),
        open_issues=sum(issue.status != "done" for issue in issues),
        days_left=0 if sprint.state == "closed" else max(0, left),
    )


@server.tool()
def move_issue_to_sprint(session: Session, issue_key: IssueKey, sprint_id: SprintId | None = None) -> InSprint:
    """Plan an open issue into a sprint of its project, or out of its sprint when none is given.

    Args:
        issue_key: the issue's key, such as WEB-12.
        sprint_id: the sprint, from list_sprints; leave it out to take the issue out of its sprint.

    Raises:
        issue_closed: the issue is done.
        project_archived: the project can only be read.
        wrong_project: the sprint belongs to another project.
        sprint_closed: the sprint is over.
        already_in_sprint: it is there already.
        not_in_sprint: no sprint is given and the issue is in none.
        estimate_required: the issue has no story points.
        capacity_exceeded: the sprint has too little room.
    """
    issue = open_issue(session, issue_key)
    if sprint_id is None:
        if issue.sprint_id is None:
            raise ToolError(Fault.NOT_IN_SPRINT, f"{issue.id} is in no sprint; give a sprint_id from list_sprints.")
        session.table(Issue).put(replace(issue, sprint_id=None, updated_at=session.now))
        return InSprint(issue.id, "none", None)
    sprint = sprint_of(session, sprint_id)
    if sprint.project_key != issue.project_key:
        raise ToolError(
            Fault.WRONG_PROJECT,
            f"{sprint.name} belongs to {sprint.project_key}; "
            f"list_sprints with project_key {issue.project_key} shows fitting ones.",
        )
    if sprint.state == "closed":
        raise ToolError(Fault.SPRINT_CLOSED, f"{sprint.name} ended on {sprint.ends}; choose an open one.")
    if issue.sprint_id == sprint.id:
        raise ToolError(Fault.ALREADY_IN_SPRINT, f"{issue.id} is in {sprint.name} already.")
    if issue.points is None:
        raise ToolError(Fault.ESTIMATE_REQUIRED, f"{issue.id} has no estimate; update_issue with points comes first.")
    check_capacity(session, sprint, issue.points)
    session.table(Issue).put(replace(issue, sprint_id=sprint.id, updated_at=session.now))
    return InSprint(issue.id, sprint.name, sprint.capacity - sprint_points(session, sprint.id))


@server.tool()
def start_sprint(session: Session, sprint_id: SprintId) -> StartedSprint:
    """Begin a planned sprint; only the project's lead may, and only one sprint runs at a time.

    Args:
        sprint_id: the sprint, from list_sprints.

    Raises:
        not_project_lead: the user does not lead the project.
        sprint_not_planned: it runs already or is over.
        another_sprint_active: the project's running sprint must be closed first.
        start_too_early: its first day is more than a week away.
        sprint_empty: no issue is planned for it.
    """
    sprint = sprint_of(session, sprint_id)
    if sprint.state != "planned":
        raise ToolError(Fault.SPRINT_NOT_PLANNED, f"{sprint.name} is {sprint.state}; only a planned sprint starts.")
    check_lead(session, sprint.project_key)
    for other in session.table(Sprint).where(project_key=sprint.project_key, state="active"):
        raise ToolError(Fault.ANOTHER_SPRINT_ACTIVE, f"{other.name} ({other.id}) is running; close_sprint comes first.")
    if session.now.date() < sprint.starts - START_WINDOW:
        raise ToolError(
            Fault.START_TOO_EARLY,
            f"{sprint.name} begins on {sprint.starts} and can start from {sprint.starts - START_WINDOW} on.",
        )
    issues = session.table(Issue).where(sprint_id=sprint.id)
    if not issues:
        raise ToolError(Fault.SPRINT_EMPTY, f"{sprint.name} holds no issue; move_issue_to_sprint comes first.")
    session.table(Sprint).put(replace(sprint, state="active"))
    return StartedSprint(sprint.id, "active", sprint.ends, len(issues))


@server.tool(destructive=True)
def close_sprint(session: Session, sprint_id: SprintId) -> ClosedSprint:
    """End a running sprint; its open issues are left without a sprint. Only for the project's lead.

    Args:
        sprint_id: the sprint, from list_sprints.

    Raises:
        sprint_not_active: it does not run.
        not_project_lead: the user does not lead the project.
    """
    sprint = sprint_of(session, sprint_id)
    if sprint.state != "active":
        raise ToolError(
            Fault.SPRINT_NOT_ACTIVE, f"{sprint.name} is {sprint.state}; list_sprints with state active shows others."
        )
    check_lead(session, sprint.project_key)
    issues = session.table(Issue).where(sprint_id=sprint.id)
    unfinished = [issue for issue in issues if issue.status != "done"]
    for issue in unfinished:
        session.table(Issue).put(replace(issue, sprint_id=None, updated_at=session.now))
    session.table(Sprint).put(replace(sprint, state="closed"))
    return ClosedSprint(sprint.id, "closed", sprint_points(session, sprint.id), len(unfinished))


def _release_issues(session: Session, release: Release) -> tuple[list[Issue], list[str]]:
    issues = session.table(Issue).where(release_id=release.id)
    return issues, [issue.id for issue in issues if issue.status != "done"]


@server.tool(read_only=True)
def list_releases(
    session: Session, query: Query = "", project_key: ProjectKey | None = None, limit: Limit = 5, offset: Offset = 0
) -> Page[ReleaseSummary]:
    """List releases with ids, due days and the number of issues still open. Ordered by due day.

    Those of archived projects show only when project_key names them.

    Args:
        query: words of the release's name.
        project_key: only releases of this project.
        limit: most releases to return.
        offset: how many to skip.
    """
    if project_key is not None:
        project_of(session, project_key)
    rows = search(session.table(Release).all(), query, lambda release: release.name)
    live = {project.id for project in session.table(Project).where(archived=False)}
    rows = [row for row in rows if row.project_key == project_key or (project_key is None and row.project_key in live)]
    rows.sort(key=lambda release: (release.due, release.id))
    found = []
    for row in rows:
        late = not row.published and row.due < session.now.date()
        unfinished = len(_release_issues(session, row)[1])
        found.append(ReleaseSummary(row.id, row.name, row.due, unfinished, row.published, late))
    return paginate(found, limit, offset)


@server.tool()
def publish_release(session: Session, release_id: ReleaseId) -> Published:
    """Ship a release whose issues are all done. Only for the project's lead.

    Args:
        release_id: the release, from list_releases.

    Raises:
        release_published: it is out already.
        project_archived: the project can only be read.
        not_project_lead: the user does not lead the project.
        release_not_ready: it holds no issue, or some are open.
    """
    release = release_of(session, release_id)
    if release.published:
        raise ToolError(Fault.RELEASE_PUBLISHED, f"{release.name} is out already.")
    check_lead(session, release.project_key)
    issues, unfinished = _release_issues(session, release)
    if not issues:
        raise ToolError(
            Fault.RELEASE_NOT_READY, f"{release.name} holds no issue; update_issue with release_id adds some."
        )
    if unfinished:
        raise ToolError(
            Fault.RELEASE_NOT_READY,
            f"{release.name} has {len(unfinished)} open: {', '.join(unfinished[:3])}. Close or replan them first.",
        )
    session.table(Release).put(replace(release, published=True))
    return Published(release.id, True, len(issues))
