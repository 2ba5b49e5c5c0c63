"""A training run in its two phases, warm start and GRPO: each is resumed from its last checkpoint.

Unfinished work lies in a directory named after everything that the run is made from, so a changed input
never picks up old checkpoints. On the way the policy is measured on validation rows, greedily.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from stages.artifacts import DATA, ArtifactError, read_table
from stages.chat import ChatFormat
from stages.dataset import RL_ROWS, SFT_ROWS, RlRow, rl_row, sft_row
from stages.episodes import ScoredEpisode, episode_to_row, score_episode
from stages.records import EpisodeRecord
from stages.reward.combine import RewardRecord
from stages.reward.rules import RewardRules
from stages.rollout import Episode, episode_for
from stages.stage import StageContext
from stages.train.config import GrpoConfig, SftConfig
from stages.train.grpo import Rollout, train_grpo
from stages.train.journal import Journal
from stages.train.order import mixed_seed
from stages.train.params import TrainParams
from stages.train.play import play
from stages.train.policy import Policy, load_policy
from stages.train.rows import encode_sft, fitting_rl
from stages.train.sft import sft_steps, train_sft
from stages.train.watch import episode_metrics

ConfigT = TypeVar("ConfigT", SftConfig, GrpoConfig)


class Trainer:
    """One training run; `metrics` collects the figures of its rows."""

    def __init__(self, ctx: StageContext[TrainParams]) -> None:
        self._ctx = ctx
        self._rules = ctx.block(RewardRules, "reward")
        self.work = DATA / ".unfinished" / "train" / _key(ctx)
        self.metrics: dict[str, float] = {}

    def warm_start(self) -> Path:
        """Imitate the training conversations; returns the directory of the weights."""
        target, config = self.work / "sft", self._seeded(self._ctx.params.sft)
        policy = load_policy(self._ctx.params.policy)
        table = read_table(DATA / "dataset" / "sft.parquet", SFT_ROWS, self._ctx.catalog.fingerprint)
        fitting = encode_sft(policy.chat, [sft_row(row) for row in table], config.max_length)
        if not fitting.rows:
            raise ArtifactError(f"no SFT row has at most {config.max_length} tokens: raise train.sft.max_length")
        self.metrics |= {"sft_rows": len(fitting.rows), "sft_rows_cut": fitting.cut}
        self.metrics["sft_rows_left_out"] = fitting.left_out
        self.metrics["sft_tokens"] = sum(len(row.ids) for row in fitting.rows)
        if target.exists():
            return target
        journal = Journal(self.work / "sft_log.jsonl")
        with self._ctx.progress("Warm start", total=sft_steps(len(fitting.rows), config)) as bar:

            def on_step(step: int, metrics: Mapping[str, float]) -> None:
                journal.add(step, metrics)
                self._ctx.log_metrics({f"sft/{key}": value for key, value in metrics.items()}, step)
                bar.advance(1)

            train_sft(policy, fitting.rows, config, on_step=on_step, directory=self.work / "sft_checkpoints")
        policy.save(target)
        return target

    def as_given(self) -> Path:
        """The base weights as they are; returns their directory."""
        base, target = Path(self._ctx.params.policy.base), self.work / "sft"
        if base.is_dir():
            return base
        if not target.exists():
            load_policy(self._ctx.params.policy).save(target)
        return target

    def reinforce(self, start: Path) -> Path:
        """GRPO from given weights; returns the directory of the new ones."""
        target, config = self.work / "final", self._seeded(self._ctx.params.grpo)
        policy = load_policy(self._ctx.params.policy.model_copy(update={"base": str(start)}))
        fitting, too_long = rl_table(self._ctx, policy.chat, "train")
        self.metrics |= {"rl_rows": len(fitting), "rl_rows_too_long": too_long}
        journal, episodes = Journal(self.work / "grpo_log.jsonl"), Journal(self.work / "train.jsonl")
        scored: list[ScoredEpisode] = []
        validate = Validation(self._ctx, policy, self.work)
        if self._ctx.params.validation.before:
            validate(0)

        def open_episode(row: RlRow) -> Episode:
            return episode_for(self._ctx.catalog, row, config.sampling.max_rounds)

        def reward(row: RlRow, record: EpisodeRecord) -> RewardRecord:
            scored.append(score_episode("train", row, len(scored), record, self._rules))
            return scored[-1].reward

        with self._ctx.progress("GRPO", total=config.steps) as bar:

            def on_step(step: int, metrics: Mapping[str, float], rollouts: Sequence[Rollout[RlRow]]) -> None:
                whole = {**metrics, **episode_metrics(scored)}
                journal.add(step, whole)
                self._ctx.log_metrics({f"grpo/{key}": value for key, value in whole.items()}, step)
                episodes.replace_step(step, [episode_to_row(episode) for episode in scored])
                scored.clear()
                validate(step)
                bar.advance(1)

            train_grpo(
                policy, fitting, open_episode, reward, config,
                on_step=on_step, directory=self.work / "grpo_checkpoints",
            )  # fmt: skip
        policy.save(target)
        return target

    def _seeded(self, config: ConfigT) -> ConfigT:
        """The settings of a phase with the pipeline's seed mixed into its own."""
        return config.model_copy(update={"seed": mixed_seed(self._ctx.seed, config.seed)})


class Validation:
    """Plays validation rows every so many steps and keeps each row's reward, so that steps can be paired."""

    def __init__(self, ctx: StageContext[TrainParams], policy: Policy, work: Path) -> None:
        self._ctx, self._policy = ctx, policy
        self._rules = ctx.block(RewardRules, "reward")
        self._journal, self._episodes = Journal(work / "validation_log.jsonl"), Journal(work / "validation.jsonl")
        self._every, count = ctx.params.validation.every, ctx.params.validation.rows
        self._rows = rl_table(ctx, policy.chat, "val")[0][:count] if self._every else []

    def __call__(self, step: int) -> None:
        """Measure the policy if it is time to."""
        if not self._every or step % self._every:
            return
        sampling = self._ctx.params.grpo.sampling
        played = play(self._ctx.catalog, self._policy, f"step-{step}", self._rows, self._rules, sampling)
        rewards = {e.row: e.reward.total for e in played if not e.reward.masked}
        mean = sum(rewards.values()) / max(1, len(rewards))
        metrics = {"reward": mean, **episode_metrics(played)}
        self._journal.add(step, {**metrics, "rewards": rewards})
        self._episodes.replace_step(step, [episode_to_row(episode) for episode in played])
        self._ctx.log_metrics({f"validation/{key}": value for key, value in metrics.items()}, step)


def rl_table(ctx: StageContext[TrainParams], chat: ChatFormat, split: str) -> tuple[list[RlRow], int]:
    """The rows of a split whose prompts fit, and how many are too long.

    Raises:
        ArtifactError: no row fits.
    """
    source = DATA / "dataset" / f"{split}.parquet"
    rows = [rl_row(row) for row in read_table(source, RL_ROWS, ctx.catalog.fingerprint)]
    fitting = fitting_rl(chat, rows, ctx.params.max_prompt)
    if not fitting:
        raise ArtifactError(f"no row of {source} has at most {ctx.params.max_prompt} tokens: raise train.max_prompt")
    return fitting, len(rows) - len(fitting)


def _key(ctx: StageContext[TrainParams]) -> str:
    digest = hashlib.sha256(ctx.stamp.params.encode())
    for path in sorted((DATA / "dataset").glob("*.parquet")):
        digest.update(path.read_bytes())
    digest.update(ctx.block(RewardRules, "reward").model_dump_json().encode())
    return digest.hexdigest()[:16]
