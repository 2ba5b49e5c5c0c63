"""The tracker's initial world: five projects with their people, issues, sprints and releases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from itertools import product

from servers.issue_tracker.model import (
    Comment,
    Component,
    Issue,
    IssueKind,
    Link,
    Member,
    Project,
    Relation,
    Release,
    Resolution,
    Sprint,
    SprintState,
    Status,
    WorkLog,
)
from servers.kernel.dice import Dice
from servers.kernel.server import SeedBuilder
from servers.kernel.session import EPOCH
from servers.kernel.store import Record
from servers.shared.people import people

_TODAY = EPOCH.date()
_PROJECTS = (
    ("WEB", "Web Shop", ("Checkout", "Search", "Login", "Storefront"), True),
    ("API", "Public API", ("Billing", "Webhooks", "Rate Limiter", "Gateway"), True),
    ("MOB", "Mobile App", ("Push", "Offline Mode", "Onboarding", "Camera"), False),
    ("DAT", "Data Platform", ("Ingestion", "Dashboards", "Warehouse", "Exports"), False),
    ("OLD", "Legacy Portal", ("Reports", "Admin"), False),
)
_LABELS = ("regression", "customer", "security", "performance", "docs", "accessibility")
_SYMPTOMS = (
    "crashes on empty input",
    "shows a blank page",
    "times out under load",
    "ignores the time zone",
    "loses the last entry",
    "breaks on long names",
    "returns a wrong total",
)
_WISHES = (
    "add keyboard shortcuts",
    "support dark mode",
    "remember filters",
    "allow bulk edit",
    "show progress",
    "translate to French",
)
_CHORES = ("upgrade dependencies", "add load tests", "remove dead code", "write the runbook", "rotate keys")
_REMARKS = (
    "Reproduced on staging.",
    "Needs a design review first.",
    "The customer asked about this again.",
    "Logs are attached to the ticket.",
    "Pull request is open.",
    "Waiting for the other team.",
    "Could not reproduce on my machine.",
    "Works after clearing the cache.",
    "Let's do this after the release.",
    "I'll look into it tomorrow.",
)
_RESOLUTIONS: tuple[Resolution, ...] = ("fixed", "wont_do", "cannot_reproduce")
_STATUSES: tuple[Status, ...] = ("backlog", "todo", "in_progress", "in_review", "done")


@dataclass
class _Plan:
    """What one project's issues may refer to, and what members, sprints and releases hold already."""

    members: list[Member]
    load: dict[str, int]
    sprints: list[Sprint] = field(default_factory=list)
    releases: list[Release] = field(default_factory=list)
    used: dict[str, int] = field(default_factory=dict)


def build(make: SeedBuilder) -> Iterator[Record]:
    """Write people and projects, then each project's plan and issues, then what hangs on the issues."""
    dice = make.dice
    members = _members(make, dice)
    yield from members
    load: dict[str, int] = {}
    issues: list[Issue] = []
    for number, (key, name, parts, busy) in enumerate(_PROJECTS):
        plan = _Plan([member for member in members if key in member.projects], load)
        lead = members[0].id if number < 3 else plan.members[-1].id
        labels = tuple(sorted(dice.sample(_LABELS, 4)))
        yield Project(key, name, lead, labels, key == "OLD")
        yield from (Component(make.new_id("ICMP"), key, part) for part in parts)
        plan.sprints = _sprints(make, dice, key, busy)
        plan.releases = _releases(make, dice, key, name)
        yield from plan.sprints
        yield from plan.releases
        issues += _issues(dice, key, parts, labels, plan)
    yield from issues
    yield from _links(make, dice, issues)
    for issue in issues:
        yield from _history(make, dice, issue, members)


def _members(make: SeedBuilder, dice: Dice) -> list[Member]:
    found = []
    for number, person in enumerate(people(make.seed, 26)):
        keys = tuple(sorted({"OLD", *dice.sample(("WEB", "API", "MOB", "DAT"), dice.integer(2, 4))}))
        away = _TODAY + timedelta(days=dice.integer(2, 15)) if number and dice.chance(0.15) else None
        projects = ("API", "MOB", "OLD", "WEB") if number == 0 else keys
        found.append(Member(person.username, person.name, projects, dice.integer(5, 9), away, number == 0))
    return found


def _sprints(make: SeedBuilder, dice: Dice, key: str, busy: bool) -> list[Sprint]:
    if key == "OLD":
        return []
    first = dice.integer(8, 30)
    length = timedelta(days=7 if key == "MOB" else 14)
    running = _TODAY - timedelta(days=dice.integer(4, 8)) if busy else _TODAY
    states: tuple[SprintState, ...] = ("closed", "closed", *(("active",) if busy else ()), "planned", "planned")
    return [
        Sprint(
            make.new_id("SPRT"),
            key,
            f"{key} Sprint {first + number}",
            state,
            running + (number - 2) * length,
            running + (number - 1) * length - timedelta(days=1),
            dice.integer(28, 36),
        )
        for number, state in enumerate(states)
    ]


def _releases(make: SeedBuilder, dice: Dice, key: str, name: str) -> list[Release]:
    major = dice.integer(1, 6)
    return [
        Release(
            make.new_id("RLSE"),
            key,
            f"{name} {major}.{minor}",
            _TODAY + timedelta(days=dice.integer(-6, 6) + 25 * (minor - 1)),
            minor == 0,
        )
        for minor in range(4)
    ]


def _titles(dice: Dice, parts: tuple[str, ...]) -> list[tuple[IssueKind, str, str]]:
    found: list[tuple[IssueKind, str, str]] = []
    found += [("bug", part, f"{part} {tail}") for part, tail in product(parts, _SYMPTOMS)]
    found += [("story", part, f"{part}: {tail}") for part, tail in product(parts, _WISHES)]
    found += [("task", part, f"{part}: {tail}") for part, tail in product(parts, _CHORES)]
    return dice.shuffled(found)


def _issues(dice: Dice, key: str, parts: tuple[str, ...], labels: tuple[str, ...], plan: _Plan) -> list[Issue]:
    issues: list[Issue] = []
    for number, (kind, part, title) in enumerate(_titles(dice, parts)[: 12 if key == "OLD" else 42], start=1):
        status: Status = dice.weighted(_STATUSES, (3, 4, 4, 7, 3))
        issue = Issue(
            id=f"{key}-{number}",
            project_key=key,
            number=number,
            kind=kind,
            title=title,
            status=status,
            priority=dice.weighted(("low", "medium", "high", "urgent"), (2, 5, 3, 1)),
            component=part,
            updated_at=EPOCH - timedelta(minutes=dice.integer(30, 30_000)),
            points=dice.choice((1, 2, 3, 5, 8)) if dice.chance(0.85) else None,
            labels=tuple(sorted(dice.sample(labels, dice.integer(0, 2)))),
            watchers=tuple(sorted(member.id for member in dice.sample(plan.members, dice.integer(0, 3)))),
        )
        issues.append(_placed(dice, _staffed(dice, issue, plan), plan))
    return _with_subtasks(dice, issues)


def _staffed(dice: Dice, issue: Issue, plan: _Plan) -> Issue:
    """With the assignee that its status needs; without one it waits, and done issues get a resolution."""
    if issue.status == "done":
        issue = replace(issue, resolution=dice.weighted(_RESOLUTIONS, (6, 1, 1)))
        return replace(issue, assignee=dice.choice(plan.members).id) if issue.resolution == "fixed" else issue
    if issue.status == "backlog" or (issue.status == "todo" and dice.chance(0.4)):
        return issue
    free = [member for member in plan.members if plan.load.get(member.id, 0) < member.issue_limit]
    if not free:
        return replace(issue, status="todo")
    chosen = dice.choice(free).id
    plan.load[chosen] = plan.load.get(chosen, 0) + 1
    return replace(issue, assignee=chosen)


def _placed(dice: Dice, issue: Issue, plan: _Plan) -> Issue:
    """Put into a sprint that has room, and into a release: done issues by turns into the first two."""
    states = {"done": ("closed", "active"), "backlog": ()}.get(issue.status, ("active", "planned"))
    for sprint in dice.shuffled([sprint for sprint in plan.sprints if sprint.state in states]):
        used = plan.used.get(sprint.id, 0) + (issue.points or 0)
        if issue.points and used <= sprint.capacity - 8 and dice.chance(0.7):
            plan.used[sprint.id] = used
            issue = replace(issue, sprint_id=sprint.id)
            break
    shipped, ready, *later = plan.releases
    if issue.status == "done":
        chosen = min(shipped, ready, key=lambda release: plan.used.get(release.id, 0))
        plan.used[chosen.id] = plan.used.get(chosen.id, 0) + 1
        return replace(issue, release_id=chosen.id)
    return replace(issue, release_id=dice.choice(later).id) if dice.chance(0.6) else issue


def _with_subtasks(dice: Dice, issues: list[Issue]) -> list[Issue]:
    """Make every seventh issue a subtask of an earlier one that is no subtask and still open if it is."""
    found: list[Issue] = []
    for position, issue in enumerate(issues):
        parents = [row for row in found if row.parent is None and (row.status != "done" or issue.status == "done")]
        if position % 7 == 6 and parents:
            issue = replace(issue, parent=dice.choice(parents).id)
        found.append(issue)
    return found


def _links(make: SeedBuilder, dice: Dice, issues: list[Issue]) -> Iterator[Record]:
    """Links that run from a lower position to a higher one, so that there is no cycle."""
    seen = set()
    for _ in range(45):
        first = dice.integer(0, len(issues) - 2)
        second = dice.integer(first + 1, min(first + 12, len(issues) - 1))
        if (first, second) not in seen and "OLD" not in (issues[first].project_key, issues[second].project_key):
            seen.add((first, second))
            relation: Relation = "blocks" if dice.chance(0.75) else "duplicates"
            yield Link(make.new_id("ILNK"), issues[first].id, relation, issues[second].id)


def _history(make: SeedBuilder, dice: Dice, issue: Issue, members: list[Member]) -> Iterator[Record]:
    team = [member for member in members if issue.project_key in member.projects]
    for remark in dice.sample(_REMARKS, dice.weighted((0, 1, 2, 3), (1, 3, 2, 1))):
        written = EPOCH - timedelta(minutes=dice.integer(30, 40_000))
        yield Comment(make.new_id("ICOM"), issue.id, dice.choice(team).id, remark, written)
    if issue.assignee and issue.status in ("in_progress", "in_review"):
        day: date = _TODAY - timedelta(days=dice.integer(1, 10))
        yield WorkLog(make.new_id("IWRK"), issue.id, issue.assignee, 30 * dice.integer(1, 10), day)
