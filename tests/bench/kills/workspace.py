"""A pipeline so small that every stage takes about a second: one server, few conversations, random weights.

Each start of a stage is the command itself, in a process forked from one that has its imports and the servers
behind it (`preloaded.py`), so that a kill lands in the work and not in them. That one runs nothing else: torch's
thread pool does not survive a fork.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import MappingProxyType
from typing import Any

import cloudpickle
import yaml

from servers.kernel.catalog import load_catalog
from stages.artifacts import write_text
from stages.evaluate import suites
from stages.synthesize import shards
from stages.teacher.provider import load_litellm

ROOT = Path(__file__).parents[3]
FORK = multiprocessing.get_context("forkserver")
FORK.set_forkserver_preload(["tests.bench.kills.preloaded"])
SEED = 7
SERVER = "banking"
SHARD_SIZE = 3
"""Conversations in a shard here: several shards for a kill to fall between."""

MODEL = Path("tiny")
WORDS = Path("said.txt")
STAGES = ("bootstrap", "discover", "synthesize", "validate", "skills", "train", "evaluate", "report")
METRICS = Path("reports/metrics")
OUTPUTS: Mapping[str, tuple[Path, ...]] = MappingProxyType(
    {
        "bootstrap": (Path("data/catalog"), Path("data/policy_base"), METRICS / "bootstrap.json"),
        "discover": (Path("data/graph"), METRICS / "discover.json"),
        "synthesize": (Path("data/conversations"), METRICS / "synthesize.json"),
        "validate": (Path("data/dataset"), Path("reports/expectations"), METRICS / "validate.json"),
        "skills": (Path("data/skills"), METRICS / "skills.json"),
        "train": (Path("data/policy"), Path("data/rollouts"), METRICS / "train.json"),
        "evaluate": (Path("data/scores"), METRICS / "evaluate.json", METRICS / "evaluate_costs.json"),
        "report": tuple(
            Path("reports") / name
            for name in (
                "index.html", "leaderboard.html", "skills.html", "trajectories.html", "dataset.html", "graph.html",
                "viewer", "plots",
            )
        ),
    }
)  # fmt: skip
"""What `dvc.yaml` declares of each stage."""

PARAMS = {
    "seed": SEED,
    "bootstrap": {"servers": [SERVER], "policy": str(MODEL)},
    "discover": {"bindings": 2, "chains": 25, "chain_length": [2, 4]},
    "synthesize": {"conversations": 16, "server_tools": 4},
    "validate": {"split": {"val": 0.2, "test": 0.3}},
    "skills": {"min_cluster_size": 3},
    "train": {
        "max_prompt": 3000,
        "sft": {"max_steps": 3, "batch_size": 2, "max_length": 3000, "checkpoint_every": 1},
        "grpo": {
            "steps": 3, "batch_size": 1, "group_size": 2, "checkpoint_every": 1,
            "sampling": {"max_new_tokens": 6, "max_context": 3500, "max_rounds": 2},
        },
        "validation": {"every": 1, "rows": 2},
    },
    "evaluate": {"suite": "smoke", "batch": 2, "bootstrap_samples": 100},
    "report": {"episodes": 4, "state_diffs": 4},
}  # fmt: skip


def import_everything() -> None:
    """Load what every stage loads, once, for all the processes that are forked from this one."""
    os.environ |= {"PROVE_TRACKING": "off", "OMP_NUM_THREADS": "1"}
    shards.SHARD_SIZE = SHARD_SIZE
    suites.SUITES = {"smoke": suites.Suite(suites.RowSizes(4, 0, 0), {})}  # BFCL's controls alone take seconds
    load_litellm()
    for name in STAGES:
        import_module(f"stages.{name}.__main__")
    for name in ("stages.train.run", "stages.train.verl.run", "great_expectations", "matplotlib.pyplot", "hdbscan"):
        try:
            import_module(name)
        except ImportError:
            continue
    import_module("torch")
    load_catalog((SERVER,)).world(SEED)


def begin(extra: Mapping[str, Mapping[str, object]] | None = None) -> None:
    """Write the params and the model of a new pipeline into the present directory."""
    document = {name: dict(block) if isinstance(block, dict) else block for name, block in PARAMS.items()}
    write_text(Path("params.yaml"), yaml.safe_dump(document | dict(extra or {})))
    maker = FORK.Process(target=make_model, args=(MODEL.absolute(),))
    _start(maker)
    maker.join()
    assert maker.exitcode == 0, "the model could not be made"


def make_model(target: Path) -> None:
    """Save a causal model of random weights that reads and writes bytes."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    kit: Any = import_module("tokenizers")  # its calls have no types
    core = kit.Tokenizer(kit.models.BPE())
    core.pre_tokenizer, core.decoder = kit.pre_tokenizers.ByteLevel(add_prefix_space=False), kit.decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = kit.pre_tokenizers.ByteLevel.alphabet()
    trainer = kit.trainers.BpeTrainer(vocab_size=300, special_tokens=special, initial_alphabet=alphabet)
    core.train_from_iterator([], trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|im_end|>", pad_token="<|im_end|>")
    turn = "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
    tokenizer.chat_template = f"{{% for m in messages %}}{turn}{{% endfor %}}"
    torch.manual_seed(SEED)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=8192,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(target)
    tokenizer.save_pretrained(target)


def run(
    stage: str, seconds: float | None = None, before: Callable[[], None] = lambda: None, words: Path = WORDS
) -> int | None:
    """Run a stage in a process of its own; its exit code.

    Args:
        stage: which.
        seconds: after which it gets SIGKILL; None lets it end. It is awaited in any case.
        before: runs first in the new process.
        words: the file for what it says.
    """
    process = FORK.Process(target=_command, args=(stage, cloudpickle.dumps(before), Path.cwd(), words))
    _start(process)
    process.join(seconds)
    if process.exitcode is None:
        process.kill()
    process.join()
    return process.exitcode


def _start(process: BaseProcess) -> None:
    """Start a process; the one that it is forked from finds this repository's modules."""
    found = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *([found] if found else [])])
    try:
        process.start()
    finally:
        if found is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = found


def _command(stage: str, before: bytes, place: Path, words: Path) -> None:
    os.chdir(place)
    file = words.open("w", buffering=1, encoding="utf-8")
    os.dup2(file.fileno(), 1)
    os.dup2(file.fileno(), 2)
    sys.stdout = sys.stderr = file
    cloudpickle.loads(before)()
    sys.argv = [f"stages.{stage}"]
    sys.modules.pop(f"stages.{stage}.__main__", None)
    runpy.run_module(f"stages.{stage}", run_name="__main__", alter_sys=True)
