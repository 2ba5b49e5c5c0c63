"""Who holds a DVC repository's lock: the processes named in its lock files that are still there."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

_LOCKS = Path(".dvc", "tmp")


class Holder(NamedTuple):
    """A process at work in a repository."""

    pid: int
    command: str

    def __str__(self) -> str:
        return f"process {self.pid} ({self.command})"


def lock_holders(root: Path) -> list[Holder]:
    """The live processes that the lock of the repository and those of its files name, each once."""
    alive = {pid: command for pid in _pids(root / _LOCKS) if (command := _command(pid))}
    return [Holder(pid, command) for pid, command in sorted(alive.items())]


def _pids(locks: Path) -> Iterator[int]:
    """Process ids in `lock` (a number) and in `rwlock` (JSON); unreadable files name nobody."""
    with suppress(OSError, ValueError):
        yield int((locks / "lock").read_text(encoding="utf-8"))
    try:
        held = json.loads((locks / "rwlock").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    for entries in held.values() if isinstance(held, dict) else ():
        for entry in entries.values() if isinstance(entries, dict) else ():
            yield from _of_entry(entry)


def _of_entry(entry: Any) -> Iterator[int]:
    for info in entry if isinstance(entry, list) else [entry]:
        if isinstance(info, dict) and isinstance(info.get("pid"), int):
            yield info["pid"]


def _command(pid: int) -> str:
    """What the process runs, "" if it is gone."""
    done = subprocess.run(["ps", "-p", str(pid), "-o", "command="], capture_output=True, text=True, check=False)
    return done.stdout.strip()[:200]
