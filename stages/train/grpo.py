"""GRPO: sample a group of episodes per row, score them, and push towards what beat its group's mean.

One step: roll out `batch_size` rows `group_size` times each, score, normalise within groups, update
once (or per mini-batch). Simplifications against a cluster engine: one process, no replay, and the
policy that samples is the policy that trains.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from torch import Tensor

from stages.records import EpisodeRecord
from stages.train.batched_rollout import Episode, Trajectory, rollout
from stages.train.checkpoint import latest_checkpoint, load_checkpoint, save_checkpoint
from stages.train.config import GrpoConfig
from stages.train.losses import group_advantages, token_weights
from stages.train.optimizer import Optimizer
from stages.train.order import mixed_seed, row_order
from stages.train.packing import Pack, Row, pack_sequences
from stages.train.policy import Policy
from stages.train.update import PER_TOKEN, Metrics, grpo_objective, optimise, reference_logprobs

T = TypeVar("T")
SPREAD = 1e-9
"""Rewards of a group that lie closer together teach nothing."""


class Scored(Protocol):
    """What a reward callback returns; a masked episode is dropped."""

    @property
    def total(self) -> float:
        """The reward."""

    @property
    def masked(self) -> bool:
        """Whether the episode says nothing about the policy."""


@dataclass(frozen=True, slots=True)
class Rollout(Generic[T]):
    """One scored episode: which row it is of, its group within the step, and what it was worth."""

    row: T
    group: int
    trajectory: Trajectory
    reward: float
    masked: bool
    advantage: float = 0.0


OnStep = Callable[[int, Metrics, list[Rollout[T]]], None]


def train_grpo(
    policy: Policy,
    rows: Sequence[T],
    open_episode: Callable[[T], Episode],
    reward: Callable[[T, EpisodeRecord], Scored],
    config: GrpoConfig,
    *,
    on_step: OnStep[T] | None = None,
    directory: Path | None = None,
) -> int:
    """Train for `config.steps` steps; returns the last step.

    `on_step` hears the finished step (from 1), its metrics and every scored episode. With a directory,
    checkpoints go there and a newest one found there is continued. The reference is the policy as given,
    before any checkpoint is loaded.
    """
    if config.kl:
        policy.freeze_reference()
    updates = math.ceil(config.batch_size / (config.mini_batch or config.batch_size))
    optimizer = Optimizer(policy.trainable().values(), config.optim, config.steps * updates)
    found = latest_checkpoint(directory) if directory else None
    state = load_checkpoint(found, policy, optimizer) if found else {"step": 0, "cursor": 0}
    cursor = int(state["cursor"])
    for step in range(int(state["step"]) + 1, config.steps + 1):
        started = time.perf_counter()
        world = _Environment(open_episode, reward)
        rollouts, cursor = _collect(policy, rows, world, config, step, cursor)
        sampled = time.perf_counter()
        metrics = _rollout_metrics(rollouts)
        evidence = directory / f"nonfinite-{step:06d}.json" if directory else None
        metrics |= _update(policy, optimizer, rollouts, config, evidence)
        metrics |= _timing(rollouts, sampled - started, time.perf_counter() - sampled, world.seconds)
        if on_step:
            on_step(step, metrics | {"cursor": float(cursor)}, rollouts)
        if directory and config.checkpoint_every and step % config.checkpoint_every == 0:
            save_checkpoint(directory, step, policy, optimizer, {"cursor": cursor})
    return config.steps


class _Environment(Generic[T]):
    """Opens and scores episodes, and knows how long that took."""

    def __init__(self, open_episode: Callable[[T], Episode], reward: Callable[[T, EpisodeRecord], Scored]) -> None:
        self._open_episode, self._reward = open_episode, reward
        self.seconds = 0.0

    def open(self, rows: Sequence[T], group_size: int) -> list[Episode]:
        """A group of episodes for each row."""
        started = time.perf_counter()
        episodes = [self._open_episode(row) for row in rows for _ in range(group_size)]
        self.seconds += time.perf_counter() - started
        return episodes

    def score(self, row: T, trajectory: Trajectory) -> Scored:
        """The reward of a finished episode."""
        started = time.perf_counter()
        scored = self._reward(row, trajectory.record)
        self.seconds += trajectory.seconds + time.perf_counter() - started
        return scored


def _collect(
    policy: Policy,
    rows: Sequence[T],
    world: _Environment[T],
    config: GrpoConfig,
    step: int,
    cursor: int,
) -> tuple[list[Rollout[T]], int]:
    """Scored episodes of one step with their advantages, and the cursor after the rows drawn."""
    order = row_order(len(rows), config.seed, cursor)
    kept: list[Rollout[T]] = []
    wanted, draws = config.batch_size, config.max_draws if config.dynamic_sampling else 1
    for draw in range(draws):
        chosen = [rows[next(order)] for _ in range(wanted)]
        cursor += wanted
        episodes = world.open(chosen, config.group_size)
        seed = mixed_seed(config.seed, step, draw)
        trajectories = rollout(policy.network, policy.chat, episodes, config.sampling, seed=seed)
        base = draw * config.batch_size
        for index, trajectory in enumerate(trajectories):
            number = index // config.group_size
            row = chosen[number]
            scored = world.score(row, trajectory)
            kept.append(Rollout(row, base + number, trajectory, scored.total, scored.masked))
        if config.dynamic_sampling:
            spread = _groups_with_spread(kept)
            if draw + 1 < draws:
                kept = [r for r in kept if r.group in spread]
            wanted = config.batch_size - len(spread)
        if wanted <= 0:
            break
    return _with_advantages(kept, config), cursor


def _groups_with_spread(rollouts: Sequence[Rollout[T]]) -> set[int]:
    rewards: dict[int, list[float]] = {}
    for r in rollouts:
        if not r.masked:
            rewards.setdefault(r.group, []).append(r.reward)
    return {group for group, values in rewards.items() if max(values) - min(values) > SPREAD}


def _with_advantages(rollouts: Sequence[Rollout[T]], config: GrpoConfig) -> list[Rollout[T]]:
    """Masked episodes take no part in their group's mean and keep advantage 0."""
    live = [r for r in rollouts if not r.masked]
    values = iter(group_advantages([r.reward for r in live], [r.group for r in live], config.advantage))
    return [r if r.masked else Rollout(r.row, r.group, r.trajectory, r.reward, False, next(values)) for r in rollouts]


def _update(
    policy: Policy,
    optimizer: Optimizer,
    rollouts: Sequence[Rollout[T]],
    config: GrpoConfig,
    evidence: Path | None,
) -> Metrics:
    groups = sorted({r.group for r in rollouts if not r.masked})
    size = config.mini_batch or max(1, len(groups))
    batches = [
        _packs([r for r in rollouts if not r.masked and r.group in set(groups[i : i + size])], config, policy)
        for i in range(0, len(groups), size)
    ]
    batches = [packs for packs in batches if packs]
    several = len(batches) > 1
    old = [_old_logprobs(policy, packs, config, several) for packs in batches]
    reference: list[list[Tensor] | None] = [None] * len(batches)
    if config.kl and batches:
        with policy.reference() as network:
            reference = [reference_logprobs(network, packs) for packs in batches]
    totals: list[Metrics] = []
    for packs, before, fixed in zip(batches, old, reference, strict=True):
        objective = grpo_objective(
            before,
            fixed,
            clip_low=config.clip_low,
            clip_high=config.clip_high,
            kl=config.kl,
            entropy=config.entropy,
        )
        totals.append(
            optimise(
                policy.network,
                optimizer,
                packs,
                objective,
                evidence=evidence,
                entropies="gradient" if config.entropy else "value",
            )
        )
    means = {key: sum(t[key] for t in totals) / len(totals) for key in (totals[0] if totals else {})}
    return means | {key: means[key] / means["own_tokens"] for key in PER_TOKEN if key in means}


def _packs(rollouts: Sequence[Rollout[T]], config: GrpoConfig, policy: Policy) -> list[Pack]:
    """Rows with their loss weights; those that cannot move the policy stay out of the forward pass."""
    own = [sum(r.trajectory.mask) for r in rollouts]
    weights = token_weights(own, config.aggregation, config.sampling.max_context)
    rows = [
        Row(t.prompt, t.ids, t.mask, weight, r.advantage, t.logprobs)
        for r, weight in zip(rollouts, weights, strict=True)
        if (t := r.trajectory).ids and (r.advantage or config.kl or config.entropy)
    ]
    return pack_sequences(rows, config.optim.micro_tokens, policy.device)


def _old_logprobs(policy: Policy, packs: Sequence[Pack], config: GrpoConfig, several: bool) -> list[Tensor] | None:
    if config.old_logprobs == "sampled":
        return [pack.sampled_logprobs() for pack in packs]
    return reference_logprobs(policy.network, packs) if several else None


def _timing(rollouts: Sequence[Rollout[T]], sampling: float, update: float, environment: float) -> Metrics:
    """Where a step's seconds went: `environment` (opening, executing, scoring) is part of `sampling`."""
    own = sum(sum(r.trajectory.mask) for r in rollouts)
    return {
        "seconds_rollout": sampling,
        "seconds_environment": environment,
        "seconds_update": update,
        "share_environment": environment / (sampling + update),
        "tokens_per_second": own / max(sampling - environment, 1e-9),
    }


def _rollout_metrics(rollouts: Sequence[Rollout[T]]) -> Metrics:
    live = [r for r in rollouts if not r.masked]
    if not live:
        return {"episodes": float(len(rollouts)), "masked": float(len(rollouts))}
    rewards = [r.reward for r in live]
    mean = sum(rewards) / len(rewards)
    groups = {r.group for r in live}
    return {
        "episodes": float(len(rollouts)),
        "masked": float(len(rollouts) - len(live)),
        "reward": mean,
        "reward_std": math.sqrt(sum((v - mean) ** 2 for v in rewards) / len(rewards)),
        "groups_with_spread": len(_groups_with_spread(live)) / len(groups),
        "own_tokens_per_episode": sum(sum(r.trajectory.mask) for r in live) / len(live),
        "cut_off": sum(r.trajectory.record.stop == "length" for r in live) / len(live),
    }
