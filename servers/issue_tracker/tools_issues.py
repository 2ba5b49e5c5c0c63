"""The tracker's tools that create issues and move them on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from servers.issue_tracker.model import (
    WORKFLOW,
    Fault,
    Issue,
    IssueKey,
    IssueKind,
    MemberName,
    Priority,
    ProjectKey,
    ReleaseId,
    Resolution,
    Sprint,
    Status,
)
from servers.issue_tracker.rules import (
    STARTED,
    check_assignable,
    check_capacity,
    check_close,
    check_component,
    check_load,
    check_start,
    live_issue,
    live_project,
    me,
    member_of,
    open_issue,
    release_of,
    save,
)
from servers.issue_tracker.server import server
from servers.kernel.errors import ToolError
from servers.kernel.session import Session

MOST_LABELS = 3

Title = Annotated[str, Field(min_length=5, max_length=100)]
ComponentName = Annotated[str, Field(max_length=40)]


@dataclass(frozen=True, slots=True)
class NewIssue:
    """A created issue."""

    id: IssueKey
    title: str
    status: Status
    parent: str | None


@dataclass(frozen=True, slots=True)
class IssueFields:
    """An issue's fields after a change."""

    id: IssueKey
    title: str
    priority: Priority
    points: int | None
    component: str | None
    labels: tuple[str, ...]
    release: str | None


@dataclass(frozen=True, slots=True)
class Assigned:
    """Who has an issue now."""

    id: IssueKey
    assignee: str
    status: Status


@dataclass(frozen=True, slots=True)
class Moved:
    """Where an issue stands in its workflow now."""

    id: IssueKey
    status: Status
    resolution: Resolution | None


@server.tool()
def create_issue(
    session: Session,
    project_key: ProjectKey,
    kind: IssueKind,
    title: Title,
    priority: Priority = "medium",
    component: ComponentName = "",
    parent_key: IssueKey | None = None,
) -> NewIssue:
    """Open a new issue in a project's backlog; with a parent it becomes a subtask.

    Args:
        project_key: the project's key, such as WEB.
        kind: story, bug or task.
        title: one line that says what is to be done.
        priority: how urgent it is.
        component: the part of the product, as the project names it.
        parent_key: the issue that this is a subtask of.

    Raises:
        project_archived: the project takes no new issues.
        unknown_component: the project has no component of this name.
        parent_not_allowed: the parent is done, a subtask itself, or in another project.
    """
    project = live_project(session, project_key)
    if component:
        check_component(session, project.id, component)
    if parent_key is not None:
        parent = live_issue(session, parent_key)
        if parent.project_key != project.id or parent.parent or parent.status == "done":
            raise ToolError(
                Fault.PARENT_NOT_ALLOWED,
                f"{parent_key} can't be the parent: it must be an open issue of {project.id} that is no subtask.",
            )
    number = 1 + max((issue.number for issue in session.table(Issue).where(project_key=project.id)), default=0)
    issue = Issue(
        id=f"{project.id}-{number}",
        project_key=project.id,
        number=number,
        kind=kind,
        title=title,
        status="backlog",
        priority=priority,
        component=component,
        updated_at=session.now,
        parent=parent_key,
        watchers=(me(session).id,),
    )
    session.table(Issue).add(issue)
    return NewIssue(issue.id, issue.title, issue.status, issue.parent)


def _with_label(session: Session, issue: Issue, label: str) -> Issue:
    known = live_project(session, issue.project_key).labels
    if label not in known:
        raise ToolError(Fault.UNKNOWN_LABEL, f"{issue.project_key} has the labels {', '.join(known)}.")
    if label in issue.labels:
        return issue
    if len(issue.labels) >= MOST_LABELS:
        raise ToolError(
            Fault.TOO_MANY_LABELS,
            f"{issue.id} has {', '.join(issue.labels)} already, and {MOST_LABELS} labels are the most.",
        )
    return replace(issue, labels=tuple(sorted((*issue.labels, label))))


def _with_points(session: Session, issue: Issue, points: int) -> Issue:
    sprint = session.table(Sprint).get(issue.sprint_id) if issue.sprint_id else None
    if sprint is not None and points > (issue.points or 0):
        check_capacity(session, sprint, points - (issue.points or 0))
    return replace(issue, points=points)


def _with_release(session: Session, issue: Issue, release_id: str) -> Issue:
    release = release_of(session, release_id)
    if release.project_key != issue.project_key:
        raise ToolError(
            Fault.WRONG_PROJECT,
            f"{release.name} belongs to {release.project_key}; "
            f"list_releases with project_key {issue.project_key} shows fitting ones.",
        )
    if release.published:
        raise ToolError(Fault.RELEASE_PUBLISHED, f"{release.name} is out already; choose an unpublished release.")
    return replace(issue, release_id=release.id)


@server.tool(idempotent=True)
def update_issue(
    session: Session,
    issue_key: IssueKey,
    title: Title | None = None,
    priority: Priority | None = None,
    points: Annotated[int, Field(ge=1, le=21)] | None = None,
    component: ComponentName | None = None,
    add_label: Annotated[str, Field(max_length=30)] | None = None,
    release_id: ReleaseId | None = None,
) -> IssueFields:
    """Change an open issue's title, priority, points, component, labels or release.

    Args:
        issue_key: the issue's key, such as WEB-12.
        title: the new title.
        priority: the new priority.
        points: the new estimate in story points.
        component: the part of the product, as the project names it.
        add_label: a label to add, one of the project's.
        release_id: the release that it is planned for, from list_releases.

    Raises:
        nothing_to_change: no field was given.
        issue_closed: the issue is done.
        project_archived: the project can only be read.
        unknown_component: the project has no component of this name.
        unknown_label: the project has no such label.
        too_many_labels: it has three labels already.
        capacity_exceeded: its sprint has no room for the points.
        wrong_project: the release belongs to another project.
        release_published: the release is out already.
    """
    issue = before = open_issue(session, issue_key)
    if all(value is None for value in (title, priority, points, component, add_label, release_id)):
        raise ToolError(
            Fault.NOTHING_TO_CHANGE, "Give a title, priority, points, component, add_label or release_id to change."
        )
    if component is not None:
        check_component(session, issue.project_key, component)
        issue = replace(issue, component=component)
    if add_label is not None:
        issue = _with_label(session, issue, add_label)
    if points is not None:
        issue = _with_points(session, issue, points)
    if release_id is not None:
        issue = _with_release(session, issue, release_id)
    issue = replace(issue, title=title or issue.title, priority=priority or issue.priority)
    if issue != before:
        save(session, issue)
    release = release_of(session, issue.release_id).name if issue.release_id else None
    return IssueFields(
        issue.id, issue.title, issue.priority, issue.points, issue.component or None, issue.labels, release
    )


@server.tool()
def assign_issue(session: Session, issue_key: IssueKey, assignee: MemberName) -> Assigned:
    """Give an open issue to a member of its project who has room for it.

    Args:
        issue_key: the issue's key, such as WEB-12.
        assignee: the person's user name, from list_tracker_members.

    Raises:
        issue_closed: the issue is done.
        project_archived: the project can only be read.
        already_assigned: the person has it already.
        not_project_member: the person doesn't work on this project.
        member_away: the person is on leave.
        load_limit_reached: the person has too many open issues.
    """
    issue, member = open_issue(session, issue_key), member_of(session, assignee)
    if issue.assignee == member.id:
        raise ToolError(Fault.ALREADY_ASSIGNED, f"{issue.id} is assigned to {member.name} already.")
    check_assignable(session, issue, member)
    save(session, replace(issue, assignee=member.id))
    return Assigned(issue.id, member.id, issue.status)


@server.tool()
def transition_issue(
    session: Session, issue_key: IssueKey, status: Status, resolution: Resolution | None = None
) -> Moved:
    """Move an issue to another workflow status; closing it as done needs a resolution.

    The way is backlog, todo, in_progress, in_review, done; done issues reopen to todo.

    Args:
        issue_key: the issue's key, such as WEB-12.
        status: the status to move to.
        resolution: how it was resolved, only for done.

    Raises:
        project_archived: the project can only be read.
        transition_not_allowed: the workflow has no such step.
        resolution_required: done needs a resolution.
        resolution_not_allowed: the resolution does not fit the status or the links.
        assignee_required: work needs an assignee.
        issue_blocked: an open issue blocks this one.
        open_subtasks: a subtask is not done.
        release_published: a done issue that has shipped can't be reopened.
        load_limit_reached: reopening would give its assignee too many open issues.
    """
    issue = live_issue(session, issue_key)
    if status not in WORKFLOW[issue.status]:
        raise ToolError(
            Fault.TRANSITION_NOT_ALLOWED,
            f"{issue.id} is {issue.status} and can go to {' or '.join(WORKFLOW[issue.status])}.",
        )
    if status == "done":
        check_close(session, issue, resolution)
    elif resolution is not None:
        raise ToolError(Fault.RESOLUTION_NOT_ALLOWED, f"A resolution goes with status done only, not with {status}.")
    if status in STARTED:
        check_start(session, issue)
    if issue.status == "done" and issue.release_id and release_of(session, issue.release_id).published:
        name = release_of(session, issue.release_id).name
        raise ToolError(Fault.RELEASE_PUBLISHED, f"{issue.id} shipped with {name}; create_issue for what is left.")
    if issue.status == "done" and issue.assignee:
        check_load(session, member_of(session, issue.assignee))
    save(session, replace(issue, status=status, resolution=resolution))
    return Moved(issue.id, status, resolution)
