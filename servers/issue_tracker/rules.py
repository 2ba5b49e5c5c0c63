"""What the tracker's tools share: finding things, and the rules of workflow, load and capacity."""

from __future__ import annotations

from dataclasses import replace

from servers.issue_tracker.model import Component, Fault, Issue, Link, Member, Project, Release, Resolution, Sprint
from servers.kernel.errors import ToolError
from servers.kernel.session import Session

STARTED = ("in_progress", "in_review")


def project_of(session: Session, key: str) -> Project:
    """The project, or an error that says how to find one."""
    return session.table(Project).require(key, "list_tracker_projects shows the valid keys.")


def live_project(session: Session, key: str) -> Project:
    """The project, refused when it is archived."""
    project = project_of(session, key)
    if project.archived:
        raise ToolError(
            Fault.PROJECT_ARCHIVED,
            f"{project.name} ({key}) is archived and can only be read; list_tracker_projects shows live projects.",
        )
    return project


def issue_of(session: Session, key: str) -> Issue:
    """The issue, or an error that says how to find one."""
    return session.table(Issue).require(key, "search_issues shows the valid keys.")


def live_issue(session: Session, key: str) -> Issue:
    """The issue, refused when its project is archived."""
    issue = issue_of(session, key)
    live_project(session, issue.project_key)
    return issue


def open_issue(session: Session, key: str) -> Issue:
    """The issue, refused when it is done or its project is archived."""
    issue = live_issue(session, key)
    if issue.status == "done":
        raise ToolError(
            Fault.ISSUE_CLOSED,
            f"{key} is done ({issue.resolution}); transition_issue to todo reopens it.",
        )
    return issue


def member_of(session: Session, name: str) -> Member:
    """The member, or an error that says how to find one."""
    return session.table(Member).require(name, "list_tracker_members shows the valid user names.")


def sprint_of(session: Session, sprint_id: str) -> Sprint:
    """The sprint, or an error that says how to find one."""
    return session.table(Sprint).require(sprint_id, "list_sprints shows the valid sprint ids.")


def release_of(session: Session, release_id: str) -> Release:
    """The release, or an error that says how to find one."""
    return session.table(Release).require(release_id, "list_releases shows the valid release ids.")


def me(session: Session) -> Member:
    """The member whom the agent serves."""
    return session.table(Member).where(you=True)[0]


def is_away(session: Session, member: Member) -> bool:
    """Whether the member is still on leave today."""
    return member.away_until is not None and session.now.date() <= member.away_until


def open_count(session: Session, name: str) -> int:
    """How many open issues a member has."""
    return sum(issue.status != "done" for issue in session.table(Issue).where(assignee=name))


def check_lead(session: Session, key: str) -> None:
    """Refuse what only the project's lead may do."""
    project = live_project(session, key)
    if project.lead != me(session).id:
        raise ToolError(
            Fault.NOT_PROJECT_LEAD,
            f"Only the lead of {project.name}, {project.lead}, may do this; ask them.",
        )


def check_component(session: Session, key: str, name: str) -> None:
    """Refuse a component that the project does not have."""
    names = sorted(component.name for component in session.table(Component).where(project_key=key))
    if name not in names:
        raise ToolError(Fault.UNKNOWN_COMPONENT, f"{key} has no such component; it has {', '.join(names)}.")


def check_assignable(session: Session, issue: Issue, member: Member) -> None:
    """Refuse somebody outside the project, on leave, or with too many open issues."""
    if issue.project_key not in member.projects:
        raise ToolError(
            Fault.NOT_PROJECT_MEMBER,
            f"{member.name} is in {', '.join(member.projects)}, not in {issue.project_key}; "
            f"list_tracker_members with project_key {issue.project_key} shows who is.",
        )
    if is_away(session, member):
        raise ToolError(
            Fault.MEMBER_AWAY, f"{member.name} is away until {member.away_until}; choose somebody else or wait."
        )
    check_load(session, member)


def check_load(session: Session, member: Member) -> None:
    """Refuse one more open issue for somebody who has as many as they may."""
    load = open_count(session, member.id)
    if load >= member.issue_limit:
        raise ToolError(
            Fault.LOAD_LIMIT_REACHED,
            f"{member.name} has {load} open issues of at most {member.issue_limit}; "
            "choose somebody with room, or close or reassign one of those first.",
        )


def open_blockers(session: Session, key: str) -> list[str]:
    """Keys of the unfinished issues that block this one."""
    links = session.table(Link).where(target=key, relation="blocks")
    return [link.source for link in links if issue_of(session, link.source).status != "done"]


def open_subtasks(session: Session, key: str) -> list[str]:
    """Keys of the unfinished subtasks of an issue."""
    return [issue.id for issue in session.table(Issue).where(parent=key) if issue.status != "done"]


def check_start(session: Session, issue: Issue) -> None:
    """Refuse work on an issue that nobody has, or that waits for another."""
    if issue.assignee is None:
        raise ToolError(Fault.ASSIGNEE_REQUIRED, f"{issue.id} has no assignee; assign_issue comes first.")
    check_unblocked(session, issue)


def check_unblocked(session: Session, issue: Issue) -> None:
    """Refuse to go on while another issue blocks this one."""
    blockers = open_blockers(session, issue.id)
    if blockers:
        raise ToolError(Fault.ISSUE_BLOCKED, f"{issue.id} is blocked by {', '.join(blockers[:3])}; finish that first.")


def check_close(session: Session, issue: Issue, resolution: Resolution | None) -> None:
    """Refuse to close without a fitting resolution, or while parts of the issue are open."""
    if resolution is None:
        choices = "fixed, wont_do, duplicate or cannot_reproduce"
        raise ToolError(Fault.RESOLUTION_REQUIRED, f"Closing {issue.id} needs a resolution: {choices}.")
    if resolution == "fixed" and issue.status != "in_review":
        raise ToolError(
            Fault.RESOLUTION_NOT_ALLOWED,
            f"{issue.id} is {issue.status}; only an issue in_review can be closed as fixed.",
        )
    if resolution == "duplicate" and not session.table(Link).where(source=issue.id, relation="duplicates"):
        raise ToolError(
            Fault.RESOLUTION_NOT_ALLOWED,
            f"{issue.id} duplicates nothing yet; link_issues with relation duplicates comes first.",
        )
    children = open_subtasks(session, issue.id)
    if children:
        raise ToolError(
            Fault.OPEN_SUBTASKS, f"{issue.id} has the open subtasks {', '.join(children[:3])}; close them first."
        )
    if resolution == "fixed":
        check_unblocked(session, issue)


def reaches(session: Session, start: str, goal: str, relation: str) -> bool:
    """Whether links of one relation lead from one issue to another."""
    seen, waiting = {start}, [start]
    while waiting:
        for link in session.table(Link).where(source=waiting.pop(), relation=relation):
            if link.target == goal:
                return True
            if link.target not in seen:
                seen.add(link.target)
                waiting.append(link.target)
    return False


def sprint_points(session: Session, sprint_id: str) -> int:
    """Story points of everything in a sprint."""
    return sum(issue.points or 0 for issue in session.table(Issue).where(sprint_id=sprint_id))


def check_capacity(session: Session, sprint: Sprint, extra: int) -> None:
    """Refuse points that the sprint has no room for."""
    used = sprint_points(session, sprint.id)
    if used + extra > sprint.capacity:
        raise ToolError(
            Fault.CAPACITY_EXCEEDED,
            f"{sprint.name} has {max(0, sprint.capacity - used)} of {sprint.capacity} points left, "
            f"{extra} more are needed; choose another sprint or take an issue out.",
        )


def save(session: Session, issue: Issue) -> Issue:
    """Write an issue with the time of its change."""
    return session.table(Issue).put(replace(issue, updated_at=session.now))
