from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from stages.evaluate.acebench.adapter import Scripted
from stages.evaluate.acebench.agent import FINISHED, MAX_REPLIES, AceAgent
from stages.evaluate.acebench.agent_scoring import end_fault, progress
from stages.evaluate.acebench.calls import Call
from stages.evaluate.acebench.rendering import Rendering, reply_of
from stages.evaluate.acebench.world import ScenarioCode, World
from stages.evaluate.benchmark import BenchmarkUnavailableError, TaskResult
from stages.evaluate.loop import OneByOne, Silent, rescore, run_tasks
from stages.records import Message, ToolSpec
from tests.stages.evaluate.acebench_made_up import write_clone, write_data

WIFI = Call("turn_on_wifi", {})
SEND = Call("send_message", {"to": "Bo", "text": "Bo's note"})
DONE = Message("assistant", f"All done, {FINISHED}.")
RENDERINGS: tuple[Rendering, ...] = ("native", "training")


class Customer:
    """Says given words, and keeps what it was shown."""

    name = "made-up customer"

    def __init__(self, *words: str) -> None:
        self.words = list(words)
        self.seen: list[tuple[tuple[Message, ...], str]] = []

    def reply(
        self, messages: Sequence[Message], instructions: str, tools: Sequence[ToolSpec], *, seed: int = 0
    ) -> Message:
        self.seen.append((tuple(messages), instructions))
        if not self.words:
            raise RuntimeError("endpoint is gone")
        return Message("assistant", self.words.pop(0))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("acebench"))


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_clone(tmp_path_factory.mktemp("clone"))


def played(benchmark: AceAgent, *lines: Message, task: int = 0) -> TaskResult:
    return run_tasks(benchmark, [benchmark.tasks()[task]], OneByOne(Scripted([*lines])))[0]


@pytest.mark.parametrize("rendering", RENDERINGS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_errand_done_step_by_step_passes_and_scores_again(
    data: Path, code: Path, language: str, rendering: Rendering, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark = AceAgent(data, code, language, rendering)  # type: ignore[arg-type]
    row = played(benchmark, reply_of([WIFI], rendering), reply_of([SEND], rendering), DONE)
    assert (row.status, row.score.passed, row.score.counts) == ("scored", True, {"process_thousandths": 1000})
    assert row.episode is not None
    assert [call.name for call in row.episode.calls] == ["turn_on_wifi", "send_message"]
    assert row.episode.stop == "answered"
    assert rescore(benchmark, [row]) == [row]
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("rendering", RENDERINGS)
def test_results_are_shown_to_the_agent(data: Path, code: Path, rendering: Rendering) -> None:
    row = played(AceAgent(data, code, "en", rendering), reply_of([SEND], rendering), DONE)
    assert row.episode is not None
    assert '{"status": false, "message": "no wifi"}' in row.episode.messages[3].content
    assert row.episode.messages[3].role == ("user" if rendering == "native" else "tool")
    assert (row.score.passed, row.score.reason) == (False, "BaseApi.wifi")


def test_milestones_on_the_way_are_counted(data: Path, code: Path) -> None:
    benchmark = AceAgent(data, code)
    half = played(benchmark, reply_of([WIFI], "native"), DONE)
    assert (half.score.reason, half.score.counts) == ("MessageApi.inbox", {"process_thousandths": 500})
    late = played(benchmark, reply_of([SEND], "native"), DONE)
    assert late.score.counts == {"process_thousandths": 500}


def test_doing_nothing_passes_nothing(data: Path, code: Path) -> None:
    (control,) = AceAgent(data, code, user=Customer()).controls()[:1]
    assert (control.name, control.passed) == ("agent_do_nothing", 0)
    row = played(AceAgent(data, code), DONE)
    assert (row.score.reason, row.score.counts) == ("no_call", {"process_thousandths": 0})


def test_twenty_replies_are_the_most(data: Path, code: Path) -> None:
    row = run_tasks(AceAgent(data, code), AceAgent(data, code).tasks(), OneByOne(Silent()))[0]
    assert row.episode is not None
    assert row.episode.stop == "rounds"
    assert sum(message.role == "assistant" for message in row.episode.messages) == MAX_REPLIES


def test_a_second_model_plays_the_user_and_is_named(data: Path, code: Path) -> None:
    customer = Customer("A note for Bo, please.", FINISHED)
    benchmark = AceAgent(data, code, user=customer)
    assert benchmark.version.endswith("user model made-up customer")
    assert [task.category for task in benchmark.tasks()] == ["agent_multi_step", "agent_multi_turn"]
    row = played(
        benchmark, reply_of([WIFI], "native"), reply_of([SEND], "native"), Message("assistant", "Sent."), task=1
    )
    assert row.score.passed
    (greeting, _), (talk, instructions) = customer.seen
    assert [message.role for message in greeting] == ["user"]
    assert [message.content for message in talk[1:]] == ["A note for Bo, please.", "Sent."]
    assert "Send Bo's note to Bo." in instructions
    assert row.episode is not None
    assert "Send Bo's note to Bo." not in "".join(message.content for message in row.episode.messages)


def test_a_user_model_that_fails_masks_the_task(data: Path, code: Path) -> None:
    row = played(AceAgent(data, code, user=Customer()), DONE, task=1)
    assert row.status == "infrastructure"
    assert "endpoint is gone" in row.score.reason


def test_without_a_user_model_only_multi_step_tasks_are_there(data: Path, code: Path) -> None:
    assert [task.category for task in AceAgent(data, code).tasks()] == ["agent_multi_step"]


@pytest.mark.parametrize(
    "name", ["wipe", "_load_scenario", "__class__", "__init__", "inbox", "send_message()", "", "x" * 9_999]
)
def test_only_documented_methods_are_called(data: Path, code: Path, name: str) -> None:
    world = World(ScenarioCode(code, "en"), AceAgent(data, code).tasks()[0])
    outcome = world.call(name, {})
    assert (outcome.executed, outcome.error) == (False, "unknown_tool")
    assert len(outcome.text) < 200


def test_a_documented_private_name_is_not_called_either(data: Path, code: Path) -> None:
    task = AceAgent(data, code).tasks()[0]
    hostile = replace(task, apis=({"name": "_load_scenario"}, {"name": "__init__"}))
    world = World(ScenarioCode(code, "en"), hostile)
    assert world.call("_load_scenario", {"scenario": {"wifi": True}}).error == "unknown_tool"
    assert world.call("__init__", {}).error == "unknown_tool"


def test_bad_arguments_are_an_error_and_change_nothing(data: Path, code: Path) -> None:
    world = World(ScenarioCode(code, "en"), AceAgent(data, code).tasks()[0])
    before = world.state()
    outcome = world.call("send_message", {"to": "Bo", "nobody": 1})
    assert (outcome.executed, outcome.error) == (True, "TypeError")
    assert world.state() == before


def test_worlds_share_nothing_and_clones_leave_nothing_behind(data: Path, code: Path, tmp_path: Path) -> None:
    task = AceAgent(data, code).tasks()[0]
    path = list(sys.path)
    scenarios = ScenarioCode(code, "en")
    first, second = World(scenarios, task), World(scenarios, task)
    first.call(*WIFI)
    first.call(*SEND)
    assert second.state()["MessageApi"] == {"inbox": {}}
    assert sys.path == path
    assert not [name for name in sys.modules if name.startswith("model_inference")]
    other = write_clone(tmp_path)
    source = other / "model_inference" / "multi_step" / "scenariosen" / "phone_platform" / "message.py"
    source.write_text(source.read_text().replace("no wifi", "other clone"), encoding="utf-8")
    assert "other clone" in World(ScenarioCode(other, "en"), task).call(*SEND).text
    assert "no wifi" in World(ScenarioCode(code, "en"), task).call(*SEND).text


def test_a_package_of_the_same_name_does_not_stand_in_for_the_clone(
    data: Path, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "model_inference", ModuleType("model_inference"))
    world = World(ScenarioCode(code, "en"), AceAgent(data, code).tasks()[0])
    assert world.call(*WIFI).executed


def test_a_missing_clone_or_class_is_named_with_its_cure(data: Path, code: Path, tmp_path: Path) -> None:
    with pytest.raises(BenchmarkUnavailableError, match=r"scenariosen are not there: clone https://github\.com"):
        AceAgent(data, tmp_path)
    task = replace(AceAgent(data, code).tasks()[0], classes=("Travel",))
    with pytest.raises(BenchmarkUnavailableError, match=r"class Travel is not in model_inference"):
        World(ScenarioCode(code, "en"), task)


def test_end_states_compare_as_published() -> None:
    end = {"A": {"list": [1], "book": {"1": {"x": 1}}}, "Misspelt": {"flag": True}}
    state = {"A": {"list": [1], "book": {"1": {"x": 1}, "2": {}}}, "B": {"flag": False}}
    assert end_fault(state, end) == ""  # members that the reference lacks are free, and so is what it misspells
    assert end_fault({**state, "A": {"list": [1], "book": {"1": {"x": 2}}}}, end) == "A.book"
    assert end_fault({**state, "A": {"list": [1, 2], "book": {"1": {"x": 1}}}}, end) == "A.list"
    assert end_fault({**state, "A": {"other": 1}}, end) == "A.other"
    assert end_fault({"A": state["A"]}, end) == "classes"


def test_a_missing_milestone_costs_itself_only() -> None:
    steps = ["[a()]", "[c(x=1)]"]
    assert progress(steps, ["[a()] ", "[b()]", "[c(x = 1)]"]) == pytest.approx(2 / 3)
    assert progress(steps[::-1], ["[a()]", "[c(x=1)]"]) == 0.5
    assert progress([], []) == 1.0
