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
    "training/rollout_probs_diff_mean": "sampler_gap_probability",
    "timing_s/gen": "seconds_rollout",
    "timing_s/update_actor": "seconds_update",
    "timing_s/update_weights": "seconds_weights",
    "timing_s/step": "seconds_step",
}
"""Our name for each of verl's figures that the logs keep."""


def rollout_figures(episodes: Sequence[ScoredEpisode], told: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """What a step's trajectories were like; `told` is the evidence of each."""
    live = [episode for episode in episodes if not episode.reward.masked]
    figures = {
        "episodes": float(len(episodes)),
        "masked": float(len(episodes) - len(live)),
        **{f"faults/{fault}": sum(item[f"fault_{fault}"] for item in told) for fault in FAULTS},
        **_seconds(told),
    }
    if not live:
        return figures
    rewards = [episode.reward.total for episode in live]
    mean = sum(rewards) / len(rewards)
    groups: dict[str, list[float]] = {}
    for episode in live:
        groups.setdefault(episode.row, []).append(episode.reward.total)
    own = [item["own_tokens"] for item in told if not item["masked"]]
    return {
        **figures,
        "reward": mean,
        "reward_std": math.sqrt(sum((value - mean) ** 2 for value in rewards) / len(rewards)),
        "groups_with_spread": sum(max(v) - min(v) > SPREAD for v in groups.values()) / len(groups),
        "own_tokens_per_episode": sum(own) / len(own),
        "cut_off": sum(episode.record.stop == "length" for episode in live) / len(live),
        **episode_metrics(episodes),
    }


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
