"""A policy plays rows greedily, one episode each: how it is measured, in training and after."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from servers.kernel.catalog import Catalog
from stages.dataset import RlRow
from stages.episodes import ScoredEpisode, Scorer
from stages.rollout import episode_for
from stages.train.batched_rollout import rollout
from stages.train.config import SamplingConfig
from stages.train.policy import Policy


def play(
    catalog: Catalog,
    policy: Policy,
    name: str,
    rows: Sequence[RlRow],
    scorer: Scorer,
    sampling: SamplingConfig,
    on_done: Callable[[int], None] | None = None,
) -> list[ScoredEpisode]:
    """One episode of each row, in order, at temperature 0 whatever `sampling` says; `name` marks whose they are."""
    episodes = [episode_for(catalog, row, sampling.max_rounds) for row in rows]
    greedy = sampling.model_copy(update={"temperature": 0.0})
    trajectories = rollout(policy.network, policy.chat, episodes, greedy, on_done=on_done)
    return [scorer.score(name, row, 0, t.record) for row, t in zip(rows, trajectories, strict=True)]
