from __future__ import annotations

import decimal
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib import util
from pathlib import Path

import mpmath
import pytest

from stages.evaluate.benchmark import BenchmarkUnavailableError
from stages.evaluate.bfcl import data as bfcl_data
from stages.evaluate.bfcl.adapter import Bfcl, _Replay
from stages.evaluate.bfcl.data import CATEGORIES, BfclPackage, BfclTask, parse_call
from stages.evaluate.bfcl.world import World
from stages.evaluate.loop import OneByOne, Silent, rescore, run_tasks
from stages.evaluate.summary import measure, summarise
from stages.records import Message, ToolCall, ToolSpec, TruthCall

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def bfcl() -> Bfcl:
    return Bfcl()


def task_of(bfcl: Bfcl, name: str) -> BfclTask:
    return next(task for task in bfcl.tasks() if task.id == f"multi_turn_{name}")


class Calling:
    """Makes the given call forever."""

    def __init__(self, *calls: ToolCall) -> None:
        self.calls = calls

    def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
        return Message("assistant", "", self.calls)


def test_the_controls_give_their_known_scores(bfcl: Bfcl) -> None:
    controls = bfcl.controls()
    found = {control.name: (control.passed, control.total) for control in controls}
    assert found == {"gold_replay": (800, 800), "do_nothing": (0, 800), "last_call_dropped": (0, 800)}
    assert all(control.holds for control in controls)


def test_there_are_200_tasks_and_4625_gold_calls_in_all(bfcl: Bfcl) -> None:
    tasks = bfcl.tasks()
    assert [sum(task.category == name for task in tasks) for name in CATEGORIES] == [200] * 4
    assert sum(len(turn) for task in tasks for turn in task.gold) == 4625
    assert len({task.id for task in tasks}) == 800


def test_a_bad_run_leaves_no_trace_in_later_scores(bfcl: Bfcl) -> None:
    tasks = [task for task in bfcl.tasks() if task.category in ("base", "long_context")]
    card = TruthCall("set_budget_limit", {"access_token": "x", "budget_limit": 1.0})
    wreck = TruthCall("rm", {"file_name": "workspace"})
    for task in tasks[::4]:
        run_tasks(bfcl, [task], OneByOne(_Replay([[card, wreck, *turn[::-1]] for turn in task.gold])))
    rows = [run_tasks(bfcl, [task], OneByOne(_Replay(task.gold)))[0] for task in tasks]
    assert sum(row.score.passed for row in rows) == len(tasks) == 400
    assert rescore(bfcl, rows) == rows
    again = [run_tasks(bfcl, [task], OneByOne(_Replay(task.gold)))[0] for task in tasks]
    assert again == rows


def test_one_world_does_not_leak_into_the_next_through_the_official_module(bfcl: Bfcl) -> None:
    task = next(t for t in bfcl.tasks() if t.category == "long_context" and "TravelAPI" in t.classes)
    before = World(bfcl.package, task).digest()
    world = World(bfcl.package, task)
    travel = world.instances["TravelAPI"]
    for card in travel.credit_card_list.values():
        card["balance"] = -1
    assert world.digest() != before
    assert World(bfcl.package, task).digest() == before


@pytest.mark.parametrize(
    "name",
    [
        "__import__('os').system",
        "__class__",
        "_load_scenario",
        "GorillaFileSystem.ls",
        "ls()",
        "ls\0",
        "",
        "x" * 1_000_000,
    ],
)
def test_hostile_tool_names_are_refused_by_look_up(bfcl: Bfcl, name: str) -> None:
    outcome = World(bfcl.package, task_of(bfcl, "base_0")).call(name, {})
    assert (outcome.executed, outcome.error) == (False, "unknown_tool")
    assert len(outcome.text) < 500


@pytest.mark.parametrize(
    "arguments",
    [{"self": 1}, {"nobody": 1}, {"folder; import os": "x"}, {"folder": None}, {"folder": {"a": ["b"]}}],
)
def test_hostile_arguments_are_an_error_and_change_nothing(bfcl: Bfcl, arguments: dict[str, object]) -> None:
    world = World(bfcl.package, task_of(bfcl, "base_0"))
    before = world.digest()
    assert world.call("cd", arguments).error != ""  # type: ignore[arg-type]
    assert world.digest() == before


def test_endless_arithmetic_is_refused_and_precision_is_put_back(bfcl: Bfcl) -> None:
    task = next(task for task in bfcl.tasks() if "MathAPI" in task.classes)
    world = World(bfcl.package, task)
    assert world.call("power", {"base": 10, "exponent": 10**10}).error == "refused"
    assert world.call("square_root", {"number": 2, "precision": 10**12}).error == "refused"
    before = decimal.getcontext().prec, mpmath.mp.prec
    assert "1.41421" in world.call("square_root", {"number": 2, "precision": 50}).text
    assert "0.30102" in world.call("logarithm", {"value": 2, "base": 10, "precision": 50}).text
    assert (decimal.getcontext().prec, mpmath.mp.prec) == before


def test_a_held_back_tool_arrives_at_its_turn_with_the_fixed_sentence(bfcl: Bfcl) -> None:
    task = task_of(bfcl, "miss_func_0")
    offered = [[tool.name for tool in bfcl.tools_at(task, turn)] for turn in range(5)]
    assert ["sort" in names for names in offered] == [False, False, False, True, True]
    assert offered[3][-1] == "sort"
    row = run_tasks(bfcl, [task], OneByOne(Silent()))[0]
    assert row.episode is not None
    users = [message.content for message in row.episode.messages if message.role == "user"]
    assert users[3] == "I have updated some more functions you can choose from. What about now?"


def test_tools_are_shown_as_json_schema(bfcl: Bfcl) -> None:
    kinds: set[str] = set()

    def walk(schema: object) -> None:
        if isinstance(schema, dict):
            if isinstance(kind := schema.get("type"), str):
                kinds.add(kind)
            for inner in schema.values():
                walk(inner)

    for name in {name for task in bfcl.tasks() for name in task.classes}:
        for tool in bfcl.package.tools_of(name):
            walk(tool.parameters)
    assert kinds == {"object", "string", "number", "integer", "array", "boolean"}


def test_twenty_steps_are_allowed_and_the_next_ends_the_episode(bfcl: Bfcl) -> None:
    task = task_of(bfcl, "base_0")
    row = run_tasks(bfcl, [task], OneByOne(Calling(ToolCall("c", "pwd", {}))))[0]
    assert row.episode is not None
    assert (row.episode.stop, len(row.episode.calls)) == ("rounds", 21)
    assert row.score.reason == "force_terminated"

    class Twenty:
        def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
            turn = max(index for index, message in enumerate(messages) if message.role == "user")
            steps = sum(message.role == "assistant" for message in messages[turn:])
            return Message("assistant", "", (ToolCall("c", "pwd", {}),) if steps < 20 else ())

    row = run_tasks(bfcl, [task], OneByOne(Twenty()))[0]
    assert row.episode is not None
    assert (row.episode.stop, len(row.episode.calls)) == ("answered", 20 * len(task.turns))
    assert row.score.reason == "state_mismatch"


def test_an_unreadable_call_ends_the_turn_and_runs_nothing(bfcl: Bfcl) -> None:
    task = task_of(bfcl, "base_0")
    calls = (ToolCall("a", "pwd", {}), ToolCall("b", "ls", None, raw="{", error="not JSON"))
    row = run_tasks(bfcl, [task], OneByOne(Calling(*calls)))[0]
    assert row.episode is not None
    assert not any(call.executed for call in row.episode.calls)
    assert len(row.episode.calls) == 2 * len(task.turns)
    assert row.score.reason == "empty_turn"


def test_turns_that_must_stay_free_of_calls_are_counted_apart(bfcl: Bfcl) -> None:
    tasks = [task for task in bfcl.tasks() if task.category == "miss_param"][:20]
    silent = summarise(run_tasks(bfcl, tasks, OneByOne(Silent()))).categories[0].counts
    assert silent["call_free_turns"] == silent["call_free_kept"] >= 20

    class Eager(_Replay):
        def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
            call = () if messages[-1].role == "tool" else (ToolCall("c", tools[0].name, {}),)
            return Message("assistant", "", call)

    eager = summarise(run_tasks(bfcl, tasks, OneByOne(Eager(())))).categories[0].counts
    assert (eager["call_free_kept"], eager["call_free_turns"]) == (0, silent["call_free_turns"])


def test_a_failing_task_is_isolated(bfcl: Bfcl) -> None:
    good, other = task_of(bfcl, "base_0"), task_of(bfcl, "base_1")
    broken = replace(good, id="broken", classes=("NoSuchClass",))
    rows = run_tasks(bfcl, [good, broken, other], OneByOne(Silent()))
    assert [row.status for row in rows] == ["scored", "error", "scored"]


def test_a_run_reports_rates_intervals_and_the_floor(bfcl: Bfcl) -> None:
    measured = measure(Bfcl(), OneByOne(Silent()), sample=3, seed=1)
    assert [category.category for category in measured.summary.categories] == list(CATEGORIES)
    assert all(category.scored == 3 for category in measured.summary.categories)
    assert measured.summary == measured.do_nothing
    assert measured.summary.overall == 0.0
    assert measured.version == "bfcl-eval 2026.3.23, v4 data"
    assert len(json.loads(json.dumps(asdict(measured)))["rows"]) == 12


def test_our_results_and_verdicts_equal_the_official_ones(bfcl: Bfcl) -> None:
    from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import multi_turn_checker

    def text(call: TruthCall) -> str:
        return f"{call.name}({', '.join(f'{name}={value!r}' for name, value in call.arguments.items())})"

    verdicts = []
    for index, task in enumerate(bfcl.tasks()[::10]):
        turns = [list(turn) for turn in task.gold]
        turn = turns[index % len(turns)]
        if turn:
            drop = index // 2 % len(turn)
            turns[index % len(turns)] = [*turn[:drop], *turn[drop + 1 :]] if index % 2 else [turn[0], *turn]
        row = run_tasks(bfcl, [task], OneByOne(_Replay(turns)))[0]
        official = multi_turn_checker(
            [[[text(call) for call in turn]] if turn else [] for turn in turns],
            [[text(call) for call in turn] for turn in task.gold],
            {"id": task.id, "initial_config": task.initial, "involved_classes": list(task.classes)},
            "",
            "differential",
        )
        verdicts.append((row.score.passed, official["valid"]))
    assert all(ours == theirs for ours, theirs in verdicts)
    assert {ours for ours, _ in verdicts} == {True, False}


def test_gold_text_is_parsed_not_evaluated() -> None:
    assert parse_call(" mv('a', destination=['b', {'c': -1.5}]) ") == (
        "mv",
        ["a"],
        {"destination": ["b", {"c": -1.5}]},
    )
    for text in ("mv(open('x'))", "a.b()", "1", "mv(**{})", "mv(", "__import__('os').system('x')"):
        with pytest.raises(ValueError):
            parse_call(text)


@pytest.mark.parametrize("package", ["bfcl_eval", "mpmath"])
def test_a_missing_package_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    real = util.find_spec
    monkeypatch.setattr(bfcl_data.util, "find_spec", lambda name: None if name == package else real(name))
    with pytest.raises(BenchmarkUnavailableError, match=r"pip install --no-deps bfcl-eval==2026\.3\.23 mpmath"):
        BfclPackage()


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bfcl_data.metadata, "version", lambda name: "2025.1.1")
    with pytest.raises(BenchmarkUnavailableError, match=r"but 2025\.1\.1 is here"):
        measure(Bfcl(), OneByOne(Silent()), sample=1)


def test_importing_the_adapter_loads_nothing_of_the_package() -> None:
    code = (
        "import sys, stages.evaluate.bfcl;"
        "print([name for name in sys.modules if name.startswith(('bfcl_eval', 'mpmath'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
