"""One DVC stage in a process of its own, and what became of it; knows nothing of Prefect."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import yaml

from flows.lock import lock_holders
from stages.teacher.errors import TRANSIENT

PIPELINE = Path("dvc.yaml")

Outcome: TypeAlias = Literal["ran", "restored", "unchanged"]

_LOCKED = re.compile(r"unable to acquire lock|is busy, it is being blocked", re.IGNORECASE)
_BAD_PARAMS = re.compile(r"exited with 2\b")
_ASKED_TO_STOP = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
_EXITED = re.compile(r"exited with (-?\d+)\b")
_TEACHER_AWAY = re.compile(rf": ({'|'.join(sorted(TRANSIENT))}): ")
_TAIL = 40


class StageFailedError(Exception):
    """The stage failed; `code` is 2 for bad params and 1 for all else."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class LockHeldError(StageFailedError):
    """Another DVC command works in this repository; trying again later helps."""


class InfrastructureError(StageFailedError):
    """The machine or the teacher's failed, not the stage: it was killed, or nobody answered. Stages go on where
    they stopped, so trying again may help."""


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


def run_dvc_stage(stage: str, *, root: Path = Path(), force: bool = False, say: Callable[[str], None] = print) -> Done:
    """Bring one stage up to date, without those before it.

    Args:
        stage: its name in `dvc.yaml`.
        root: the repository, or a profile's workspace.
        force: run it even if nothing changed.
        say: hears each line of output.

    Raises:
        LockHeldError: another DVC command holds the repository's lock; the message says which.
        InfrastructureError: the stage was killed, or its teacher is not to be reached.
        StageFailedError: the stage failed for another reason.
    """
    command = [sys.executable, "-m", "dvc", "repro", "-s", stage, *(["--force"] if force else [])]
    lines: list[str] = []
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=root,
        env={**os.environ, "PWD": str(root.resolve())},
        start_new_session=True,
    ) as run:
        assert run.stdout is not None
        try:
            for line in run.stdout:
                lines.append(line.rstrip())
                if lines[-1]:
                    say(lines[-1])
        except BaseException:  # a flow that is stopped takes the stage and all of its processes along
            os.killpg(run.pid, signal.SIGTERM)
            raise
    if run.returncode == 0:
        return Done(stage, outcome_of(stage, lines))
    raise _failure(stage, lines, root)


def outcome_of(stage: str, lines: Sequence[str]) -> Outcome:
    """What `dvc repro` said that it did with the stage."""
    if f"Running stage '{stage}':" in lines:
        return "ran"
    cached = any(line.startswith(f"Stage '{stage}' is cached") for line in lines)
    return "restored" if cached else "unchanged"


def _failure(stage: str, lines: Sequence[str], root: Path) -> StageFailedError:
    tail = [line for line in lines[-_TAIL:] if line]
    errors = [line.removeprefix("ERROR: ") for line in tail if line.startswith("ERROR: ")]
    message = f"{stage}: {(errors or tail or ['dvc said nothing'])[0]}"
    if any(_LOCKED.search(line) for line in tail):
        told = ", ".join(map(str, lock_holders(root))) or "a process that has gone since"
        return LockHeldError(f"{message} (held by {told})")
    if any(_TEACHER_AWAY.search(line) for line in tail) or any(_killed(line) for line in errors):
        return InfrastructureError(message)
    return StageFailedError(message, 2 if any(_BAD_PARAMS.search(line) for line in tail) else 1)


def _killed(line: str) -> bool:
    """Whether DVC says that a signal ended the stage, one that is not a wish to stop: -9, or 137 through a shell."""
    found = _EXITED.search(line)
    code = int(found.group(1)) if found else 0
    number = -code if code < 0 else code - 128
    return 0 < number < signal.NSIG and number not in _ASKED_TO_STOP
