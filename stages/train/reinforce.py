"""GRPO with its signal and its monitor: phases with pauses between them, each resumed from its last checkpoint.

    steps 1 … 50 → lessons → steps 51 … 150 → lessons → steps 151 … 300

A phase has its own optimiser, and its reference is the policy that it starts from. What a signal remembers is
read again from the logs after a resume, so that a killed run goes on as if nothing had happened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from stages.dataset import RlRow
from stages.episodes import ScoredEpisode, episode_from_row, episode_to_row
from stages.progress import Bar
from stages.reward.combine import RewardRecord
from stages.rollout import Episode, episode_for
from stages.stage import StageContext
from stages.train.batched_rollout import Trajectory
from stages.train.checkpoint import latest_checkpoint, load_checkpoint
from stages.train.collapse import CollapseError, Guard
from stages.train.collect import Rollout
from stages.train.config import GrpoConfig
from stages.train.grpo import Span, train_grpo
from stages.train.journal import Journal
from stages.train.monitor.alarm import Detector
from stages.train.monitor.monitor import Monitor
from stages.train.optimizer import Optimizer
from stages.train.order import mixed_seed
from stages.train.params import TrainParams
from stages.train.policy import Policy, load_policy
from stages.train.rows import encode_sft
from stages.train.scoring import Scoring
from stages.train.sft import train_sft
from stages.train.supervision.signal import Signal
from stages.train.validation import Validation
from stages.train.watch import episode_metrics


class Reinforcement:
    """GRPO from given weights to its end.

    Args:
        ctx: the stage's context.
        work: directory of logs, checkpoints and finished phases.
        rows: the training rows.
        signal: what stands beside GRPO.
        config: GRPO with its final seed.
    """

    def __init__(
        self, ctx: StageContext[TrainParams], work: Path, rows: Sequence[RlRow], signal: Signal, config: GrpoConfig
    ) -> None:
        self._ctx, self._work, self._rows, self._signal, self._config = ctx, work, rows, signal, config
        self._scoring = Scoring(ctx)
        self._log, self._episodes = Journal(work / "grpo_log.jsonl"), Journal(work / "train.jsonl")
        self._alarms = Journal(work / "collapse_log.jsonl")
        self._scored: list[ScoredEpisode] = []
        self._reached = 0
        self.metrics: dict[str, float] = {}

    def run(self, start: Path) -> Path:
        """All phases with their pauses; returns the directory of the last weights.

        It ends early where an alarm stops it.
        """
        weights = start
        inner = [step for step in self._signal.pauses if 0 < step < self._config.steps]
        with self._ctx.progress("GRPO", total=self._config.steps) as bar:
            for first, last in pairwise([0, *inner, self._config.steps]):
                if first in self._signal.pauses:
                    weights = self._learn(weights, first)
                weights, stopped = self._phase(weights, first, last, bar)
                if stopped:
                    break
        return weights

    def _learn(self, weights: Path, step: int) -> Path:
        """The pause after a step: imitate what the signal has collected."""
        target, config = self._work / f"lessons-{step:06d}", self._ctx.params.signal.lessons
        if target.exists():
            return target
        self._remember(step)
        policy = self._load(weights)
        lessons = encode_sft(policy.chat, self._signal.lessons(step), config.max_length)
        figures = {f"lessons/{step}": float(len(lessons.rows)), f"lessons_too_long/{step}": float(lessons.left_out)}
        self._ctx.log_metrics(figures)
        self.metrics |= figures
        if lessons.rows:
            seeded = config.model_copy(update={"seed": mixed_seed(self._config.seed, step)})
            journal = Journal(self._work / f"lessons_{step}_log.jsonl")
            train_sft(policy, lessons.rows, seeded, on_step=journal.add, directory=self._work / f"lessons_{step}")
        policy.save(target)
        return target

    def _phase(self, weights: Path, first: int, last: int, bar: Bar) -> tuple[Path, bool]:
        """GRPO steps after `first` up to `last`; returns the new weights, and whether an alarm ended the run."""
        target = self._work / f"grpo-{last:06d}"
        stopped = self._work / f"stopped-{last:06d}"
        for found, ended in ((target, False), (stopped, True)):
            if found.exists():
                return found, ended
        checkpoints = self._work / "grpo_checkpoints" / f"{first:06d}"
        while True:
            policy, guard = self._load(weights), self._guard(checkpoints, first, last)
            begun = latest_checkpoint(checkpoints)
            done = int(begun.name.removeprefix("step-")) if begun else first
            self._remember(done)
            for step, rows in self._log.steps().items():
                if first < step <= done:
                    guard.detector.observe(step, rows[-1])
            rolled_back = guard.rollbacks()
            try:
                self._train(policy, guard, Span(first, last, self._cursor(first)), checkpoints, bar)
            except CollapseError:
                if guard.rollbacks() > rolled_back:
                    continue
                restored = self._healthy(weights, checkpoints)
                restored.save(stopped)
                return stopped, True
            policy.save(target)
            return target, False

    def _train(self, policy: Policy, guard: Guard, span: Span, checkpoints: Path, bar: Bar) -> None:
        config, times = self._config, guard.rollbacks()
        config = config.model_copy(
            update={
                "optim": config.optim.model_copy(update={"lr": guard.rate()}),
                "seed": mixed_seed(config.seed, times) if times else config.seed,
            }
        )
        params = self._ctx.params
        validate = Validation(self._ctx, policy, self._work)
        if params.validation.before and span.first == 0:
            validate(0)

        def on_step(step: int, metrics: Mapping[str, float], rollouts: Sequence[Rollout[RlRow]]) -> None:
            sampled = [e for e in self._scored if e.policy == "sampled"]
            whole = {**metrics, **episode_metrics(sampled)}
            self._log.add(step, whole)
            self._ctx.log_metrics({f"grpo/{key}": value for key, value in whole.items()}, step)
            self._episodes.replace_step(step, [episode_to_row(episode) for episode in self._scored])
            self._signal.observe(step, sampled)
            self._scoring.observe(step, sampled)
            self._scored.clear()
            validate(step)
            bar.advance(max(0, step - self._reached))
            self._reached = max(step, self._reached)

        train_grpo(
            policy, self._rows, self._open, self._score, config, groups=self._signal.groups,
            monitor=Monitor(policy.chat, policy.tokenizer, params.monitor), span=span,
            on_step=on_step, healthy=guard.check, directory=checkpoints,
        )  # fmt: skip

    def _open(self, row: RlRow) -> Episode:
        return episode_for(self._ctx.catalog, row, self._config.sampling.max_rounds)

    def _score(self, row: RlRow, trajectory: Trajectory) -> RewardRecord:
        scored = self._scoring.score(trajectory.origin, row, len(self._scored), trajectory.record)
        self._scored.append(scored)
        return scored.reward

    def _guard(self, checkpoints: Path, first: int, last: int) -> Guard:
        params = self._ctx.params
        detector, lr = Detector(params.monitor), self._config.optim.lr
        return Guard(params.on_collapse, self._alarms, detector, checkpoints, range(first + 1, last + 1), lr)

    def _remember(self, step: int) -> None:
        """Tell signal and reward of all steps up to this one again."""
        for number, rows in self._episodes.steps().items():
            if number <= step:
                episodes = [episode_from_row(row) for row in rows]
                sampled = [e for e in episodes if e.policy == "sampled"]
                self._signal.observe(number, sampled)
                self._scoring.observe(number, sampled)

    def _cursor(self, step: int) -> int:
        """Rows that had been drawn when a step was over."""
        return int(self._log.steps()[step][-1]["cursor"]) if step else 0

    def _healthy(self, weights: Path, checkpoints: Path) -> Policy:
        """The policy of the last healthy checkpoint, or the one that the phase began with."""
        policy, found = self._load(weights), latest_checkpoint(checkpoints)
        if found:
            load_checkpoint(found, policy, Optimizer(policy.trainable().values(), self._config.optim, 1))
        return policy

    def _load(self, weights: Path) -> Policy:
        return load_policy(self._ctx.params.policy.model_copy(update={"base": str(weights)}))
