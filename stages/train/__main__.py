"""`python -m stages.train`: a supervised warm start, then GRPO on live sessions."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stages.artifacts import DATA, REPORTS, ArtifactError, read_table, replaced_directory, write_json, write_table
from stages.dataset import RL_ROWS, SFT_ROWS, RlRow, rl_row, sft_row
from stages.episodes import EPISODES, ScoredEpisode, episode_to_row, score_episode
from stages.records import EpisodeRecord
from stages.reward.rules import RewardRules
from stages.rollout import Episode, episode_for
from stages.stage import StageContext, run_stage
from stages.train.journal import Journal
from stages.train.params import TrainParams


class Trainer:
    """One training run: both phases, each resumed from its last checkpoint."""

    def __init__(self, ctx: StageContext[TrainParams]) -> None:
        from stages.train.policy import load_policy

        self._ctx = ctx
        self._rules = ctx.block(RewardRules, "reward")
        self._work = DATA / ".unfinished" / "train" / _key(ctx)
        self._policy = load_policy(ctx.params.policy)
        self.metrics: dict[str, float] = {}

    @property
    def work(self) -> Path:
        """Where unfinished work is kept."""
        return self._work

    def warm_start(self) -> Path:
        """Imitate the training conversations; returns the directory of the weights."""
        from stages.train.rows import encode_sft
        from stages.train.sft import sft_steps, train_sft

        config, target = self._ctx.params.sft, self._work / "sft"
        table = read_table(DATA / "dataset" / "sft.parquet", SFT_ROWS, self._ctx.catalog.fingerprint)
        fitting = encode_sft(self._policy.chat, [sft_row(row) for row in table], config.max_length)
        if not fitting.rows:
            raise ArtifactError(f"no SFT row has at most {config.max_length} tokens: raise train.sft.max_length")
        self.metrics |= {"sft_rows": len(fitting.rows), "sft_rows_cut": fitting.cut}
        self.metrics["sft_rows_left_out"] = fitting.left_out
        self.metrics["sft_tokens"] = sum(len(row.ids) for row in fitting.rows)
        if target.exists():
            return target
        journal = Journal(self._work / "sft_log.jsonl")
        with self._ctx.progress("Warm start", total=sft_steps(len(fitting.rows), config)) as bar:

            def on_step(step: int, metrics: Mapping[str, float]) -> None:
                journal.add(step, metrics)
                self._ctx.log_metrics({f"sft/{key}": value for key, value in metrics.items()}, step)
                bar.advance(1)

            train_sft(self._policy, fitting.rows, config, on_step=on_step, directory=self._work / "sft_checkpoints")
        self._policy.save(target)
        return target

    def reinforce(self, start: Path) -> tuple[Path, Path]:
        """GRPO from the warm start; returns the directory of the weights and the table of episodes."""
        from stages.train.grpo import Rollout, train_grpo
        from stages.train.policy import load_policy
        from stages.train.rows import fitting_rl

        config, target, table = self._ctx.params.grpo, self._work / "final", self._work / "train.parquet"
        policy = load_policy(self._ctx.params.policy.model_copy(update={"base": str(start)}))
        source = DATA / "dataset" / "train.parquet"
        rows = [rl_row(row) for row in read_table(source, RL_ROWS, self._ctx.catalog.fingerprint)]
        fitting = fitting_rl(policy.chat, rows, self._ctx.params.max_prompt)
        if not fitting:
            raise ArtifactError(f"no RL row has at most {self._ctx.params.max_prompt} tokens: raise train.max_prompt")
        self.metrics |= {"rl_rows": len(fitting), "rl_rows_too_long": len(rows) - len(fitting)}
        journal, episodes = Journal(self._work / "grpo_log.jsonl"), Journal(self._work / "episodes.jsonl")
        scored: dict[int, ScoredEpisode] = {}

        def open_episode(row: RlRow) -> Episode:
            return episode_for(self._ctx.catalog, row, config.sampling.max_rounds)

        def reward(row: RlRow, record: EpisodeRecord) -> Any:
            episode = score_episode("train", row, len(scored), record, self._rules)
            scored[len(scored)] = episode
            return episode.reward

        with self._ctx.progress("GRPO", total=config.steps) as bar:

            def on_step(step: int, metrics: Mapping[str, float], rollouts: Sequence[Rollout[RlRow]]) -> None:
                live = [episode.reward for episode in scored.values() if not episode.reward.masked]
                parts = ("validity", "coverage", "efficiency", "name", "arguments")
                mean = {f"part_{p}": sum(getattr(r, p) for r in live) / max(1, len(live)) for p in parts}
                journal.add(step, {**metrics, **mean})
                self._ctx.log_metrics({f"grpo/{key}": value for key, value in {**metrics, **mean}.items()}, step)
                episodes.replace_step(step, [episode_to_row(episode) for episode in scored.values()])
                scored.clear()
                bar.advance(1)

            train_grpo(
                policy, fitting, open_episode, reward, config,
                on_step=on_step, directory=self._work / "grpo_checkpoints",
            )  # fmt: skip
        policy.save(target)
        write_table(table, EPISODES, episodes.rows(), self._ctx.stamp)
        return target, table


def main(ctx: StageContext[TrainParams]) -> Sequence[Path]:
    """Train, then hand over both sets of weights, the logs and every scored episode."""
    trainer = Trainer(ctx)
    warm = trainer.warm_start()
    final, episodes = trainer.reinforce(warm)
    with replaced_directory(DATA / "policy") as target:
        shutil.copytree(warm, target / "sft")
        shutil.copytree(final, target / "final")
        for name in ("sft_log.jsonl", "grpo_log.jsonl"):
            shutil.copy(trainer.work / name, target / name)
    with replaced_directory(DATA / "rollouts") as target:
        shutil.copy(episodes, target / "train.parquet")
    metrics = trainer.metrics | _last(DATA / "policy" / "grpo_log.jsonl")
    write_json(REPORTS / "metrics" / "train.json", metrics)
    ctx.log_metrics(metrics)
    shutil.rmtree(trainer.work.parent)
    return [DATA / "policy", DATA / "rollouts", REPORTS / "metrics" / "train.json"]


def _last(log: Path) -> dict[str, float]:
    """The figures of the last GRPO step."""
    line = log.read_text(encoding="utf-8").splitlines()[-1]
    return {f"last_{key}": value for key, value in json.loads(line).items() if key in ("reward", "kl", "step")}


def _key(ctx: StageContext[TrainParams]) -> str:
    """What a run is made from, as a directory name: a changed input never picks up old checkpoints."""
    digest = hashlib.sha256(ctx.stamp.params.encode())
    for path in sorted((DATA / "dataset").glob("*.parquet")):
        digest.update(path.read_bytes())
    digest.update(ctx.block(RewardRules, "reward").model_dump_json().encode())
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    run_stage("train", TrainParams, main)
