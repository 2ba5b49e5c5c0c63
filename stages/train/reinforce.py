"""The phases of GRPO in this process, each resumed from its last checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from stages.dataset import RlRow
from stages.episodes import ScoredEpisode, episode_to_row
from stages.progress import Bar
from stages.reward.combine import RewardRecord
from stages.rollout import Episode, episode_for
from stages.stage import StageContext
from stages.train.batched_rollout import Trajectory
from stages.train.checkpoint import latest_checkpoint, latest_step, load_checkpoint
from stages.train.collapse import CollapseError, Guard
from stages.train.collect import Rollout
from stages.train.config import GrpoConfig
from stages.train.grpo import Span, train_grpo
from stages.train.journal import Journal
from stages.train.monitor.monitor import Monitor
from stages.train.optimizer import Optimizer
from stages.train.order import mixed_seed
from stages.train.params import TrainParams
from stages.train.phases import Imitate, Phases, guard_for
from stages.train.policy import Policy, load_policy
from stages.train.scoring import Scoring
from stages.train.supervision.signal import Signal
from stages.train.validation import Validation
from stages.train.watch import episode_metrics


class Reinforcement(Phases):
    """The local engine's phases over the training rows `rows`."""

    def __init__(
        self,
        ctx: StageContext[TrainParams],
        work: Path,
        rows: Sequence[RlRow],
        signal: Signal,
        config: GrpoConfig,
        imitate: Imitate,
    ) -> None:
        super().__init__(ctx, work, signal, config, imitate)
        self._rows, self._scoring = rows, Scoring(ctx)
        self._log, self._episodes = Journal(work / "grpo_log.jsonl"), Journal(work / "train.jsonl")
        self._scored: list[ScoredEpisode] = []
        self._reached = 0

    def phase(self, weights: Path, first: int, last: int, bar: Bar) -> None:
        """GRPO steps after `first` up to `last`."""
        checkpoints = self._work / "grpo_checkpoints" / f"{first:06d}"
        while True:
            policy = self._load(weights)
            guard = guard_for(self._ctx.params, self._work, first, last, lambda: latest_step(checkpoints))
            done = latest_step(checkpoints) or first
            for journal in (self._log, self._episodes):
                journal.require(range(1, done + 1))
            self.remember(done)
            for step, rows in self._log.steps().items():
                if first < step <= done:
                    guard.detector.observe(step, rows[-1])
            rolled_back = guard.rollbacks()
            try:
                self._train(policy, guard, Span(first, last, self._cursor(first)), checkpoints, bar)
            except CollapseError:
                if guard.rollbacks() > rolled_back:
                    continue
                self._healthy(weights, checkpoints).save(self._work / f"stopped-{last:06d}")
                return
            policy.save(self._work / f"grpo-{last:06d}")
            return

    def hear(self, step: int, sampled: Sequence[ScoredEpisode]) -> None:
        """Tell signal and reward of a finished step."""
        super().hear(step, sampled)
        self._scoring.observe(step, sampled)

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
        if params.validation.before and span.first == 0 and latest_step(checkpoints) is None:
            validate(0)  # a resumed run has done so

        def on_step(step: int, metrics: Mapping[str, float], rollouts: Sequence[Rollout[RlRow]]) -> None:
            sampled = [e for e in self._scored if e.policy == "sampled"]
            whole = {**metrics, **episode_metrics(sampled)}
            self._log.add(step, whole)
            self._ctx.log_metrics({f"grpo/{key}": value for key, value in whole.items()}, step)
            self._episodes.replace_step(step, [episode_to_row(episode) for episode in self._scored])
            self.hear(step, sampled)
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
