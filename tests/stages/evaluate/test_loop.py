"""The run loop on a benchmark of its own: count to a number, one reply a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from stages.evaluate.benchmark import Control, Episode, InfrastructureError, Request, Score, TaskResult
from stages.evaluate.loop import OneByOne, Silent, rescore, run_tasks
from stages.evaluate.statistics import bootstrap_mean, interval_of_mean, wilson
from stages.evaluate.summary import measure, sample_tasks, summarise
from stages.records import EpisodeRecord, Message, ToolSpec


@dataclass(frozen=True)
class Count:
    id: str
    steps: int
    category: str = "plain"
    trap: str = ""


@dataclass
class Counting:
    name: str = "counting"
    version: str = "1"
    all: list[Count] = field(default_factory=list)

    def tasks(self) -> Sequence[Count]:
        return self.all

    def play(self, task: Count) -> Episode:
        if task.trap == "set-up":
            raise RuntimeError("no room")
        messages = [Message("user", task.id)]
        for _ in range(task.steps):
            messages.append((yield Request(tuple(messages), ())))
            if task.trap == "midway":
                raise KeyError("lost")
        stop = "infrastructure" if task.trap == "masked" else "answered"
        return EpisodeRecord(tuple(messages), (), "", stop)

    def score(self, task: Count, episode: EpisodeRecord) -> Score:
        if task.trap == "score":
            raise ZeroDivisionError("no verdict")
        said = sum(message.content == "tick" for message in episode.messages)
        return Score(said == task.steps, counts={"ticks": said})

    def controls(self) -> Sequence[Control]:
        return ()


@dataclass
class Ticker:
    """Ticks, breaks on the conversations named, and notes the size of each batch."""

    breaks: dict[str, Exception] = field(default_factory=dict)
    batches: list[int] = field(default_factory=list)

    def reply_many(self, requests: Sequence[Request]) -> Sequence[Message]:
        self.batches.append(len(requests))
        for request in requests:
            if problem := self.breaks.get(request.messages[0].content):
                raise problem
        return [Message("assistant", "tick") for _ in requests]


def test_batches_stay_full_and_rows_keep_the_order_of_tasks() -> None:
    tasks = [Count(f"t{index}", steps) for index, steps in enumerate([1, 4, 2, 0, 3])]
    agent = Ticker()
    heard: list[str] = []
    rows = run_tasks(Counting(), tasks, agent, width=2, on_result=lambda row: heard.append(row.task_id))
    assert [row.task_id for row in rows] == ["t0", "t1", "t2", "t3", "t4"]
    assert all(row.score.passed for row in rows)
    assert agent.batches == [2, 2, 2, 2, 1, 1]
    assert sorted(heard) == sorted(row.task_id for row in rows)
    assert heard[0] == "t0"


@pytest.mark.parametrize(
    ("trap", "reason"),
    [("set-up", "no room"), ("midway", "KeyError"), ("score", "ZeroDivisionError: no verdict")],
)
def test_a_broken_task_is_a_row_and_its_neighbours_pass(trap: str, reason: str) -> None:
    tasks = [Count("before", 2), Count("bad", 2, trap=trap), Count("after", 2)]
    rows = run_tasks(Counting(), tasks, Ticker(), width=3)
    assert [row.status for row in rows] == ["scored", "error", "scored"]
    assert reason in rows[1].score.reason
    assert [row.score.passed for row in rows] == [True, False, True]


def test_what_was_said_before_a_breakdown_is_kept() -> None:
    row = run_tasks(Counting(), [Count("bad", 2, trap="midway")], Ticker())[0]
    assert [message.content for message in row.partial] == ["bad", "tick"]


def test_one_impossible_prompt_does_not_cost_the_batch() -> None:
    tasks = [Count(name, 2) for name in ("a", "long", "b")]
    rows = run_tasks(Counting(), tasks, Ticker({"long": ValueError("prompt too long")}))
    assert [row.status for row in rows] == ["scored", "error", "scored"]
    assert rows[1].score.reason == "ValueError: prompt too long"


@pytest.mark.parametrize("problem", [InfrastructureError("server gone"), ConnectionError(), TimeoutError()])
def test_infrastructure_is_masked_and_counted(problem: Exception) -> None:
    tasks = [Count("a", 1), Count("b", 1), Count("c", 1, trap="masked")]
    category = summarise(run_tasks(Counting(), tasks, Ticker({"b": problem}))).categories[0]
    assert (category.scored, category.masked, category.errors, category.rate) == (1, 2, 0, 1.0)


def test_a_miscounting_agent_fails_its_tasks_only() -> None:
    class Mute:
        def reply_many(self, requests: Sequence[Request]) -> Sequence[Message]:
            return []

    rows = run_tasks(Counting(), [Count("a", 1), Count("b", 0)], Mute())
    assert [row.status for row in rows] == ["error", "scored"]
    assert "0 replies to 1 requests" in rows[0].score.reason


def test_a_run_without_seats_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        run_tasks(Counting(), [], Ticker(), width=0)


def test_one_by_one_answers_each_conversation_with_its_own_tools() -> None:
    class Echo:
        def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
            return Message("assistant", f"{messages[0].content}:{len(tools)}")

    tool = ToolSpec("t", "", {})
    replies = OneByOne(Echo()).reply_many(
        [Request((Message("user", "x"),), (tool,)), Request((Message("user", "y"),), ())]
    )
    assert [reply.content for reply in replies] == ["x:1", "y:0"]
    assert Silent().reply((), ()) == Message("assistant", "")


def test_rows_can_be_scored_again_but_only_by_their_own_benchmark() -> None:
    benchmark = Counting(all=[Count("a", 1), Count("b", 1, trap="midway")])
    rows = run_tasks(benchmark, benchmark.all, Ticker())
    assert rescore(benchmark, rows) == rows
    with pytest.raises(ValueError, match="'a', are of tasks that counting"):
        rescore(Counting(), rows)


def test_samples_are_per_category_seeded_and_in_order() -> None:
    tasks = [Count(f"{name}{index}", 1, name) for name in "xy" for index in range(20)]
    chosen = sample_tasks(tasks, 3, seed=4)
    assert chosen == sample_tasks(tasks, 3, seed=4) != sample_tasks(tasks, 3, seed=5)
    assert [task.category for task in chosen] == ["x"] * 3 + ["y"] * 3
    assert chosen == sorted(chosen, key=tasks.index)
    assert sample_tasks(tasks, 99, seed=0) == sample_tasks(tasks, None, seed=0) == tasks
    with pytest.raises(ValueError, match="at least 1"):
        sample_tasks(tasks, 0, seed=0)


def test_the_floor_stands_beside_the_score() -> None:
    benchmark = Counting(all=[Count("a", 1, "x"), Count("b", 0, "y"), Count("c", 1, "y")])
    measured = measure(benchmark, Ticker())
    assert (measured.summary.overall, measured.do_nothing.overall) == (1.0, 0.25)
    assert [category.counts for category in measured.summary.categories] == [{"ticks": 1}, {"ticks": 1}]


def test_a_category_without_a_scored_row_has_no_rate_and_there_is_no_overall() -> None:
    rows = [
        TaskResult("a", "x", "scored", Score(True)),
        TaskResult("b", "y", "infrastructure", Score(False)),
    ]
    summary = summarise(rows)
    assert [category.rate for category in summary.categories] == [1.0, None]
    assert (summary.overall, summary.interval) == (None, None)


def test_partial_credit_is_averaged_with_a_bootstrap_interval() -> None:
    credits = [0.0, 0.25, 0.5, 1.0] * 5
    rows = [TaskResult(f"t{i}", "x", "scored", Score(value == 1, value=value)) for i, value in enumerate(credits)]
    rows.append(TaskResult("broken", "x", "error", Score(False)))
    category = summarise(rows).categories[0]
    assert (category.passed, category.scored) == (5, 21)
    assert category.rate == pytest.approx(8.75 / 21)
    assert category.interval == bootstrap_mean([*credits, 0.0], seed=0)
    assert summarise(rows, seed=1).categories[0].interval == bootstrap_mean([*credits, 0.0], seed=1)


def test_the_overall_interval_joins_shares_and_partial_credit() -> None:
    shares = [TaskResult(f"s{i}", "x", "scored", Score(i < 8)) for i in range(10)]
    graded = [TaskResult(f"g{i}", "y", "scored", Score(False, value=i / 10)) for i in range(10)]
    summary = summarise(shares + graded)
    assert summary.overall == pytest.approx((0.8 + 0.45) / 2)
    ends = [wilson(8, 10), bootstrap_mean([i / 10 for i in range(10)], seed=0)]
    assert summary.interval == interval_of_mean([0.8, 0.45], ends)


def test_full_credit_throughout_keeps_an_honest_interval() -> None:
    rows = [TaskResult(f"t{i}", "x", "scored", Score(True, value=1.0)) for i in range(10)]
    assert summarise(rows).categories[0].interval == wilson(10, 10)


@pytest.mark.parametrize("value", [-0.01, 1.01, float("nan")])
def test_credit_outside_0_to_1_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="not between 0 and 1"):
        Score(False, value=value)
