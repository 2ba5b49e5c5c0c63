"""A batch of episodes of an oracle over server processes, with things that happen between its rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from servers.kernel.catalog import Catalog
from stages.dataset import ReplayStep, RlRow
from stages.episodes import ScoredEpisode, Scorer
from stages.evaluate.benchmark import BatchedAgent, Request, TaskResult
from stages.evaluate.loop import run_tasks
from stages.evaluate.row_benchmark import RowBenchmark, gold_turns
from stages.evaluate.scripted_agents import ByTask, Replay
from stages.records import Message, TruthCall
from stages.reward.rules import RewardRules
from stages.rollout import replayed_session, visible_spec
from tests.servers.load.writes import drawn_calls

SCORER = Scorer(RewardRules())


@dataclass(frozen=True, slots=True)
class Batch:
    """What came of a batch: one result and one scored episode for each row, in their order."""

    results: list[TaskResult]
    episodes: list[ScoredEpisode]

    @property
    def masked(self) -> set[str]:
        """The rows whose episodes say nothing about the agent."""
        return {episode.row for episode in self.episodes if episode.reward.masked}


class Interrupted:
    """An agent with acts that come before certain rounds of a batch (counted from 1)."""

    def __init__(self, agent: BatchedAgent, acts: Mapping[int, Callable[[], None]]) -> None:
        self._agent, self._acts = agent, acts
        self.rounds = 0

    def reply_many(self, requests: Sequence[Request]) -> Sequence[Message]:
        """The agent's answers, after the round's act."""
        self.rounds += 1
        self._acts.get(self.rounds, lambda: None)()
        return self._agent.reply_many(requests)


def play(benchmark: RowBenchmark, acts: Mapping[int, Callable[[], None]], width: int) -> Batch:
    """Play every row by its reference calls."""
    tasks = benchmark.tasks()
    oracle = ByTask({task.id: Replay(gold_turns(task)) for task in tasks})
    results = run_tasks(benchmark, tasks, Interrupted(oracle, acts), width=width)
    episodes = [benchmark.scored("oracle", task, result) for task, result in zip(tasks, results, strict=True)]
    return Batch(results, episodes)


def rows_of(catalog: Catalog, server: str, count: int, replayed: int = 2, calls: int = 3) -> list[RlRow]:
    """Rows of one server: calls to replay before the turn, then calls that each need the one before."""
    return [_row(catalog, server, number, replayed, calls) for number in range(count)]


def taking_turns(groups: Sequence[Sequence[RlRow]]) -> list[RlRow]:
    """The rows of several servers, one of each after the other."""
    return [row for group in zip(*groups, strict=True) for row in group]


def row_of(catalog: Catalog, name: str, server: str, steps: Sequence[ReplayStep], truth: Sequence[TruthCall]) -> RlRow:
    """A row with these reference calls."""
    session = replayed_session(catalog, 0, steps)
    results = [catalog.call(session, call.name, call.arguments) for call in truth]
    assert all(result.ok for result in results), f"{name}: the reference calls do not work"
    tools = tuple(visible_spec(tool) for tool in catalog.servers[server].tools.values())
    said = (Message("user", f"Please do what {name} asks."),)
    return RlRow(
        id=name,
        conversation=name,
        turn=0,
        kind="multi_turn",
        server=server,
        world=0,
        tools=tools,
        messages=said,
        replay=tuple(steps),
        truth=tuple(truth),
        state_hash=session.state_hash,
    )


def _row(catalog: Catalog, server: str, number: int, replayed: int, calls: int) -> RlRow:
    name = f"{server}-{number}"
    start = replayed_session(catalog, 0, ())
    drawn = drawn_calls(catalog, server, start, replayed + calls, name)
    steps = [ReplayStep(call.tool, call.arguments) for call in drawn[:replayed]]
    truth = [
        TruthCall(call.tool, call.arguments, (index - 1,) if index else ())
        for index, call in enumerate(drawn[replayed:])
    ]
    return row_of(catalog, name, server, steps, truth)
