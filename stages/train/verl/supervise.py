"""A long program under watch: its output goes to a file, and it is stopped when it no longer gets anywhere."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from stages.artifacts import ArtifactError

POLL_SECONDS = 1.0
STOP_SECONDS = 60.0
"""How long a program may take to stop by itself before it is killed."""

PR_SET_PDEATHSIG = 1

LOG_LINES = 25
"""Lines of the log that an error shows."""


class ClusterError(ArtifactError):
    """A program of the run failed or got nowhere; the message ends with its last words."""


def supervise(
    command: Sequence[str], variables: Mapping[str, str], log: Path, tick: Callable[[], int], idle_seconds: float
) -> None:
    """Run a program to its end; `tick` is asked every second how far it has come.

    Args:
        command: program and arguments.
        variables: environment variables beside those of this process.
        log: file that its output is appended to.
        tick: returns a number that grows while the program gets on.
        idle_seconds: without growth for so long, it is stopped.

    Raises:
        ClusterError: it failed, or got nowhere for too long.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **variables},
            start_new_session=True,
            preexec_fn=_end_with_parent,
        )
        try:
            code = _watch(process, command[2], log, tick, idle_seconds)
        finally:
            stop(process)
    tick()
    if code:
        raise ClusterError(f"{command[2]} ended with code {code}; the log is {log}, its last lines:\n{tail(log)}")


def _end_with_parent() -> None:
    """Linux ends the program when this process is gone, however that comes: nobody would watch it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _watch(
    process: subprocess.Popen[bytes], command: str, log: Path, tick: Callable[[], int], idle_seconds: float
) -> int:
    reached, since = tick(), time.monotonic()
    while True:
        try:
            return process.wait(POLL_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        now = tick()
        if now > reached:
            reached, since = now, time.monotonic()
        elif time.monotonic() - since > idle_seconds:
            raise ClusterError(
                f"{command} got nowhere for {idle_seconds:g} s after step {reached} and was stopped; "
                f"the log is {log}, its last lines:\n{tail(log)}"
            )


def stop(process: subprocess.Popen[bytes]) -> None:
    """End the program and all that it started, also what left its process group, as Ray's processes do."""
    started = _descendants(process)
    if process.poll() is None:
        _signal(process, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
    _signal(process, signal.SIGKILL)
    for each in started:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    process.wait()


def _descendants(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def tail(log: Path, lines: int = LOG_LINES) -> str:
    """The end of a log."""
    said = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return "\n".join(line[:300] for line in said[-lines:]) or "(nothing)"
