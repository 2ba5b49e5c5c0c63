"""The issue tracker: each of its error codes is reached, and its plans stay consistent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from servers.issue_tracker.model import WORKFLOW, Fault, Issue, Link, Member, Project, Release, Sprint
from servers.kernel.store import Record
from tests.servers.play import Play


def issue(play: Play, **wanted: Any) -> Issue:
    wanted = {"project_key": "WEB", "parent": None, **wanted}
    linked = {key for link in play.rows(Link) for key in (link.source, link.target)}
    parents = {row.parent for row in play.rows(Issue)}
    fitting = [row for row in play.rows(Issue) if all(getattr(row, name) == value for name, value in wanted.items())]
    return next(row for row in fitting if row.id not in linked | parents)


def some(play: Play, kind: type, **wanted: Any) -> Any:
    return next(row for row in play.rows(kind) if all(getattr(row, name) == value for name, value in wanted.items()))


def arrange(play: Play, row: Record) -> None:
    """Bring a row into a state that only time or other people would."""
    play.session.table(type(row)).put(row)
    play.session.commit("arrange", {})


def me(play: Play) -> Member:
    return some(play, Member, you=True)


def project_archived(play: Play) -> None:
    play.fails("project_archived", "create_issue", project_key="OLD", kind="bug", title="Still broken")
    play.fails("project_archived", "comment_on_issue", issue_key="OLD-1", text="hello")


def unknown_component(play: Play) -> None:
    message = play.fails("unknown_component", "update_issue", issue_key=issue(play, status="todo").id, component="X")
    assert "Checkout" in message


def unknown_label(play: Play) -> None:
    play.fails("unknown_label", "update_issue", issue_key=issue(play, status="todo").id, add_label="shiny")


def too_many_labels(play: Play) -> None:
    key = issue(play, status="todo").id
    known = some(play, Project, id="WEB").labels
    message = ""
    for label in known:
        outcome = play.catalog.call(play.session, "update_issue", {"issue_key": key, "add_label": label})
        message = outcome.error_code
    assert message == "too_many_labels"


def parent_not_allowed(play: Play) -> None:
    arguments = {"kind": "task", "title": "A small step", "project_key": "WEB"}
    child = next(row for row in play.rows(Issue) if row.parent and row.project_key == "WEB")
    play.fails("parent_not_allowed", "create_issue", parent_key=child.id, **arguments)
    play.fails("parent_not_allowed", "create_issue", parent_key="API-1", **arguments)


def nothing_to_change(play: Play) -> None:
    play.fails("nothing_to_change", "update_issue", issue_key=issue(play, status="todo").id)


def issue_closed(play: Play) -> None:
    play.fails("issue_closed", "update_issue", issue_key=issue(play, status="done").id, priority="low")


def not_project_member(play: Play) -> None:
    stranger = next(row for row in play.rows(Member) if "WEB" not in row.projects)
    play.fails("not_project_member", "assign_issue", issue_key=issue(play, status="todo").id, assignee=stranger.id)


def member_away(play: Play) -> None:
    away = next(row for row in play.rows(Member) if row.away_until and "WEB" in row.projects)
    arguments = {"issue_key": issue(play, status="backlog").id, "assignee": away.id}
    play.fails("member_away", "assign_issue", **arguments)
    arrange(play, replace(away, issue_limit=99))
    play.wait(days=(away.away_until - play.session.now.date()).days + 1)
    play.ok("assign_issue", **arguments)


def load_limit_reached(play: Play) -> None:
    arrange(play, replace(me(play), issue_limit=0))
    key = next(row for row in play.rows(Issue) if row.status == "backlog" and row.project_key == "WEB").id
    play.fails("load_limit_reached", "assign_issue", issue_key=key, assignee=me(play).id)
    closed = next(row for row in play.rows(Issue) if row.assignee and row.status == "done" and row.project_key == "WEB")
    arrange(play, replace(closed, release_id=None))
    arrange(play, replace(some(play, Member, id=closed.assignee), issue_limit=0))
    play.fails("load_limit_reached", "transition_issue", issue_key=closed.id, status="todo")


def already_assigned(play: Play) -> None:
    row = issue(play, status="in_review")
    play.fails("already_assigned", "assign_issue", issue_key=row.id, assignee=row.assignee)


def transition_not_allowed(play: Play) -> None:
    message = play.fails(
        "transition_not_allowed", "transition_issue", issue_key=issue(play, status="backlog").id, status="in_review"
    )
    assert "todo or done" in message


def resolution_required(play: Play) -> None:
    key = issue(play, status="in_review").id
    play.fails("resolution_required", "transition_issue", issue_key=key, status="done")
    assert play.ok("transition_issue", issue_key=key, status="done", resolution="fixed")["resolution"] == "fixed"


def resolution_not_allowed(play: Play) -> None:
    for state, resolution in (("backlog", "fixed"), ("todo", "duplicate")):
        key = issue(play, status=state).id
        play.fails("resolution_not_allowed", "transition_issue", issue_key=key, status="done", resolution=resolution)
    play.ok("link_issues", source_key=key, relation="duplicates", target_key="WEB-1")
    play.ok("transition_issue", issue_key=key, status="done", resolution="duplicate")


def assignee_required(play: Play) -> None:
    key = play.ok("create_issue", project_key="WEB", kind="bug", title="Footer link is dead")["id"]
    play.ok("transition_issue", issue_key=key, status="todo")
    play.fails("assignee_required", "transition_issue", issue_key=key, status="in_progress")


def open_subtasks(play: Play) -> None:
    parent = issue(play, status="in_review").id
    child = play.ok("create_issue", project_key="WEB", kind="task", title="A small step", parent_key=parent)
    done = {"issue_key": parent, "status": "done", "resolution": "fixed"}
    assert child["id"] in play.fails("open_subtasks", "transition_issue", **done)
    play.ok("transition_issue", issue_key=child["id"], status="done", resolution="wont_do")
    play.ok("transition_issue", **done)


def issue_blocked(play: Play) -> None:
    blocked, blocker = issue(play, status="in_review").id, issue(play, status="backlog").id
    play.ok("link_issues", source_key=blocker, relation="blocks", target_key=blocked)
    assert play.ok("get_issue", issue_key=blocked)["blocked_by"] == [blocker]
    done = {"issue_key": blocked, "status": "done", "resolution": "fixed"}
    play.fails("issue_blocked", "transition_issue", **done)
    play.ok("transition_issue", issue_key=blocker, status="done", resolution="wont_do")
    play.ok("transition_issue", **done)


def self_link(play: Play) -> None:
    play.fails("self_link", "link_issues", source_key="WEB-1", relation="blocks", target_key="WEB-1")


def link_exists(play: Play) -> None:
    link = play.rows(Link)[0]
    play.fails("link_exists", "link_issues", source_key=link.source, relation=link.relation, target_key=link.target)


def link_cycle(play: Play) -> None:
    first, second, third = (issue(play, status=state).id for state in ("backlog", "todo", "in_review"))
    play.ok("link_issues", source_key=first, relation="blocks", target_key=second)
    play.ok("link_issues", source_key=second, relation="blocks", target_key=third)
    play.fails("link_cycle", "link_issues", source_key=third, relation="blocks", target_key=first)


def duplicate_comment(play: Play) -> None:
    play.ok("comment_on_issue", issue_key="WEB-1", text="On staging now.")
    play.fails("duplicate_comment", "comment_on_issue", issue_key="WEB-1", text="On staging now.")
    shown = play.ok("list_issue_comments", issue_key="WEB-1")["items"][0]
    assert shown["text"] == "On staging now." and shown["author"] == me(play).id


def work_not_started(play: Play) -> None:
    play.fails("work_not_started", "log_issue_work", issue_key=issue(play, status="todo").id, hours=1)


def day_not_allowed(play: Play) -> None:
    key = issue(play, status="in_review").id
    for day in ("2026-03-03", "2026-02-15"):
        play.fails("day_not_allowed", "log_issue_work", issue_key=key, hours=1, day=day)


def day_full(play: Play) -> None:
    key = issue(play, status="in_review").id
    assert play.ok("log_issue_work", issue_key=key, hours=10.5)["hours_that_day"] == 10.5
    assert "1.5" in play.fails("day_full", "log_issue_work", issue_key=key, hours=2)
    play.wait(days=1)
    play.ok("log_issue_work", issue_key=key, hours=2)


def wrong_project(play: Play) -> None:
    key = issue(play, status="todo").id
    other = some(play, Sprint, project_key="API", state="active")
    play.fails("wrong_project", "move_issue_to_sprint", issue_key=key, sprint_id=other.id)
    release = some(play, Release, project_key="API", published=False)
    play.fails("wrong_project", "update_issue", issue_key=key, release_id=release.id)


def already_in_sprint(play: Play) -> None:
    row = next(row for row in play.rows(Issue) if row.sprint_id and row.status != "done")
    play.fails("already_in_sprint", "move_issue_to_sprint", issue_key=row.id, sprint_id=row.sprint_id)


def not_in_sprint(play: Play) -> None:
    row = next(row for row in play.rows(Issue) if row.sprint_id and row.status != "done")
    play.ok("move_issue_to_sprint", issue_key=row.id)
    play.fails("not_in_sprint", "move_issue_to_sprint", issue_key=row.id)


def sprint_closed(play: Play) -> None:
    sprint = some(play, Sprint, project_key="WEB", state="closed")
    play.fails("sprint_closed", "move_issue_to_sprint", issue_key=issue(play, status="todo").id, sprint_id=sprint.id)


def estimate_required(play: Play) -> None:
    new = play.ok("create_issue", project_key="WEB", kind="bug", title="Footer link is dead")
    arguments = {"issue_key": new["id"], "sprint_id": some(play, Sprint, project_key="WEB", state="planned").id}
    play.fails("estimate_required", "move_issue_to_sprint", **arguments)
    play.ok("update_issue", issue_key=new["id"], points=1)
    play.ok("move_issue_to_sprint", **arguments)


def capacity_exceeded(play: Play) -> None:
    sprint = some(play, Sprint, project_key="WEB", state="planned")
    rows = [row for row in play.rows(Issue) if row.project_key == "WEB" and row.status == "backlog"][:3]
    for row in rows:
        play.ok("update_issue", issue_key=row.id, points=21)
    arrange(play, replace(sprint, capacity=sprint.capacity + 21))
    play.ok("move_issue_to_sprint", issue_key=rows[0].id, sprint_id=sprint.id)
    arguments = {"issue_key": rows[1].id, "sprint_id": sprint.id}
    assert "points left" in play.fails("capacity_exceeded", "move_issue_to_sprint", **arguments)
    play.ok("move_issue_to_sprint", issue_key=rows[0].id)
    play.ok("move_issue_to_sprint", **arguments)


def not_project_lead(play: Play) -> None:
    sprint = some(play, Sprint, project_key="DAT", state="planned")
    assert some(play, Project, id="DAT").lead in play.fails("not_project_lead", "start_sprint", sprint_id=sprint.id)


def sprint_not_planned(play: Play) -> None:
    play.fails("sprint_not_planned", "start_sprint", sprint_id=some(play, Sprint, state="active").id)


def sprint_not_active(play: Play) -> None:
    play.fails("sprint_not_active", "close_sprint", sprint_id=some(play, Sprint, state="planned").id)


def another_sprint_active(play: Play) -> None:
    sprint = some(play, Sprint, project_key="WEB", state="planned")
    running = some(play, Sprint, project_key="WEB", state="active")
    assert running.name in play.fails("another_sprint_active", "start_sprint", sprint_id=sprint.id)


def sprint_empty(play: Play) -> None:
    sprint = some(play, Sprint, project_key="MOB", state="planned")
    for row in play.rows(Issue):
        if row.sprint_id == sprint.id:
            play.ok("move_issue_to_sprint", issue_key=row.id)
    play.fails("sprint_empty", "start_sprint", sprint_id=sprint.id)


def start_too_early(play: Play) -> None:
    play.ok("close_sprint", sprint_id=some(play, Sprint, project_key="WEB", state="active").id)
    sprint = max((row for row in play.rows(Sprint) if row.project_key == "WEB"), key=lambda row: row.starts)
    play.fails("start_too_early", "start_sprint", sprint_id=sprint.id)
    play.wait(days=(sprint.starts - play.session.now.date()).days)
    play.ok("start_sprint", sprint_id=sprint.id)


def release_published(play: Play) -> None:
    release = some(play, Release, project_key="WEB", published=True)
    play.fails("release_published", "publish_release", release_id=release.id)
    play.fails("release_published", "update_issue", issue_key=issue(play, status="todo").id, release_id=release.id)
    shipped = some(play, Issue, release_id=release.id, status="done")
    play.fails("release_published", "transition_issue", issue_key=shipped.id, status="todo")


def release_not_ready(play: Play) -> None:
    row = next(row for row in play.rows(Issue) if row.release_id and row.status == "todo" and row.project_key == "WEB")
    assert "open" in play.fails("release_not_ready", "publish_release", release_id=row.release_id)


FAULTS: dict[str, Callable[[Play], None]] = {
    name: scenario for name, scenario in globals().items() if name in set(Fault)
}


@pytest.mark.parametrize("fault", sorted(Fault))
def test_fault_is_reached(fault: str) -> None:
    FAULTS[fault](Play("issue_tracker"))


@pytest.mark.parametrize("seed", range(4))
def test_seed_obeys_the_rules(seed: int) -> None:
    play = Play("issue_tracker", seed)
    issues = {row.id: row for row in play.rows(Issue)}
    members = {row.id: row for row in play.rows(Member)}
    for row in issues.values():
        assert (row.resolution is not None) == (row.status == "done")
        assert row.assignee or row.status not in ("in_progress", "in_review")
        assert row.assignee is None or row.project_key in members[row.assignee].projects
        assert row.parent is None or issues[row.parent].parent is None
    for sprint in play.rows(Sprint):
        assert sum(row.points or 0 for row in issues.values() if row.sprint_id == sprint.id) <= sprint.capacity
    for name, member in members.items():
        assert sum(row.assignee == name and row.status != "done" for row in issues.values()) <= member.issue_limit


def test_a_search_names_known_projects_and_members() -> None:
    play = Play("issue_tracker")
    play.fails("not_found", "search_issues", project_key="NOPE")
    play.fails("not_found", "search_issues", assignee="nobody")


@pytest.mark.parametrize("tool", ["list_sprints", "list_releases"])
def test_pages_follow_one_another(tool: str) -> None:
    play = Play("issue_tracker")
    whole = play.ok(tool, limit=2)["items"]
    first = play.ok(tool, limit=1)
    assert play.ok(tool, limit=1, offset=first["next_offset"])["items"] == whole[1:]


def test_closing_a_sprint_loses_no_issue() -> None:
    play = Play("issue_tracker")
    sprint = some(play, Sprint, project_key="WEB", state="active")
    report = play.ok("get_sprint_report", sprint_id=sprint.id)
    closed = play.ok("close_sprint", sprint_id=sprint.id)
    assert closed["left_without_sprint"] == report["open_issues"]
    assert closed["points_done"] == report["points_done"]
    after = play.ok("get_sprint_report", sprint_id=sprint.id)
    assert (after["open_issues"], after["days_left"]) == (0, 0)


def test_an_issue_goes_all_the_way() -> None:
    play = Play("issue_tracker")
    arrange(play, replace(me(play), issue_limit=50))
    key = play.ok("create_issue", project_key="WEB", kind="bug", title="Footer link is dead")["id"]
    play.ok("assign_issue", issue_key=key, assignee=me(play).id)
    for status in ("todo", "in_progress", "in_review"):
        assert play.ok("transition_issue", issue_key=key, status=status)["status"] == status
    play.ok("transition_issue", issue_key=key, status="done", resolution="fixed")
    assert play.ok("search_issues", query="Footer", status="done")["items"][0]["id"] == key
    assert play.ok("transition_issue", issue_key=key, status="todo") == {"id": key, "status": "todo"}


def test_every_status_can_be_left() -> None:
    assert all(WORKFLOW.values())
