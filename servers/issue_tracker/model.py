"""Records and error codes of the issue tracker."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from servers.kernel.store import Record
from servers.kernel.types import Entity

ProjectKey: TypeAlias = Annotated[str, Entity("tracker_project", natural=True)]
MemberName: TypeAlias = Annotated[str, Entity("tracker_member", natural=True)]
IssueKey: TypeAlias = Annotated[str, Entity("issue", natural=True)]
SprintId: TypeAlias = Annotated[str, Entity("sprint")]
ReleaseId: TypeAlias = Annotated[str, Entity("release")]

IssueKind: TypeAlias = Literal["story", "bug", "task"]
Status: TypeAlias = Literal["backlog", "todo", "in_progress", "in_review", "done"]
Priority: TypeAlias = Literal["low", "medium", "high", "urgent"]
Resolution: TypeAlias = Literal["fixed", "wont_do", "duplicate", "cannot_reproduce"]
Relation: TypeAlias = Literal["blocks", "duplicates"]
SprintState: TypeAlias = Literal["planned", "active", "closed"]

WORKFLOW: dict[Status, tuple[Status, ...]] = {
    "backlog": ("todo", "done"),
    "todo": ("backlog", "in_progress", "done"),
    "in_progress": ("todo", "in_review"),
    "in_review": ("in_progress", "done"),
    "done": ("todo",),
}
"""Where an issue may go from each status."""


class Fault(StrEnum):
    """What the tracker refuses, beyond bad arguments and unknown ids."""

    PROJECT_ARCHIVED = "project_archived"
    UNKNOWN_COMPONENT = "unknown_component"
    UNKNOWN_LABEL = "unknown_label"
    TOO_MANY_LABELS = "too_many_labels"
    PARENT_NOT_ALLOWED = "parent_not_allowed"
    NOTHING_TO_CHANGE = "nothing_to_change"
    ISSUE_CLOSED = "issue_closed"
    NOT_PROJECT_MEMBER = "not_project_member"
    MEMBER_AWAY = "member_away"
    LOAD_LIMIT_REACHED = "load_limit_reached"
    ALREADY_ASSIGNED = "already_assigned"
    TRANSITION_NOT_ALLOWED = "transition_not_allowed"
    RESOLUTION_REQUIRED = "resolution_required"
    RESOLUTION_NOT_ALLOWED = "resolution_not_allowed"
    ASSIGNEE_REQUIRED = "assignee_required"
    OPEN_SUBTASKS = "open_subtasks"
    ISSUE_BLOCKED = "issue_blocked"
    SELF_LINK = "self_link"
    LINK_EXISTS = "link_exists"
    LINK_CYCLE = "link_cycle"
    DUPLICATE_COMMENT = "duplicate_comment"
    WORK_NOT_STARTED = "work_not_started"
    DAY_NOT_ALLOWED = "day_not_allowed"
    DAY_FULL = "day_full"
    WRONG_PROJECT = "wrong_project"
    ALREADY_IN_SPRINT = "already_in_sprint"
    NOT_IN_SPRINT = "not_in_sprint"
    SPRINT_CLOSED = "sprint_closed"
    ESTIMATE_REQUIRED = "estimate_required"
    CAPACITY_EXCEEDED = "capacity_exceeded"
    NOT_PROJECT_LEAD = "not_project_lead"
    SPRINT_NOT_PLANNED = "sprint_not_planned"
    SPRINT_NOT_ACTIVE = "sprint_not_active"
    ANOTHER_SPRINT_ACTIVE = "another_sprint_active"
    SPRINT_EMPTY = "sprint_empty"
    START_TOO_EARLY = "start_too_early"
    RELEASE_PUBLISHED = "release_published"
    RELEASE_NOT_READY = "release_not_ready"


@dataclass(frozen=True, slots=True)
class Project(Record):
    """A project; `id` is the key that its issues carry. Archived ones can only be read."""

    id: ProjectKey
    name: str
    lead: MemberName
    labels: tuple[str, ...]
    archived: bool


@dataclass(frozen=True, slots=True)
class Component(Record):
    """A part of a project's product."""

    id: str
    project_key: str
    name: str


@dataclass(frozen=True, slots=True)
class Member(Record):
    """A person; `id` is the user name. `issue_limit` bounds open assigned issues, `you` marks the user."""

    id: MemberName
    name: str
    projects: tuple[str, ...]
    issue_limit: int
    away_until: date | None
    you: bool


@dataclass(frozen=True, slots=True)
class Issue(Record):
    """A unit of work; one with a `parent` is a subtask. Its `resolution` is set while it is done."""

    id: IssueKey
    project_key: str
    number: int
    kind: IssueKind
    title: str
    status: Status
    priority: Priority
    component: str
    updated_at: datetime
    assignee: str | None = None
    points: int | None = None
    sprint_id: str | None = None
    release_id: str | None = None
    parent: str | None = None
    resolution: Resolution | None = None
    labels: tuple[str, ...] = ()
    watchers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Link(Record):
    """`source` blocks or duplicates `target`."""

    id: str
    source: str
    relation: Relation
    target: str


@dataclass(frozen=True, slots=True)
class Comment(Record):
    """Something that somebody wrote under an issue."""

    id: str
    issue_key: str
    author: str
    text: str
    written_at: datetime


@dataclass(frozen=True, slots=True)
class WorkLog(Record):
    """Minutes that somebody worked on an issue on one day."""

    id: str
    issue_key: str
    author: str
    minutes: int
    day: date


@dataclass(frozen=True, slots=True)
class Sprint(Record):
    """Some days in which a project's team takes on `capacity` story points."""

    id: SprintId
    project_key: ProjectKey
    name: str
    state: SprintState
    starts: date
    ends: date
    capacity: int


@dataclass(frozen=True, slots=True)
class Release(Record):
    """A version that ships when its issues are done."""

    id: ReleaseId
    project_key: ProjectKey
    name: str
    due: date
    published: bool
