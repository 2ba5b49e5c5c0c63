"""Two GRPO steps whose replies vLLM samples, on a CPU: how far its log-probabilities are from the trainer's own.

    python -m tests.bench.verl_vllm --weights data/policy_base

Needs an environment with vLLM's build for CPUs (docs/verl.md). The weights are SmolLM2-135M's, as `make repro
UNTIL=bootstrap` converts them, or any of a Hugging Face model whose attention heads are 64 wide or wider.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from servers.kernel.catalog import load_catalog
from stages.params import check_block
from stages.stage import StageContext
from stages.train.__main__ import main as train
from stages.train.params import TrainParams
from tests.stages.train.verl.small import write_workspace

CORRELATION = 0.99
TRAIN: dict[str, Any] = {
    "engine": "verl",
    "max_prompt": 1_024,
    "phases": ["grpo"],
    "grpo": {
        "steps": 2,
        "batch_size": 2,
        "group_size": 4,
        "optim": {"lr": 1e-5},
        "sampling": {"max_new_tokens": 64, "max_context": 2_048, "max_rounds": 2},
    },
    "verl": {
        "device": "cpu",
        "cpu_sampler": "vllm",
        "gpus": 1,
        "tensor_parallel": 1,
        "workers": 1,
        "response": 1_024,
        "tool_response": 512,
        "step_seconds": 1_200.0,
    },
}


def main() -> None:
    """Train in a scratch directory; exit code 1 if the two disagree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, default=Path("data/policy_base"), help="(default: %(default)s)")
    weights = parser.parse_args().weights.resolve()
    with tempfile.TemporaryDirectory(prefix="verl-vllm-") as scratch:
        os.chdir(scratch)
        write_workspace(Path(scratch), load_catalog(("banking",)))
        block = {**TRAIN, "policy": {"base": str(weights)}}
        document = {"bootstrap": {"servers": ["banking"]}, "train": block}
        begin = time.monotonic()
        train(StageContext("train", check_block(TrainParams, block, "train"), document=document))
        lines = [json.loads(line) for line in Path("data/policy/grpo_log.jsonl").read_text().splitlines()]
    for line in lines:
        told = {name: line[name] for name in ("reward", "own_tokens_per_episode", "sampler_gap", "sampler_correlation")}
        print(f"step {line['step']}: " + ", ".join(f"{name} {value:.6g}" for name, value in told.items()))
    print(f"{time.monotonic() - begin:.0f} s in all")
    worst = min(line["sampler_correlation"] for line in lines)
    raise SystemExit(
        0 if worst > CORRELATION else f"log-probabilities correlate by {worst:.4f}, not over {CORRELATION}"
    )


if __name__ == "__main__":
    main()
