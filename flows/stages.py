"""One DVC stage in a process of its own, and what became of it; knows nothing of Prefect."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import yaml

PIPELINE = Path("dvc.yaml")

Outcome: TypeAlias = Literal["ran", "restored", "unchanged"]

_LOCKED = re.compile(r"unable to acquire lock|is busy, it is being blocked", re.IGNORECASE)
_BAD_PARAMS = re.compile(r"exited with 2\b")
_TAIL = 40


class StageFailedError(Exception):
    """The stage failed; `code` is 2 for bad params and 1 for all else."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class LockHeldError(StageFailedError):
    """Another DVC command works in this repository; trying again later helps."""


@dataclass(frozen=True, slots=True)
class Done:
    """A stage that ended well."""

    stage: str
    outcome: Outcome


def stage_names(pipeline: Path = PIPELINE) -> list[str]:
    """The stages in the order of `dvc.yaml`, which is the order they run in.

    Raises:
        FileNotFoundError: there is no such file, so this is not the repository's root.
    """
    return list(yaml.safe_load(pipeline.read_text(encoding="utf-8"))["stages"])


def run_dvc_stage(stage: str, *, force: bool = False, say: Callable[[str], None] = print) -> Done:
    """Bring one stage up to date, without those before it.

    Args:
        stage: its name in `dvc.yaml`.
        force: run it even if nothing changed.
        say: hears each line of output.

    Raises:
        LockHeldError: another DVC command holds the repository's lock.
        StageFailedError: the stage failed for another reason.
    """
    command = [sys.executable, "-m", "dvc", "repro", "-s", stage, *(["--force"] if force else [])]
    lines: list[str] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as run:
        assert run.stdout is not None
        for line in run.stdout:
            lines.append(line.rstrip())
            if lines[-1]:
                say(lines[-1])
    if run.returncode == 0:
        return Done(stage, outcome_of(stage, lines))
    raise _failure(stage, lines)


def outcome_of(stage: str, lines: Sequence[str]) -> Outcome:
    """What `dvc repro` said that it did with the stage."""
    if f"Running stage '{stage}':" in lines:
        return "ran"
    cached = any(line.startswith(f"Stage '{stage}' is cached") for line in lines)
    return "restored" if cached else "unchanged"


def _failure(stage: str, lines: Sequence[str]) -> StageFailedError:
    tail = [line for line in lines[-_TAIL:] if line]
    errors = [line.removeprefix("ERROR: ") for line in tail if line.startswith("ERROR: ")]
    message = f"{stage}: {(errors or tail or ['dvc said nothing'])[0]}"
    if any(_LOCKED.search(line) for line in tail):
        return LockHeldError(message)
    return StageFailedError(message, 2 if any(_BAD_PARAMS.search(line) for line in tail) else 1)
