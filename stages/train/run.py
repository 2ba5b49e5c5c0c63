"""A training run in its two phases, warm start and GRPO: each is resumed from its last checkpoint.

Unfinished work lies in a directory named after everything that the run is made from, so a changed input
never picks up old checkpoints.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from stages.artifacts import DATA, ArtifactError
from stages.chat import Encoded
from stages.dataset import RlRow
from stages.params import TeacherParams
from stages.reward.rules import RewardRules
from stages.skills.library import LIBRARY
from stages.stage import StageContext
from stages.tracking.digest import sha256
from stages.train.checkpoint import latest_step
from stages.train.config import GrpoConfig, SftConfig
from stages.train.digests import DIGESTS
from stages.train.journal import Journal
from stages.train.order import mixed_seed
from stages.train.params import TrainParams
from stages.train.phases import Phases
from stages.train.policy import load_chat, load_policy
from stages.train.reinforce import Reinforcement
from stages.train.rows import encode_sft
from stages.train.sft import sft_steps, train_sft
from stages.train.supervision.choice import ASKS_THE_TEACHER
from stages.train.supervision.opening import open_signal
from stages.train.supervision.signal import Signal
from stages.train.tables import rl_table, sft_table

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
        fitting = encode_sft(load_chat(self._ctx.params.policy), sft_table(self._ctx), config.max_length)
        if not fitting.rows:
            raise ArtifactError(f"no SFT row has at most {config.max_length} tokens: raise train.sft.max_length")
        self.metrics |= {"sft_rows": len(fitting.rows), "sft_rows_cut": fitting.cut}
        self.metrics["sft_rows_left_out"] = fitting.left_out
        self.metrics["sft_tokens"] = sum(len(row.ids) for row in fitting.rows)
        if not target.exists():
            self.imitate(Path(self._ctx.params.policy.base), fitting.rows, config, "sft", target)
        return target

    def imitate(self, weights: Path, rows: Sequence[Encoded], config: SftConfig, name: str, target: Path) -> None:
        """Supervised training from given weights to `target`; logs and checkpoints bear the name."""
        policy = load_policy(self._ctx.params.policy.model_copy(update={"base": str(weights)}))
        journal, checkpoints = Journal(self.work / f"{name}_log.jsonl"), self.work / f"{name}_checkpoints"
        journal.require(range(1, (latest_step(checkpoints) or 0) + 1))
        with self._ctx.progress(f"Supervised, {name}", total=sft_steps(len(rows), config)) as bar:

            def on_step(step: int, metrics: Mapping[str, float]) -> None:
                journal.add(step, metrics)
                self._ctx.log_metrics({f"{name}/{key}": value for key, value in metrics.items()}, step)
                bar.advance(1)

            train_sft(policy, rows, config, on_step=on_step, directory=checkpoints)
        policy.save(target)

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
            signal = open_signal(self._ctx, fitting, stack)
            phases = self.phases(fitting, signal, self._seeded(params.grpo))
            final = phases.run(start)
        self.metrics |= phases.metrics
        return final

    def phases(self, rows: Sequence[RlRow], signal: Signal, config: GrpoConfig) -> Phases:
        """The phases of GRPO, as this engine plays them."""
        return Reinforcement(self._ctx, self.work, rows, signal, config, self.imitate)

    def _seeded(self, config: ConfigT) -> ConfigT:
        """The settings of a phase with the pipeline's seed mixed into its own."""
        return config.model_copy(update={"seed": mixed_seed(self._ctx.seed, config.seed)})


def _key(ctx: StageContext[TrainParams]) -> str:
    digest = hashlib.sha256(f"{ctx.seed} {ctx.stamp.fingerprint} {ctx.stamp.params}".encode())
    base = Path(ctx.params.policy.base)
    if base.is_dir():
        digest.update(sha256(base / DIGESTS if (base / DIGESTS).exists() else base).encode())
    if ctx.block(RewardRules, "reward").needs_judge and (DATA / LIBRARY).exists():
        digest.update((DATA / LIBRARY).read_bytes())
    for path in sorted((DATA / "dataset").glob("*.parquet")):
        digest.update(path.read_bytes())
    digest.update(ctx.block(RewardRules, "reward").model_dump_json().encode())
    if ctx.params.supervision in ASKS_THE_TEACHER:
        digest.update(ctx.block(TeacherParams, "teacher").model_dump_json().encode())
    return digest.hexdigest()[:16]
