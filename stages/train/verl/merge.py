"""From a checkpoint in shards to one directory of weights, as the rest of the pipeline loads it.

verl's merger writes the shards as one model, and adapters beside it; these are merged in here, since whoever loads a
policy needs to know nothing of them.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from stages.artifacts import ArtifactError
from stages.train.policy import replacing
from stages.train.verl.supervise import supervise

MERGE_SECONDS = 3_600.0
ADAPTER = "lora_adapter"


def last_step(checkpoints: Path) -> int:
    """The newest complete checkpoint's step; 0 if there is none."""
    marker = checkpoints / "latest_checkpointed_iteration.txt"
    return int(marker.read_text(encoding="utf-8")) if marker.exists() else 0


def merged(source: Path, start: Path, target: Path, log: Path) -> Path:
    """Write the weights of the shards in `source`, with the tokenizer of `start`, to `target`; returns `target`.

    All or nothing.

    Raises:
        ArtifactError: there are no such shards, or they can't be merged.
    """
    if not source.is_dir():
        raise ArtifactError(f"{source} is missing: the run has not come that far; start it again to go on")
    with replacing(target) as scratch:
        command = [sys.executable, "-m", "verl.model_merger", "merge", "--backend", "fsdp"]
        command += ["--local_dir", str(source), "--target_dir", str(scratch)]
        supervise(command, {}, log, lambda: 0, MERGE_SECONDS)
        if (scratch / ADAPTER).is_dir():
            _merge_adapter(scratch)
        for file in _tokenizer_files(start):
            shutil.copyfile(file, scratch / file.name)
        if not (scratch / "config.json").exists() or not any(scratch.glob("*.safetensors")):
            raise ArtifactError(f"{source} did not merge to whole weights; see {log}")
    return target


def _merge_adapter(directory: Path) -> None:
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    base = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.bfloat16)
    whole = PeftModel.from_pretrained(base, directory / ADAPTER).merge_and_unload()
    for old in directory.glob("*.safetensors*"):
        old.unlink()
    whole.save_pretrained(directory)
    shutil.rmtree(directory / ADAPTER)


def _tokenizer_files(start: Path) -> list[Path]:
    """The tokenizer as it was, template included: verl writes it anew and may change a template's whitespace."""
    names = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja", "vocab.json")
    return [start / name for name in (*names, "merges.txt", "added_tokens.json") if (start / name).exists()]
