"""Held-out rows: each policy plays the same test turns greedily, and every part of its reward is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from servers.kernel.catalog import Catalog
from servers.kernel.dice import Dice
from stages.dataset import RlRow
from stages.episodes import ScoredEpisode, score_episode
from stages.evaluate.statistics import bootstrap_mean, paired_difference, wilson
from stages.reward.outcome import outcome
from stages.reward.rules import RewardRules
from stages.rollout import episode_for
from stages.train.batched_rollout import rollout
from stages.train.config import SamplingConfig
from stages.train.policy import Policy

PARTS = ("validity", "coverage", "efficiency", "name", "arguments")


def draw_rows(rows: Sequence[RlRow], count: int, seed: int) -> list[RlRow]:
    """Up to `count` rows, drawn by the seed, in the dataset's order."""
    drawn = {row.id for row in Dice(seed, "evaluate/rows").sample(rows, count)}
    return [row for row in rows if row.id in drawn]


def play(
    catalog: Catalog,
    policy: Policy,
    name: str,
    rows: Sequence[RlRow],
    rules: RewardRules,
    config: SamplingConfig,
    on_done: Callable[[int], None],
) -> list[ScoredEpisode]:
    """One greedy episode of each row."""
    episodes = [episode_for(catalog, row, config.max_rounds) for row in rows]
    trajectories = rollout(policy.network, policy.chat, episodes, config, on_done=on_done)
    return [
        score_episode(name, row, 0, trajectory.record, rules)
        for row, trajectory in zip(rows, trajectories, strict=True)
    ]


def summarise(episodes: Sequence[ScoredEpisode], seed: int, resamples: int) -> dict[str, Any]:
    """Means with 95 % intervals: bootstrap over rows for the reward, Wilson for shares of rows."""
    live = [episode for episode in episodes if not episode.reward.masked]
    acting = [episode for episode in live if episode.truth]
    silent = [episode for episode in live if not episode.truth]
    solved = [e for e in acting if outcome(e.record.state_hash, e.truth_hash) and e.reward.coverage == 1]
    return {
        "rows": len(live),
        "masked": len(episodes) - len(live),
        "reward": _mean([e.reward.total for e in live], seed, resamples),
        "parts": {part: _mean([getattr(e.reward, part) for e in acting], seed, resamples) for part in PARTS},
        "solved": _share(len(solved), len(acting)),
        "abstained": _share(sum(e.reward.total == 1 for e in silent), len(silent)),
        "calls_over_budget": sum(max(0, len(e.record.calls) - e.reward.budget) for e in acting) / max(1, len(acting)),
        "stops": {stop: sum(e.record.stop == stop for e in live) for stop in sorted({e.record.stop for e in live})},
        "servers": {
            server: sum(e.reward.total for e in live if e.server == server) / sum(e.server == server for e in live)
            for server in sorted({e.server for e in live})
        },
    }


def compare(
    first: Sequence[ScoredEpisode], second: Sequence[ScoredEpisode], seed: int, resamples: int
) -> dict[str, Any]:
    """Paired difference of the mean reward, first minus second, over the rows that neither masked."""
    difference = paired_difference(_totals(first), _totals(second), seed=seed, resamples=resamples)
    return {"mean": difference.mean, "low": difference.low, "high": difference.high, "rows": difference.tasks}


def _totals(episodes: Sequence[ScoredEpisode]) -> Mapping[str, float]:
    return {e.row: e.reward.total for e in episodes if not e.reward.masked}


def _mean(values: Sequence[float], seed: int, resamples: int) -> dict[str, float]:
    if not values:
        return {"mean": 0.0, "low": 0.0, "high": 0.0}
    interval = bootstrap_mean(values, seed=seed, resamples=resamples)
    return {"mean": sum(values) / len(values), "low": interval.low, "high": interval.high}


def _share(count: int, total: int) -> dict[str, float]:
    if not total:
        return {"mean": 0.0, "low": 0.0, "high": 0.0, "rows": 0}
    interval = wilson(count, total)
    return {"mean": count / total, "low": interval.low, "high": interval.high, "rows": total}
