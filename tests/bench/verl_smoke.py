"""The cluster engine once, whole, on a CPU: python -m tests.bench.verl_smoke

A tiny model is warmed up and reinforced by verl: Ray, FSDP2, our agent loop with live sessions, our reward, our loss,
weights to the sampler, validation, a checkpoint. The run is stopped after its first checkpoint and started again; then
the shards are merged and the weights play validation rows in the local engine.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from servers.kernel.catalog import load_catalog
from stages.params import check_block
from stages.reward.rules import RewardRules
from stages.stage import StageContext
from stages.train.__main__ import complete
from stages.train.params import TrainParams
from stages.train.play import play
from stages.train.policy import load_policy
from stages.train.rl_table import rl_table
from stages.train.verl.merge import last_step
from stages.train.verl.prepare import prepare
from stages.train.verl.run import ClusterTrainer
from stages.train.verl.supervise import supervise
from tests.stages.train.verl.small import write_workspace

IDLE_SECONDS = 600.0
TRAIN: dict[str, Any] = {
    "engine": "verl",
    "max_prompt": 384,
    "sft": {
        "epochs": 16,
        "max_steps": 16,
        "batch_size": 4,
        "max_length": 512,
        "optim": {"lr": 5e-3, "micro_tokens": 2048},
    },
    "grpo": {
        "steps": 2,
        "batch_size": 2,
        "group_size": 4,
        "checkpoint_every": 1,
        "optim": {"lr": 1e-3},
        "sampling": {"max_new_tokens": 40, "max_context": 784, "max_rounds": 3},
    },
    "validation": {"every": 1, "before": False, "rows": 2},
    "verl": {
        "device": "cpu",
        "gpus": 1,
        "tensor_parallel": 1,
        "workers": 1,
        "response": 400,
        "tool_response": 300,
        "step_seconds": IDLE_SECONDS,
    },
}


class StoppedError(Exception):
    """The first step is finished."""


def smoke(root: Path) -> dict[str, Any]:
    """Run everything in the directory `root`; returns what was seen."""
    write_workspace(root, load_catalog(("banking",)))
    before = Path.cwd()
    os.chdir(root)
    try:
        return _run()
    finally:
        os.chdir(before)


def _run() -> dict[str, Any]:
    document = {"bootstrap": {"servers": ["banking"]}, "train": TRAIN}
    ctx = StageContext("train", check_block(TrainParams, TRAIN, "train"), document=document)
    trainer, seconds = ClusterTrainer(ctx), {}
    begin = time.monotonic()
    start = trainer.warm_start()
    seconds["warm_start"] = time.monotonic() - begin

    begin = time.monotonic()
    prepared = prepare(ctx, start, trainer.work)
    try:
        supervise(
            prepared.command, prepared.variables, Path("first.log"), lambda: _until(trainer.work, 1), IDLE_SECONDS
        )
    except StoppedError:
        seconds["stopped"] = time.monotonic() - begin
    reached = last_step(trainer.work / "checkpoints")

    begin = time.monotonic()
    complete(ctx, trainer)
    seconds["resumed"] = time.monotonic() - begin

    policy = load_policy(ctx.params.policy.model_copy(update={"base": "data/policy/final"}))
    warm = load_policy(ctx.params.policy.model_copy(update={"base": "data/policy/sft"}))
    moved = max(
        float((new.detach() - old.detach()).abs().max())
        for new, old in zip(policy.network.parameters(), warm.network.parameters(), strict=True)
    )
    rows = rl_table(ctx, policy.chat, "val")[0]
    played = play(ctx.catalog, policy, "final", rows, RewardRules(), ctx.params.grpo.sampling)
    return {
        "stopped_at": reached,
        "steps": _lines(Path("data/policy/grpo_log.jsonl")),
        "validation": _lines(Path("data/policy/validation_log.jsonl")),
        "moved": moved,
        "rewards": [episode.reward.total for episode in played],
        "seconds": seconds,
    }


def _until(work: Path, step: int) -> int:
    """Ends the run once a step is finished, its line in the log included, which is written last."""
    log = work / "grpo_log.jsonl"
    reached = len(_lines(log)) if log.exists() else 0
    if reached >= step:
        raise StoppedError
    return reached


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main() -> None:
    """Run in a scratch directory and show the figures."""
    with tempfile.TemporaryDirectory(prefix="verl-smoke-") as scratch:
        print(json.dumps(smoke(Path(scratch)), indent=1))


if __name__ == "__main__":
    main()
