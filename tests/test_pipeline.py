"""The whole pipeline through DVC in a copy of the repository: what runs, what is skipped, what runs again.

One server, a model of a few hundred thousand random weights, and the smallest sizes: the plumbing is real,
the scores mean nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
COPIED = ("servers", "stages", "flows", "dvc.yaml", "params.yaml", "pyproject.toml", ".dvc", ".dvcignore")
STAGES = ["bootstrap", "discover", "synthesize", "validate", "skills", "train", "evaluate", "report"]
SMALL = {
    "seed": 3,
    "bootstrap": {"servers": ["banking"], "policy": "tiny"},
    "discover": {"bindings": 3, "chains": 40},
    "teacher": {},
    "synthesize": {"conversations": 30, "server_tools": 4},
    "validate": {"split": {"val": 0.2, "test": 0.3}},
    "skills": {},
    "train": {
        "max_prompt": 2000,
        "sft": {"max_steps": 2, "batch_size": 2, "max_length": 3000, "checkpoint_every": 1},
        "grpo": {
            "steps": 2, "batch_size": 1, "group_size": 2, "checkpoint_every": 1,
            "sampling": {"max_new_tokens": 8, "max_context": 3000, "max_rounds": 2},
        },
        "validation": {"every": 1, "rows": 2},
    },
    "profile": {"rows": 2, "group_size": 2},
    "reward": {},
    "evaluate": {
        "suite": "smoke", "heldout": {"chains": 3, "worlds": 2}, "benchmarks": {"bfcl": {"sample": 0}},
        "bootstrap_samples": 200,
    },
    "report": {},
}  # fmt: skip
TINY_MODEL = """
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

core = Tokenizer(models.BPE())
core.pre_tokenizer, core.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
alphabet = pre_tokenizers.ByteLevel.alphabet()
core.train_from_iterator([], trainers.BpeTrainer(vocab_size=300, special_tokens=special, initial_alphabet=alphabet))
tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|im_end|>", pad_token="<|im_end|>")
tokenizer.chat_template = "{% for m in messages %}<|im_start|>{{ m.role }}\\n{{ m.content }}<|im_end|>\\n{% endfor %}"
torch.manual_seed(0)
config = LlamaConfig(vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
                     num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=8192)
LlamaForCausalLM(config).save_pretrained("tiny")
tokenizer.save_pretrained("tiny")
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    target = tmp_path_factory.mktemp("clone")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__", "cache", "tmp"))
        else:
            shutil.copy(source, target / name)
    (target / ".venv").symlink_to(ROOT / ".venv")
    (target / "params.yaml").write_text(yaml.safe_dump(SMALL))
    subprocess.run(["git", "init", "-q"], cwd=target, check=True)
    run(target, sys.executable, "-c", TINY_MODEL)
    yield target
    shutil.rmtree(target, ignore_errors=True)


def run(where: Path, *command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(where), "PROVE_TRACKING": "off", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def stages_run(where: Path, *options: str) -> list[str]:
    text = run(where, str(ROOT / ".venv/bin/python"), "-m", "dvc", "repro", *options)
    return [name for name in STAGES if f"Running stage '{name}'" in text]


def change(where: Path, block: str, **values: object) -> None:
    params = yaml.safe_load((where / "params.yaml").read_text())
    params[block] |= values
    (where / "params.yaml").write_text(yaml.safe_dump(params))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_dvc_runs_what_is_stale_and_nothing_else(copy: Path) -> None:
    assert stages_run(copy) == STAGES
    data = {path: path.read_bytes() for name in ("catalog", "graph", "conversations", "dataset")
            for path in sorted((copy / "data" / name).rglob("*")) if path.is_file()}  # fmt: skip
    figures = json.loads((copy / "reports/metrics/evaluate.json").read_text())
    assert set(figures["policies"]) == {"base", "sft", "policy"}
    assert {"episodes.parquet", "bfcl.parquet"} <= {path.name for path in (copy / "data/scores").iterdir()}
    measured = [json.loads(line) for line in (copy / "data/policy/validation_log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in measured] == [0, 1, 2] and all(len(line["rewards"]) == 2 for line in measured)
    assert (copy / "reports/plots/training-validation.svg").exists()
    assert "not measured here" in (copy / "reports/leaderboard.html").read_text()
    page = (copy / "reports/index.html").read_text()
    assert "policy" in page and "http://" not in page and "https://" not in page

    assert stages_run(copy) == []

    change(copy, "reward", weights={"validity": 0.0, "coverage": 0.0, "efficiency": 0.0, "name": 0.0, "arguments": 0.0})
    run(copy, sys.executable, "-m", "stages.evaluate", "rescore")
    again = json.loads((copy / "reports/metrics/evaluate.json").read_text())["policies"]["base"]
    assert all(part == figures["policies"]["base"]["parts"][name] for name, part in again["parts"].items())
    change(copy, "reward", weights={})

    shutil.rmtree(copy / "data")
    assert stages_run(copy, "--force", "validate") == STAGES[:4]
    for path, content in data.items():
        assert path.read_bytes() == content, f"{path.relative_to(copy)} differs between two runs"

    tools = copy / "servers" / "banking" / "tools.py"
    tools.write_text(tools.read_text().replace("List the customer's accounts", "Show the customer's accounts"))
    dry = run(copy, str(ROOT / ".venv/bin/python"), "-m", "dvc", "status")
    assert "bootstrap" in dry
    tools.write_text(tools.read_text().replace("Show the customer's accounts", "List the customer's accounts"))
    run(copy, str(ROOT / ".venv/bin/python"), "-m", "dvc", "checkout")
    change(copy, "train", max_prompt=1900)
    assert stages_run(copy) == ["train", "evaluate", "report"]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_profile_of_rewards_over_the_pipelines_data(copy: Path) -> None:
    assert stages_run(copy, "validate") in ([], STAGES[:4])
    run(copy, sys.executable, "-m", "stages.train", "profile")
    figures = json.loads((copy / "reports/profile.json").read_text())
    assert (figures["rows"], figures["episodes"]) == (2, 4) and (copy / "reports/profile.svg").exists()
