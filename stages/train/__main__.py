"""`python -m stages.train`: a supervised warm start, then GRPO on live sessions.

`python -m stages.train profile` shows first how a policy's rewards are spread over the training rows,
`python -m stages.train serve WEIGHTS` puts a policy behind an OpenAI-compatible endpoint, and for the engine verl
`plan` estimates memory and time, `command` prints the trainer's exact command.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stages.artifacts import DATA, REPORTS, remove_directory, replaced_directory, write_json, write_table
from stages.episodes import EPISODES, episode_from_row
from stages.stage import StageContext, run_stage
from stages.tracking.models import log_policy
from stages.tracking.traces import log_episodes
from stages.train.journal import Journal
from stages.train.params import TrainParams

if TYPE_CHECKING:
    from stages.train.run import Trainer

ROLLOUTS = ("train", "validation")
"""Tables of scored episodes: those that were learnt from, and those of validation (`policy` names the step)."""


def main(ctx: StageContext[TrainParams]) -> Sequence[Path]:
    """Train with the engine of the params, then hand over both sets of weights, the logs and every scored episode."""
    trainer, phases = _trainer(ctx), ctx.params.phases
    warm = trainer.warm_start() if "sft" in phases else trainer.as_given()
    final = trainer.reinforce(warm) if "grpo" in phases else warm
    with replaced_directory(DATA / "policy") as target:
        shutil.copytree(warm, target / "sft")
        shutil.copytree(final, target / "final")
        for log in sorted(trainer.work.glob("*_log.jsonl")):
            shutil.copy(log, target / log.name)
    with replaced_directory(DATA / "rollouts") as target:
        for name in ROLLOUTS:
            rows = Journal(trainer.work / f"{name}.jsonl").rows()
            write_table(target / f"{name}.parquet", EPISODES, rows, ctx.stamp)
            log_episodes(ctx.tracker, [episode_from_row(row) for row in rows])
    log_policy(ctx.tracker, DATA / "policy" / "final", ctx.document)
    metrics = trainer.metrics | _last(DATA / "policy" / "grpo_log.jsonl")
    write_json(REPORTS / "metrics" / "train.json", metrics)
    ctx.log_metrics(metrics)
    remove_directory(trainer.work.parent)
    return [DATA / "policy", DATA / "rollouts", REPORTS / "metrics" / "train.json"]


def _trainer(ctx: StageContext[TrainParams]) -> Trainer:
    from stages.train.run import Trainer
    from stages.train.verl.run import ClusterTrainer

    return ClusterTrainer(ctx) if ctx.params.engine == "verl" else Trainer(ctx)


def profile(ctx: StageContext[TrainParams]) -> Sequence[Path]:
    """Sample episodes of the training rows with a policy and draw how their rewards are spread."""
    from stages.train.profile import profile_rewards

    return profile_rewards(ctx)


def plan(ctx: StageContext[TrainParams]) -> Sequence[Path]:
    """Estimate what a cluster run needs."""
    from stages.train.verl import commands

    return commands.plan(ctx)


def command(ctx: StageContext[TrainParams]) -> Sequence[Path]:
    """Print the command of a cluster run."""
    from stages.train.verl import commands

    return commands.command(ctx)


def serve(arguments: Sequence[str]) -> int:
    """Serve a policy behind an OpenAI-compatible endpoint."""
    from stages.train import serve as server

    return server.serve(arguments)


def _last(log: Path) -> dict[str, float]:
    """The figures of the last GRPO step, if there was one."""
    if not log.exists():
        return {}
    line = log.read_text(encoding="utf-8").splitlines()[-1]
    return {f"last_{key}": value for key, value in json.loads(line).items() if key in ("reward", "kl", "step")}


COMMANDS = {"profile": profile, "plan": plan, "command": command}

if __name__ == "__main__":
    run_stage("train", TrainParams, main, COMMANDS, programs={"serve": serve})
