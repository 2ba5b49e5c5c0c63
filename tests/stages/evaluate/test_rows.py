"""Held-out rows: what an oracle and doing nothing are worth, the figures, and worlds that nobody trained in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import pytest

from stages.conversations import Conversation
from stages.dataset import RlRow
from stages.episodes import ScoredEpisode, Scorer
from stages.evaluate.benchmark import Score, TaskResult
from stages.evaluate.heldout import draw_rows
from stages.evaluate.loop import run_tasks
from stages.evaluate.row_benchmark import RowBenchmark
from stages.evaluate.row_figures import asks, differences, recovered, summarise, wanted_failures
from stages.evaluate.row_play import RowPlayer
from stages.evaluate.scripted_agents import ByTask, batched
from stages.evaluate.worlds import unseen_worlds
from stages.params import EvaluateParams
from stages.records import EpisodeRecord, ExecutedCall, Message, ToolCall, ToolSpec, TruthCall
from stages.reward.combine import RewardRecord
from stages.reward.rules import RewardRules
from stages.train.config import SamplingConfig
from stages.validate.rows import rl_rows
from tests.stages.synthesize.writing import SEED, catalog, chains, conversations, params

pytestmark = pytest.mark.timeout(120)  # the conversations are written first

RULES = RewardRules()


@lru_cache(maxsize=1)
def rows() -> tuple[RlRow, ...]:
    return tuple(row for made in conversations()[:30] for row in rl_rows(catalog(), made))


def player(max_rounds: int = 12) -> RowPlayer:
    sampling = SamplingConfig(max_rounds=max_rounds)
    return RowPlayer("chains", catalog(), rows(), Scorer(RULES), sampling, EvaluateParams(), 0)


def test_the_oracle_solves_every_row_and_doing_nothing_none_that_wants_calls() -> None:
    oracle, nothing = player().scripted("oracle"), player().scripted("do_nothing")
    assert [episode.row for episode in oracle] == [row.id for row in rows()]
    best, floor = summarise(oracle, 0, 200), summarise(nothing, 0, 200)
    assert best["solved"]["mean"] == 1.0 and best["solved"]["rows"] > 20
    assert best["parts"]["coverage"]["mean"] == 1.0 and best["abstention_precision"]["mean"] == 1.0
    free = [(e.row, [c.name for c in e.truth], len(e.required)) for e in nothing if e.truth and e.reward.outcome]
    assert floor["solved"]["mean"] <= 0.1, free
    assert floor["abstained"]["mean"] == 1.0
    assert floor["abstention_precision"]["mean"] == floor["abstained"]["rows"] / floor["rows"]
    gap = differences({"do_nothing": nothing, "oracle": oracle}, 0, 500)["oracle-do_nothing"]
    assert gap["low"] > 0 and gap["rows"] == len(rows())


def test_without_its_last_call_the_oracle_no_longer_solves() -> None:
    short = [e for e in player().scripted("drop_last") if e.truth]
    assert sum(bool(e.reward.outcome) for e in short) <= len(short) // 10


@dataclass(frozen=True)
class Batches:
    """Makes the calls of one batch after the other, then says nothing."""

    batches: Sequence[Sequence[TruthCall]]

    def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
        begun = max(place for place, message in enumerate(messages) if message.role == "user")
        said = sum(message.role == "assistant" for message in messages[begun:])
        calls = self.batches[said] if said < len(self.batches) else ()
        return Message(
            "assistant", "", tuple(ToolCall(f"c{said}_{n}", c.name, c.arguments) for n, c in enumerate(calls))
        )


def looking(row: RlRow, extra: int) -> Batches:
    """The reference calls with so many reads before, between and after them."""
    reads = [t.name for t in row.tools if catalog().entry(t.name).tool.read_only and not t.parameters.get("required")]
    batches: list[list[TruthCall]] = batched(row.truth)
    for number, name in enumerate((reads * extra)[:extra]):
        batches.insert((0, len(batches) // 2 + 1, len(batches))[number], [TruthCall(name, {})])
    return Batches(batches)


@pytest.mark.parametrize("extra", [1, 2, 3])
def test_reads_that_were_not_asked_for_move_names_and_efficiency_alone(extra: int) -> None:
    chosen = [row for row in rows() if row.truth and looking(row, extra).batches != batched(row.truth)][:24]
    benchmark = RowBenchmark("chains", catalog(), chosen, Scorer(RULES), 20)
    tasks = benchmark.tasks()

    def played(agents: Mapping[str, Batches]) -> list[ScoredEpisode]:
        results = run_tasks(benchmark, tasks, ByTask(agents))
        return [benchmark.scored("a", task, result) for task, result in zip(tasks, results, strict=True)]

    plain = played({task.id: Batches(batched(task.row.truth)) for task in tasks})
    curious = played({task.id: looking(task.row, extra) for task in tasks})
    assert len(chosen) >= 12 and all(episode.reward.outcome for episode in plain)
    for one, other in zip(plain, curious, strict=True):
        assert len(other.record.calls) == len(one.record.calls) + extra
        assert other.record.state_hash == one.record.state_hash, one.row
        for part in ("coverage", "arguments", "validity", "outcome"):
            assert getattr(other.reward, part) == getattr(one.reward, part), (one.row, part)


def test_a_row_that_never_finished_is_masked_and_in_no_figure() -> None:
    benchmark = RowBenchmark("chains", catalog(), rows()[:2], Scorer(RULES), 5)
    tasks = benchmark.tasks()
    said = (Message("user", "hello"),)
    lost = benchmark.scored("gpt", tasks[0], TaskResult(tasks[0].id, "", "infrastructure", Score(False), None, said))
    assert lost.reward.masked and lost.record.messages == said
    figures = summarise([lost], 0, 100)
    assert (figures["rows"], figures["masked"]) == (0, 1)
    assert differences({"a": [lost], "b": [lost]}, 0, 100) == {}


def call(name: str, ok: bool, **arguments: str) -> ExecutedCall:
    return ExecutedCall(name, arguments, 1, True, ok)


def episode(
    calls: Sequence[ExecutedCall], truth: Sequence[TruthCall], said: str = "", kind: str = "multi_turn"
) -> ScoredEpisode:
    messages = (Message("user", "x"), Message("assistant", said))
    record = EpisodeRecord(messages, tuple(calls), "h", "answered")
    return ScoredEpisode("p", "r", 0, kind, "s", (), tuple(truth), record, "h", (), RewardRecord(total=1.0, budget=2))


PAY = TruthCall("pay", {"to": "a", "amount": 5})


@pytest.mark.parametrize(
    ("calls", "failed", "well"),
    [
        ([call("pay", False, to="a")], {"pay"}, False),
        ([call("pay", False, to="a"), call("pay", True, to="a", amount="5")], {"pay"}, True),
        ([call("pay", False, to="a"), call("pay", True, to="a")], {"pay"}, False),
        ([call("pay", True, to="a", amount="5"), call("pay", False, to="a")], {"pay"}, False),
        ([call("look", False)], set(), True),
    ],
)
def test_recovery_is_a_later_success_of_the_wanted_call_that_failed(
    calls: list[ExecutedCall], failed: set[str], well: bool
) -> None:
    made = episode(calls, [PAY])
    assert wanted_failures(made) == failed
    assert recovered(made) is well


def test_shares_count_the_rows_that_they_are_about() -> None:
    played = [
        episode([], [], "Which card?", "clarification"),
        episode([], [], "No.", "clarification"),
        episode([], [], "I can't do that.", "abstention"),
        episode([call("look", True)], [], "Done?", "clarification"),
        episode([], [PAY], "Which card?"),
        episode([call("pay", True)] * 5, [PAY]),
    ]
    found = summarise([replace(e, row=str(n)) for n, e in enumerate(played)], 0, 100)
    assert (found["clarified"]["mean"], found["clarified"]["rows"]) == (pytest.approx(1 / 3), 3)
    assert (found["abstained"]["mean"], found["abstained"]["rows"]) == (0.75, 4)
    assert (found["abstention_precision"]["mean"], found["abstention_precision"]["rows"]) == (0.75, 4)
    assert found["calls_over_budget"]["mean"] == 1.5
    assert asks(played[0]) and not asks(played[3])


def test_calls_are_batched_where_one_needs_another() -> None:
    calls = [
        TruthCall("a", {}),
        TruthCall("b", {}),
        TruthCall("c", {}, (0,)),
        TruthCall("d", {}, (0,)),
        TruthCall("e", {}, (3,)),
    ]
    assert [[c.name for c in batch] for batch in batched(calls)] == [["a", "b"], ["c", "d"], ["e"]]
    assert batched([]) == []


@lru_cache(maxsize=1)
def moved() -> tuple[RlRow, ...]:
    chosen = params()
    return tuple(unseen_worlds(catalog(), written(), chains(), chosen, 0.3, SEED, 12))


def written() -> tuple[Conversation, ...]:
    return conversations()[:40]


def test_rows_of_another_world_are_of_trained_chains_and_can_be_solved() -> None:
    made = moved()
    assert len({row.conversation for row in made}) >= 6
    assert {row.world for row in made} == {SEED + 1}
    trained = {c.id: c for c in written()}
    for row in made:
        assert row.conversation.endswith(f"@{SEED + 1}")
        assert row.server == trained[row.conversation.partition("@")[0]].server
    texts = {row.messages[-1].content for row in made if row.turn == 0}
    assert not texts <= {c.messages[0].content for c in trained.values()}
    play = RowPlayer("worlds", catalog(), made, Scorer(RULES), SamplingConfig(max_rounds=12), EvaluateParams(), 0)
    assert summarise(play.scripted("oracle"), 0, 100)["solved"]["mean"] == 1.0
    assert tuple(unseen_worlds(catalog(), written(), chains(), params(), 0.3, SEED, 12)) == made


def test_rows_are_drawn_by_the_seed_in_the_datasets_order() -> None:
    drawn = draw_rows(rows(), 5, 1)
    assert len(drawn) == 5 and drawn == draw_rows(rows(), 5, 1) != draw_rows(rows(), 5, 2)
    assert [r.id for r in rows() if r in drawn] == [r.id for r in drawn]
    assert draw_rows(rows(), 10**6, 1) == list(rows())
