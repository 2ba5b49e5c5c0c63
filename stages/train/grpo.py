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
from typing import TypeVar

import torch
from torch import Tensor

from stages.train.batched_rollout import Episode, Trajectory
from stages.train.checkpoint import latest_checkpoint, load_checkpoint, save_checkpoint
from stages.train.collect import Environment, Groups, Rollout, Scored, collect, groups_with_spread, sampled_groups
from stages.train.config import GrpoConfig
from stages.train.losses import token_weights
from stages.train.monitor.monitor import Monitor
from stages.train.optimizer import Optimizer
from stages.train.packing import Pack, Row, pack_sequences
from stages.train.policy import Policy
from stages.train.update import PER_TOKEN, Metrics, grpo_objective, optimise, reference_logprobs

T = TypeVar("T")

OnStep = Callable[[int, Metrics, list[Rollout[T]]], None]


@dataclass(frozen=True, slots=True)
class Span:
    """The steps of one phase: from the one after `first` to `last`; `cursor` rows were drawn before."""

    first: int
    last: int
    cursor: int = 0


def train_grpo(
    policy: Policy,
    rows: Sequence[T],
    open_episode: Callable[[T], Episode],
    reward: Callable[[T, Trajectory], Scored],
    config: GrpoConfig,
    *,
    groups: Groups[T] = sampled_groups,
    monitor: Monitor | None = None,
    span: Span | None = None,
    on_step: OnStep[T] | None = None,
    healthy: Callable[[int, Metrics], bool] = lambda step, metrics: True,
    directory: Path | None = None,
) -> int:
    """Train for `config.steps` steps, or those of `span`; returns the last step.

    `groups` says how the members of each group come about, `monitor` adds its measurements. `on_step` hears the
    finished step (from 1), its metrics and every scored episode; `healthy` then says whether its checkpoint is kept,
    and may end the training by an exception of its own. With a directory, checkpoints go there
    and a newest one found there is continued. The reference is the policy as given, before any checkpoint is loaded.
    """
    span = span or Span(0, config.steps)
    if config.kl or (monitor and monitor.needs_reference):
        policy.freeze_reference()
    updates = math.ceil(config.batch_size / (config.mini_batch or config.batch_size))
    optimizer = Optimizer(policy.trainable().values(), config.optim, (span.last - span.first) * updates)
    found = latest_checkpoint(directory) if directory else None
    state = load_checkpoint(found, policy, optimizer) if found else {"step": span.first, "cursor": span.cursor}
    cursor = int(state["cursor"])
    for step in range(int(state["step"]) + 1, span.last + 1):
        started, watched = time.perf_counter(), monitor.seconds if monitor else 0.0
        world = Environment(open_episode, reward)
        rollouts, cursor = collect(policy, rows, groups, world, config, step, cursor)
        sampled = time.perf_counter()
        metrics = _rollout_metrics(rollouts)
        if monitor:
            metrics |= monitor.forms([r.trajectory for r in rollouts if not r.masked])
        evidence = directory / f"nonfinite-{step:06d}.json" if directory else None
        metrics |= _update(policy, optimizer, rollouts, config, monitor, evidence)
        metrics |= _timing(rollouts, sampled - started, time.perf_counter() - sampled, world.seconds)
        metrics["seconds_monitor"] = monitor.seconds - watched if monitor else 0.0
        if on_step:
            on_step(step, metrics | {"cursor": float(cursor)}, rollouts)
        fit = healthy(step, metrics)
        if directory and fit and config.checkpoint_every and step % config.checkpoint_every == 0:
            save_checkpoint(directory, step, policy, optimizer, {"cursor": cursor})
    return span.last


def _update(
    policy: Policy,
    optimizer: Optimizer,
    rollouts: Sequence[Rollout[T]],
    config: GrpoConfig,
    monitor: Monitor | None,
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
    watched = _divergence(policy, rollouts, batches, reference, config, monitor)
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
    return watched | means | {key: means[key] / means["own_tokens"] for key in PER_TOKEN if key in means}


def _divergence(
    policy: Policy,
    rollouts: Sequence[Rollout[T]],
    batches: Sequence[Sequence[Pack]],
    reference: Sequence[list[Tensor] | None],
    config: GrpoConfig,
    monitor: Monitor | None,
) -> Metrics:
    """What the monitor sees before the update: from the loss's own reference, or from a few episodes."""
    if monitor is None or not monitor.needs_reference:
        return {}
    with monitor.timed():
        if config.kl:
            packs = [pack for batch in batches for pack in batch]
            return monitor.divergence(packs, [scores for batch in reference if batch for scores in batch])
        drawn = [r.trajectory for r in rollouts if r.trajectory.logprobs and not r.masked]
        rows = [Row(t.prompt, t.ids, t.mask, logprobs=t.logprobs) for t in monitor.some(drawn) if t.ids]
        packs = pack_sequences(rows, config.optim.micro_tokens, policy.device)
        with policy.reference() as network:
            return monitor.divergence(packs, reference_logprobs(network, packs))


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
        return [_recorded(policy, pack) for pack in packs]
    return reference_logprobs(policy.network, packs) if several else None


def _recorded(policy: Policy, pack: Pack) -> Tensor:
    """The sampler's record [N]; recomputed where the policy did not sample."""
    recorded = pack.sampled_logprobs()
    if not recorded.isnan().any():
        return recorded
    return torch.where(recorded.isnan(), reference_logprobs(policy.network, [pack])[0], recorded)


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
    """What was sampled; `reward_hinted` and `reward_demonstrated` are the means of the signal's own episodes."""
    live = [r for r in rollouts if not r.masked]
    counted = {"episodes": float(len(rollouts)), "masked": float(len(rollouts) - len(live))}
    sampled = [r for r in live if r.trajectory.origin == "sampled"]
    if not sampled:
        return counted
    rewards = [r.reward for r in sampled]
    mean = sum(rewards) / len(rewards)
    return {
        **counted,
        "reward": mean,
        "reward_std": math.sqrt(sum((v - mean) ** 2 for v in rewards) / len(rewards)),
        "groups_with_spread": len(groups_with_spread(live)) / len({r.group for r in live}),
        "own_tokens_per_episode": sum(sum(r.trajectory.mask) for r in sampled) / len(sampled),
        "cut_off": sum(r.trajectory.record.stop == "length" for r in sampled) / len(sampled),
        **_supervised_rewards(live),
    }


def _supervised_rewards(live: Sequence[Rollout[T]]) -> Metrics:
    found: dict[str, list[float]] = {}
    for r in live:
        if r.trajectory.origin != "sampled":
            found.setdefault(f"reward_{r.trajectory.origin}", []).append(r.reward)
    return {name: sum(values) / len(values) for name, values in found.items()}
