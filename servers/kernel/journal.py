"""Journals: one file of JSON lines per session, in a directory that one process owns.

A journal's first line says which servers and which world it belongs to, and whose the session is; each
further line is one call that changed something. A line is written with one system call before its caller
gets an answer, so a process that is killed loses at most a line that was never answered: a last line
without its line end never happened. That holds for the end of a process, not for a power cut.

The directory is locked for as long as the process that owns it lives, and so long as a process forked
from it does; a second process is refused.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from servers.kernel.errors import HarnessError
from servers.kernel.session import LogEntry

HANDLE = re.compile(r"[0-9a-f]{32}(?:-[0-9]{1,3})?")
"""Handles are 128 random bits and, where several workers serve, the worker's number; nothing else names a journal."""

LOCK = "owner.lock"

_owned: dict[Path, BinaryIO] = {}


@dataclass(frozen=True, slots=True)
class Head:
    """What a journal says of its session.

    Args:
        fingerprint: that of the servers.
        seed: the world's number.
        owner: the principal that the session belongs to; empty where there are none.
        default: whether calls without a handle run in it.
    """

    fingerprint: str
    seed: int
    owner: str
    default: bool

    def line(self) -> bytes:
        """The journal's first line."""
        extras: dict[str, Any] = {"owner": self.owner} if self.owner else {}
        if self.default:
            extras["default"] = True
        return _line({"fingerprint": self.fingerprint, "seed": self.seed, **extras})

    @classmethod
    def read(cls, line: bytes) -> Head:
        """The head that a first line holds."""
        data = json.loads(line)
        return cls(data["fingerprint"], data["seed"], data.get("owner", ""), data.get("default", False))


class JournalDirectory:
    """The journals of one process.

    Raises:
        HarnessError: another process owns the directory, or it can't be made or written to.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        try:
            directory.mkdir(parents=True, exist_ok=True)
            _own(directory.resolve())
        except OSError as error:
            raise HarnessError(f"journals cannot be kept: {error}; name another directory") from None

    def start(self, handle: str, head: Head, log: Iterable[LogEntry]) -> None:
        """Begin a session's journal, or write it anew; a kill leaves the old one or the new one."""
        scratch = self.directory / f"{handle}.new"
        scratch.write_bytes(head.line() + _lines(log))
        scratch.replace(self._path(handle))

    def append(self, handle: str, log: Iterable[LogEntry]) -> None:
        """Add log entries to a session's journal.

        Raises:
            HarnessError: the disk did not take them; the journal is as it was.
        """
        lines = _lines(log)
        try:
            with self._path(handle).open("ab", buffering=0) as file:
                before = file.tell()
                if file.write(lines) < len(lines):
                    file.truncate(before)
                    raise OSError("the disk is full")
        except OSError as error:
            raise HarnessError(f"{self._path(handle)} cannot be written: {error}; make room and open anew") from None

    def remove(self, handle: str) -> None:
        """Forget a session."""
        self._path(handle).unlink(missing_ok=True)

    def read(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Path, list[bytes]]]:
        """The journals of the wanted handles: handle, file and whole lines.

        A cut last line is removed from the file; a journal that has no whole line is removed itself.
        """
        for path in sorted(self.directory.glob("*.jsonl")):
            if HANDLE.fullmatch(path.stem) and wanted(path.stem):
                lines = _whole_lines(path)
                if lines:
                    yield path.stem, path, lines
                else:
                    path.unlink()

    def _path(self, handle: str) -> Path:
        return self.directory / f"{handle}.jsonl"


def _own(directory: Path) -> None:
    if directory in _owned:
        return
    lock = (directory / LOCK).open("a+b", buffering=0)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        owner = lock.read().decode("ascii", "replace").strip() or "unknown"
        lock.close()
        raise HarnessError(
            f"the journals in {directory} belong to process {owner}, which is running: stop it, "
            "or give this server a directory of its own"
        ) from None
    lock.truncate(0)
    lock.write(f"{os.getpid()}\n".encode())
    _owned[directory] = lock


def _whole_lines(path: Path) -> list[bytes]:
    lines = path.read_bytes().split(b"\n")[:-1]
    with path.open("r+b") as file:
        file.truncate(sum(len(line) + 1 for line in lines))
    return lines


def _lines(log: Iterable[LogEntry]) -> bytes:
    return b"".join(_line({"tool": item.tool, "arguments": dict(item.arguments)}) for item in log)


def _line(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data).encode() + b"\n"
