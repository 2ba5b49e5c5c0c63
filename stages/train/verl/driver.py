"""What verl's trainer process knows of our run: its phase, its signal, its monitor and its journals.

verl's trainer asks it how the members of the next groups come about, and tells it what a finished step was like and
how validation went. Nothing here is verl's, so that all of it is tested without.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from stages.chat import chat_format
from stages.dataset import RlRow
from stages.episodes import ScoredEpisode, episode_to_row
from stages.train.batched_rollout import Trajectory
from stages.train.journal import Journal
from stages.train.monitor.monitor import Monitor
from stages.train.packing import Row
from stages.train.phases import guard_for, sampled_episodes
from stages.train.supervision.opening import open_signal
from stages.train.supervision.signal import Member
from stages.train.verl.figures import rollout_figures
from stages.train.verl.merge import last_step
from stages.train.verl.phase import Phase
from stages.train.watch import episode_metrics


@dataclass(frozen=True, slots=True)
class Finished:
    """One trajectory of a step: its episode, its evidence and its tokens.

    `own` and `reference` are log-probabilities [N] of its own tokens, under the policy before the update and under the
    reference; None where the loss needs no reference.
    """

    episode: ScoredEpisode
    told: Mapping[str, Any]
    trajectory: Trajectory
    own: Tensor
    reference: Tensor | None


class Driver:
    """One phase, in the process that drives verl's trainer.

    Args:
        phase: which steps, of which run.
        rows: the training rows.
        tokenizer: the policy's.
        stack: a teacher that the signal asks lives as long as this.
    """

    def __init__(self, phase: Phase, rows: Sequence[RlRow], tokenizer: Any, stack: ExitStack) -> None:
        ctx, work = phase.context(), phase.work
        chat = chat_format(tokenizer, described=ctx.params.policy.tool_summaries)
        self._phase = phase
        self._signal = open_signal(ctx, rows, stack)
        self._monitor = Monitor(chat, tokenizer, ctx.params.monitor)
        self._guard = guard_for(ctx.params, work, phase.first, phase.last, self._checkpoint)
        self._log, self._episodes = Journal(work / "grpo_log.jsonl"), Journal(work / "train.jsonl")
        self._val_log, self._val_episodes = Journal(work / "validation_log.jsonl"), Journal(work / "validation.jsonl")

    def resume(self, done: int) -> None:
        """Hear of all steps up to `done`, a number of the whole run, again."""
        for step, episodes in sampled_episodes(self._phase.work, done).items():
            self._signal.observe(step, episodes)
        for step, lines in self._log.steps().items():
            if self._phase.first < step <= done:
                self._guard.detector.observe(step, lines[-1])

    def members(self, rows: Sequence[RlRow], size: int) -> list[list[Member]]:
        """How each of the `size` episodes of each row's group comes about."""
        return self._signal.groups(rows, size)

    def finished(
        self, step: int, batch: Sequence[Finished], metrics: Mapping[str, float]
    ) -> tuple[dict[str, float], bool]:
        """Take in a finished step, a number of the whole run.

        Args:
            step: its number.
            batch: its trajectories.
            metrics: the trainer's figures, under our names.

        Returns:
            All figures of the step, and whether it may be gone back to.

        Raises:
            CollapseError: there was an alarm, and the run shall not go on.
        """
        sampled = [item for item in batch if item.episode.policy == "sampled"]
        figures = {
            **rollout_figures([(item.episode, item.told) for item in batch]),
            **self._watched([item for item in sampled if not item.episode.reward.masked]),
            **self._agreement([item for item in sampled if not item.episode.reward.masked]),
            **metrics,
        }
        self._log.add(step, figures)
        self._episodes.replace_step(step, [episode_to_row(item.episode) for item in batch])
        self._signal.observe(step, [item.episode for item in sampled])
        return figures, self._guard.check(step, figures)

    def validated(self, step: int, episodes: Sequence[ScoredEpisode]) -> dict[str, float]:
        """Take in the validation after a step; returns its figures."""
        rewards = {e.row: e.reward.total for e in episodes if not e.reward.masked}
        mean = sum(rewards.values()) / max(1, len(rewards))
        figures = {"reward": mean, "masked": float(len(episodes) - len(rewards)), **episode_metrics(episodes)}
        self._val_log.add(step, {**figures, "rewards": rewards})
        self._val_episodes.replace_step(step, [episode_to_row(episode) for episode in episodes])
        return figures

    def _watched(self, batch: Sequence[Finished]) -> dict[str, float]:
        """The monitor's figures over sampled trajectories, their distance to the reference where there is one."""
        forms = self._monitor.forms([item.trajectory for item in batch])
        known = [(item.trajectory, item.own, item.reference) for item in batch if item.reference is not None]
        if not known:
            return forms
        rows = [[Row(t.prompt, t.ids, t.mask)] for t, _, _ in known]
        return forms | self._monitor.distance(rows, [own for _, own, _ in known], [fixed for _, _, fixed in known])

    def _agreement(self, batch: Sequence[Finished]) -> dict[str, float]:
        """How close the sampler's log-probabilities are to the trainer's own: mean distance in nats, correlation."""
        if self._phase.params.grpo.old_logprobs == "sampled":
            return {}
        theirs = torch.tensor([p for item in batch for p in _own(item.trajectory)])
        if len(theirs) < 2:
            return {}
        ours = torch.cat([item.own for item in batch]).to(theirs)
        correlation = float(torch.corrcoef(torch.stack([theirs, ours]))[0, 1])
        agreed = {"sampler_gap": float((theirs - ours).abs().mean()), "sampler_correlation": correlation}
        return {name: value for name, value in agreed.items() if math.isfinite(value)}

    def _checkpoint(self) -> int | None:
        done = last_step(self._phase.checkpoints)
        return self._phase.first + done if done else None


def _own(trajectory: Trajectory) -> list[float]:
    """The sampler's log-probabilities of the policy's own tokens."""
    return [p for p, own in zip(trajectory.logprobs, trajectory.mask, strict=True) if own]
