"""The cluster engine once, whole, on a CPU: python -m tests.bench.verl_smoke

A tiny model that the local engine has warmed up is reinforced by verl's GRPO: Ray, FSDP2, our agent loop with live
sessions, a demonstration in each group, our reward, our loss, weights to the sampler, validation, a checkpoint. The run
is killed after its first checkpoint and started again; then the shards are merged and the weights play validation rows
in the local engine. `--supervision ets` has verl's SFT trainer do the warm start, and a lesson between two phases.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

from servers.kernel.catalog import load_catalog
from stages.params import check_block
from stages.skills import scorer_for
from stages.stage import StageContext
from stages.train.__main__ import main as train
from stages.train.params import TrainParams
from stages.train.play import play
from stages.train.policy import Policy, load_policy
from stages.train.tables import rl_table
from stages.train.verl import supervise
from stages.train.verl.merge import last_step
from stages.train.verl.phases import Watch
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
        "steps": 3,
        "batch_size": 2,
        "group_size": 4,
        "checkpoint_every": 1,
        "optim": {"lr": 1e-3},
        "sampling": {"max_new_tokens": 40, "max_context": 784, "max_rounds": 3},
    },
    "validation": {"every": 1, "before": False, "rows": 2},
    "signal": {
        "schedule": [1],
        "failing": "any",
        "lessons": {"epochs": 2, "batch_size": 2, "max_length": 512, "optim": {"lr": 1e-3, "micro_tokens": 2048}},
    },
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
    """The first step is finished and kept."""


def smoke(root: Path, supervision: str = "ops") -> dict[str, Any]:
    """Run everything in the directory `root`, with a kill after the first step; returns what was seen."""
    phases = ["sft", "grpo"] if supervision == "ets" else ["grpo"]
    return _inside(root, {**TRAIN, "phases": phases, "supervision": supervision}, stopped=True)


def short(root: Path) -> dict[str, Any]:
    """One step of GRPO, its merge, and the local engine playing the result."""
    grpo = {**TRAIN["grpo"], "steps": 1}
    return _inside(root, {**TRAIN, "phases": ["grpo"], "supervision": "ops", "grpo": grpo}, stopped=False)


def collapsing(root: Path) -> dict[str, Any]:
    """A policy that the monitor finds malformed in its first step, and after each rollback again."""
    watched = {"monitor": {"malformed": 0.0, "patience": 1}, "on_collapse": "rollback"}
    return _inside(root, {**TRAIN, **watched, "phases": ["grpo"], "supervision": "none"}, stopped=False)


def _inside(root: Path, block: dict[str, Any], *, stopped: bool) -> dict[str, Any]:
    write_workspace(root, load_catalog(("banking",)))
    before = Path.cwd()
    os.chdir(root)
    try:
        if "sft" not in block["phases"]:
            _warm_up(block)
        return _run(block, stopped=stopped)
    finally:
        os.chdir(before)


def _warm_up(block: dict[str, Any]) -> None:
    """The local engine's imitation of the conversations, in the place of the base weights."""
    train(_context({**block, "engine": "local", "phases": ["sft"], "supervision": "none"}))
    shutil.copytree("data/policy/final", "data/policy_base", dirs_exist_ok=True)


def _context(block: dict[str, Any]) -> StageContext[TrainParams]:
    document = {"bootstrap": {"servers": ["banking"]}, "train": block}
    return StageContext("train", check_block(TrainParams, block, "train"), document=document)


def _run(block: dict[str, Any], *, stopped: bool) -> dict[str, Any]:
    ctx = _context(block)
    seconds, reached = {}, 0
    if stopped:
        begin = time.monotonic()
        reached = _killed_after_the_first_step(ctx)
        seconds["to the stop"] = time.monotonic() - begin
    begin = time.monotonic()
    train(ctx)
    seconds["to the end"] = time.monotonic() - begin

    policy = load_policy(ctx.params.policy.model_copy(update={"base": "data/policy/final"}))
    rows = rl_table(ctx, policy.chat, "val")[0]
    played = play(ctx.catalog, policy, "final", rows, scorer_for(ctx), ctx.params.grpo.sampling)
    return {
        "stopped_at": reached,
        "alarms": _lines(Path("data/policy/collapse_log.jsonl")),
        "steps": _lines(Path("data/policy/grpo_log.jsonl")),
        "validation": _lines(Path("data/policy/validation_log.jsonl")),
        "lines": {path.name: len(_lines(path)) for path in sorted(Path("data/policy").glob("*_log.jsonl"))},
        "moved": _distance(ctx, policy, "data/policy/sft"),
        "rewards": [episode.reward.total for episode in played],
        "seconds": seconds,
    }


def _killed_after_the_first_step(ctx: StageContext[TrainParams]) -> int:
    """The step of the checkpoint that the killed run leaves behind."""
    stopping = patch.object(Watch, "__call__", _until_the_first_step(Watch.__call__))
    with stopping, patch.object(supervise, "STOP_SECONDS", 0.0), suppress(StoppedError):  # no time to come to its end
        train(ctx)
    return max(last_step(path) for path in Path("data").rglob("verl/0*/checkpoints"))


def _distance(ctx: StageContext[TrainParams], policy: Policy, start: str) -> float:
    """How far any weight is from where GRPO started."""
    before = load_policy(ctx.params.policy.model_copy(update={"base": start}))
    pairs = zip(policy.network.parameters(), before.network.parameters(), strict=True)
    return max(float((new.detach() - old.detach()).abs().max()) for new, old in pairs)


def _until_the_first_step(watched: Any) -> Any:
    """The watch, which ends the run once the first checkpoint of GRPO is whole."""

    def watch(self: Watch) -> int:
        if any(last_step(path) for path in Path("data").rglob("verl/0*/checkpoints")):
            raise StoppedError
        reached: int = watched(self)
        return reached

    return watch


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def main() -> None:
    """Run in a scratch directory and show the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--supervision", default="ops", help="the signal beside GRPO (default: %(default)s)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="verl-smoke-") as scratch:
        print(json.dumps(smoke(Path(scratch), arguments.supervision), indent=1))


if __name__ == "__main__":
    main()
