"""A training run in its two phases, warm start and GRPO: each is resumed from its last checkpoint.

Unfinished work lies in a directory named after everything that the run is made from, so a changed input
never picks up old checkpoints.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from stages.artifacts import DATA, ArtifactError, read_table
from stages.dataset import SFT_ROWS, SftRow, sft_row
from stages.params import TeacherParams
from stages.reward.rules import RewardRules
from stages.stage import StageContext
from stages.teacher.client import Teacher
from stages.teacher.team import open_teachers
from stages.train.config import GrpoConfig, SftConfig
from stages.train.journal import Journal
from stages.train.order import mixed_seed
from stages.train.params import TrainParams
from stages.train.policy import load_chat, load_policy
from stages.train.reinforce import Reinforcement
from stages.train.rl_table import rl_table
from stages.train.rows import encode_sft
from stages.train.sft import sft_steps, train_sft
from stages.train.supervision.choice import ASKS_THE_TEACHER, signal_for
from stages.train.supervision.demonstrations import Demonstrations

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
        fitting = encode_sft(policy.chat, self._imitated(), config.max_length)
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
        """GRPO from given weights, with its signal; returns the directory of the new ones."""
        params = self._ctx.params
        chat = load_chat(params.policy.model_copy(update={"base": str(start)}))
        fitting, too_long = rl_table(self._ctx, chat, "train")
        self.metrics |= {"rl_rows": len(fitting), "rl_rows_too_long": too_long}
        with ExitStack() as stack:

            def reflector() -> Teacher:
                block = self._ctx.block(TeacherParams, "teacher")
                return stack.enter_context(open_teachers(block, self._ctx.name)).of("reflector")

            right = Demonstrations(self._imitated())
            signal = signal_for(params.supervision, params.signal, fitting, right, reflector)
            phases = Reinforcement(self._ctx, self.work, fitting, signal, self._seeded(params.grpo))
            final = phases.run(start)
        self.metrics |= phases.metrics
        return final

    def _imitated(self) -> list[SftRow]:
        table = read_table(DATA / "dataset" / "sft.parquet", SFT_ROWS, self._ctx.catalog.fingerprint)
        return [sft_row(row) for row in table]

    def _seeded(self, config: ConfigT) -> ConfigT:
        """The settings of a phase with the pipeline's seed mixed into its own."""
        return config.model_copy(update={"seed": mixed_seed(self._ctx.seed, config.seed)})


def _key(ctx: StageContext[TrainParams]) -> str:
    digest = hashlib.sha256(ctx.stamp.params.encode())
    for path in sorted((DATA / "dataset").glob("*.parquet")):
        digest.update(path.read_bytes())
    digest.update(ctx.block(RewardRules, "reward").model_dump_json().encode())
    if ctx.params.supervision in ASKS_THE_TEACHER:
        digest.update(ctx.block(TeacherParams, "teacher").model_dump_json().encode())
    return digest.hexdigest()[:16]
