"""Checkpoints that are complete and appear all at once.

    step-000120/  model.safetensors  optimizer.pt  rng.safetensors  state.json  digests.json

Random streams of sampling and row order are functions of (seed, step); the data cursor is in `state.json`. A
checkpoint that is no longer what was written is thrown away, and training goes back to the one before.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import torch
from rich.text import Text
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from stages.artifacts import remove_directory, replaced_directory, unwritable
from stages.progress import error_console
from stages.train.digests import fault, seal
from stages.train.optimizer import Optimizer
from stages.train.policy import Policy

_STEP = re.compile(r"step-(\d{6,})")


def save_checkpoint(
    root: Path, step: int, policy: Policy, optimizer: Optimizer, state: dict[str, Any], *, keep: int = 2
) -> Path:
    """Write the checkpoint of a finished step and drop all but the newest `keep`.

    Raises:
        ArtifactError: there is no room for it.
    """
    target = root / f"step-{step:06d}"
    with unwritable(target, SafetensorError, RuntimeError), replaced_directory(target) as temporary:
        weights = {n: p.detach().contiguous() for n, p in policy.trainable().items()}
        save_file(weights, temporary / "model.safetensors")
        save_file({"torch": torch.get_rng_state()}, temporary / "rng.safetensors")
        torch.save(optimizer.state_dict(), temporary / "optimizer.pt")
        text = json.dumps({"step": step, **state}, indent=1, allow_nan=False)
        (temporary / "state.json").write_text(text, encoding="utf-8")
        seal(temporary)
    for old in _checkpoints(root)[:-keep]:
        remove_directory(old)
    return target


def latest_checkpoint(root: Path) -> Path | None:
    """The newest checkpoint that is whole, or None; those that are damaged are removed with a message."""
    for found in reversed(_checkpoints(root)):
        wrong = fault(found)
        if not wrong:
            return found
        told = f"{found} is damaged ({wrong}): removed, training goes on from before it"
        error_console().print(Text(told), soft_wrap=True)
        remove_directory(found)
    return None


def latest_step(root: Path) -> int | None:
    """The newest checkpoint's step, or None."""
    found = latest_checkpoint(root)
    return int(found.name.removeprefix("step-")) if found else None


def load_checkpoint(directory: Path, policy: Policy, optimizer: Optimizer) -> dict[str, Any]:
    """Restore weights, optimiser and random state; returns what `state` was, with its `step`.

    Raises ValueError if the checkpoint trains other parameters than the policy.
    """
    saved, own = load_file(directory / "model.safetensors"), policy.trainable()
    if saved.keys() != own.keys():
        differing = sorted(saved.keys() ^ own.keys())[:3]
        raise ValueError(f"{directory} was written for another model or adapter; it differs in {differing}")
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(saved[name])
    optimizer.load_state_dict(torch.load(directory / "optimizer.pt", weights_only=True))
    torch.set_rng_state(load_file(directory / "rng.safetensors")["torch"])
    state: dict[str, Any] = json.loads((directory / "state.json").read_text(encoding="utf-8"))
    return state


def _checkpoints(root: Path) -> list[Path]:
    found = [p for p in root.glob("step-*") if _STEP.fullmatch(p.name)] if root.is_dir() else []
    return sorted(found, key=lambda p: int(p.name.removeprefix("step-")))
