"""The figures of a step under the local engine's names, so that logs and reports of both engines read alike."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from stages.episodes import ScoredEpisode
from stages.train.verl.faults import FAULTS
from stages.train.watch import episode_metrics

SPREAD = 1e-9
"""Rewards of a group that lie closer together teach nothing."""

FROM_VERL = {
    "actor/entropy": "entropy",
    "actor/kl_loss": "kl",
    "actor/pg_clipfrac": "clipped",
    "actor/pg_loss": "policy_loss",
    "actor/grad_norm": "grad_norm",
    "actor/lr": "lr",
    "timing_s/gen": "seconds_rollout",
    "timing_s/update_actor": "seconds_update",
    "timing_s/old_log_prob": "seconds_logprobs",
}
"""Our name for each of verl's figures that the logs keep."""


def rollout_figures(batch: Sequence[tuple[ScoredEpisode, Mapping[str, Any]]]) -> dict[str, float]:
    """What a step's trajectories were like, each an episode with its evidence; means are over what was sampled.

    `reward_hinted` and `reward_demonstrated` are the means of a signal's own episodes.
    """
    told = [item for _, item in batch]
    live = [(episode, item) for episode, item in batch if not episode.reward.masked]
    figures = {
        "episodes": float(len(batch)),
        "masked": float(len(batch) - len(live)),
        **{f"faults/{fault}": sum(item[f"fault_{fault}"] for item in told) for fault in FAULTS},
        **_seconds(told),
    }
    sampled = [(episode, item) for episode, item in live if episode.policy == "sampled"]
    if not sampled:
        return figures
    rewards = [episode.reward.total for episode, _ in sampled]
    mean = sum(rewards) / len(rewards)
    groups: dict[str, list[float]] = {}
    for episode, _ in live:
        groups.setdefault(episode.row, []).append(episode.reward.total)
    return {
        **figures,
        "reward": mean,
        "reward_std": math.sqrt(sum((value - mean) ** 2 for value in rewards) / len(rewards)),
        "groups_with_spread": sum(max(v) - min(v) > SPREAD for v in groups.values()) / len(groups),
        "own_tokens_per_episode": sum(item["own_tokens"] for _, item in sampled) / len(sampled),
        "cut_off": sum(episode.record.stop == "length" for episode, _ in sampled) / len(sampled),
        **_supervised([episode for episode, _ in live]),
        **episode_metrics([episode for episode, _ in sampled]),
    }


def _supervised(live: Sequence[ScoredEpisode]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for episode in live:
        if episode.policy != "sampled":
            found.setdefault(f"reward_{episode.policy}", []).append(episode.reward.total)
    return {name: sum(values) / len(values) for name, values in found.items()}


def renamed(metrics: Mapping[str, Any]) -> dict[str, float]:
    """verl's figures of a step under our names, those that are no finite number left out."""
    found = {ours: float(metrics[theirs]) for theirs, ours in FROM_VERL.items() if theirs in metrics}
    return {name: value for name, value in found.items() if math.isfinite(value)}


def _seconds(told: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Waiting times of an episode, and the environment's share of them."""
    model = sum(item["seconds_model"] for item in told)
    environment = sum(item["seconds_environment"] for item in told)
    return {
        "seconds_model_per_episode": model / max(1, len(told)),
        "seconds_environment_per_episode": environment / max(1, len(told)),
        "share_environment": environment / max(model + environment, 1e-9),
    }
