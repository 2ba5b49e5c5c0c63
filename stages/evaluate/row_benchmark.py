"""Held-out rows as a benchmark, so that agents without weights of ours can play them: hosted and scripted ones.

A task is one user turn in a live session. It passes when the outcome is right: the state is that of the ground
truth, and what the user wanted to learn was read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from servers.kernel.catalog import Catalog
from stages.dataset import RlRow
from stages.episodes import ScoredEpisode, Scorer
from stages.evaluate.benchmark import Control, Episode, Request, Score, TaskResult
from stages.records import EpisodeRecord, TruthCall
from stages.reward.combine import RewardRecord
from stages.rollout import episode_for


@dataclass(frozen=True, slots=True)
class RowTask:
    """One row; its kind is its category."""

    row: RlRow

    @property
    def id(self) -> str:
        """The row's own id."""
        return self.row.id

    @property
    def category(self) -> str:
        """The kind of its conversation."""
        return self.row.kind


class RowBenchmark:
    """Rows against live sessions."""

    def __init__(self, name: str, catalog: Catalog, rows: Sequence[RlRow], scorer: Scorer, max_rounds: int) -> None:
        self.name = name
        self.version = catalog.fingerprint
        self._catalog, self._scorer, self._max_rounds = catalog, scorer, max_rounds
        self._tasks = tuple(RowTask(row) for row in rows)

    def tasks(self) -> Sequence[RowTask]:
        """All rows, in order."""
        return self._tasks

    def play(self, task: RowTask) -> Episode:
        """The turn, from its user message on."""
        episode = episode_for(self._catalog, task.row, self._max_rounds)
        while not episode.done:
            episode.respond((yield Request(tuple(episode.messages), task.row.tools)))
        return episode.finish()

    def score(self, task: RowTask, episode: EpisodeRecord) -> Score:
        """Whether the outcome is right."""
        return Score(bool(self._scorer.score("", task.row, 0, episode).reward.outcome))

    def controls(self) -> Sequence[Control]:
        """None: the dataset was replayed when it was made."""
        return ()

    def scored(self, agent: str, task: RowTask, result: TaskResult) -> ScoredEpisode:
        """A result as the stage keeps episodes; one that never finished is masked."""
        if result.episode is not None:
            return self._scorer.score(agent, task.row, 0, result.episode)
        record = EpisodeRecord(result.partial, (), "", "infrastructure")
        scored = self._scorer.score(agent, task.row, 0, record)
        return replace(scored, reward=RewardRecord(total=0.0, budget=scored.reward.budget, masked=True))


def gold_turns(task: RowTask) -> Sequence[Sequence[TruthCall]]:
    """The reference calls, in the turn that the row asks about."""
    turns = sum(message.role == "user" for message in task.row.messages)
    return [()] * (turns - 1) + [task.row.truth]
