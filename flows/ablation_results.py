"""What a grid's runs say, cell by cell, all under one reward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow.parquet as pq

from flows.grid import Grid, GridError, Run
from stages.episodes import ScoredEpisode, Scorer, episode_from_row
from stages.evaluate.statistics import Difference, paired_difference
from stages.train.watch import episode_metrics


@dataclass(frozen=True, slots=True)
class CellResult:
    """A cell's mean reward under the whole reward, and its difference to the baseline.

    `rewards` and `alarms` have one entry per seed: the mean over the rows, and the step of the collapse monitor's
    first alarm, None where there was none.
    """

    cell: str
    rows: int
    rewards: Sequence[float]
    reward: float
    difference: Difference | None
    alarms: Sequence[int | None]
    metrics: Mapping[str, float]

    @property
    def seeds(self) -> int:
        """How many runs the cell has."""
        return len(self.rewards)

    def plain(self) -> dict[str, Any]:
        """The result as plain data."""
        return {**asdict(self), "seeds": self.seeds, "difference": self.difference and self.difference._asdict()}


def results(every: Sequence[Run], grid: Grid, scorer: Scorer, seed: int) -> list[CellResult]:
    """The cells in order, from their last validation; masked rows are left out of all pairs.

    Differences to the baseline are paired over the rows, each averaged over the seeds first, with a 95 % bootstrap
    interval.

    Raises:
        GridError: a run was never validated, or no row was played by all of them.
    """
    played = {cell: [_last(run, scorer) for run in every if run.cell == cell] for cell in grid.cells}
    known = [{e.row for e in run if not e.reward.masked} for part in played.values() for run in part]
    common = set.intersection(*known)
    if not common:
        raise GridError("no validation row was played by every run without a failure outside the model")
    rewards = {cell: _by_row(part, common) for cell, part in played.items()}
    out = []
    for cell, part in played.items():
        paired = paired_difference(rewards[cell], rewards[grid.baseline], seed=seed)
        whole = [e for run in part for e in run if e.row in common]
        mean = sum(rewards[cell].values()) / len(common)
        difference = None if cell == grid.baseline else paired
        seeds = [sum(e.reward.total for e in run if e.row in common) / len(common) for run in part]
        alarms = [_first_alarm(run) for run in every if run.cell == cell]
        out.append(CellResult(cell, len(common), seeds, mean, difference, alarms, episode_metrics(whole)))
    return out


def judged(run: Run, scorer: Scorer) -> dict[str, float]:
    """A run's last validation: rows that count, their mean reward, and the share that was solved.

    Raises:
        GridError: the run was never validated.
    """
    played = [episode for episode in _last(run, scorer) if not episode.reward.masked]
    if not played:
        return {"rows": 0}
    reward = sum(episode.reward.total for episode in played) / len(played)
    solved = [episode.reward.outcome is True for episode in played]
    return {"rows": len(played), "reward": reward, "solved": sum(solved) / len(played)}


def _last(run: Run, scorer: Scorer) -> list[ScoredEpisode]:
    """The episodes of the run's last validation, under the whole reward."""
    episodes = [episode_from_row(row) for row in pq.read_table(run.episodes).to_pylist()]
    if not episodes:
        raise GridError(f"{run.cell} was never validated: let train.validation.every divide train.grpo.steps")
    last = max(int(e.policy.removeprefix("step-")) for e in episodes)
    return [scorer.again(e) for e in episodes if e.policy == f"step-{last}"]


def _by_row(part: Sequence[Sequence[ScoredEpisode]], rows: set[str]) -> dict[str, float]:
    """Each row's reward, averaged over the seeds."""
    totals = dict.fromkeys(sorted(rows), 0.0)
    for run in part:
        for episode in run:
            if episode.row in totals:
                totals[episode.row] += episode.reward.total / len(part)
    return totals


def _first_alarm(run: Run) -> int | None:
    steps = [int(line["step"]) for line in run.log("collapse_log")]
    return min(steps, default=None)
