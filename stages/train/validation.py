"""How good the policy is on the way: validation rows, played greedily every so many steps."""

from __future__ import annotations

from pathlib import Path

from stages.episodes import episode_to_row
from stages.skills import scorer_for
from stages.stage import StageContext
from stages.train.journal import Journal
from stages.train.params import TrainParams
from stages.train.play import play
from stages.train.policy import Policy
from stages.train.tables import rl_table
from stages.train.watch import episode_metrics


class Validation:
    """Plays validation rows every so many steps and keeps each row's reward, so that steps can be paired."""

    def __init__(self, ctx: StageContext[TrainParams], policy: Policy, work: Path) -> None:
        self._ctx, self._policy = ctx, policy
        self._scorer = scorer_for(ctx)
        self._journal, self._episodes = Journal(work / "validation_log.jsonl"), Journal(work / "validation.jsonl")
        self._every, count = ctx.params.validation.every, ctx.params.validation.rows
        self._rows = rl_table(ctx, policy.chat, "val")[0][:count] if self._every else []

    def __call__(self, step: int) -> None:
        """Measure the policy if it is time to."""
        if not self._every or step % self._every:
            return
        sampling = self._ctx.params.grpo.sampling
        played = play(self._ctx.catalog, self._policy, f"step-{step}", self._rows, self._scorer, sampling)
        rewards = {e.row: e.reward.total for e in played if not e.reward.masked}
        mean = sum(rewards.values()) / max(1, len(rewards))
        metrics = {"reward": mean, **episode_metrics(played)}
        self._journal.add(step, {**metrics, "rewards": rewards})
        self._episodes.replace_step(step, [episode_to_row(episode) for episode in played])
        self._ctx.log_metrics({f"validation/{key}": value for key, value in metrics.items()}, step)
