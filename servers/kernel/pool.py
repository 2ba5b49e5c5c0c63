"""Many sessions side by side: opened under unguessable handles, bounded in number and in idle time.

A pool never throws a live session out to make room and never answers a stale handle with a fresh
state. Given a directory it journals each session, so that a restarted process has them all again.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from servers.kernel.catalog import Catalog
from servers.kernel.errors import CapacityError, ExpiredHandleError, HarnessError, UnknownHandleError
from servers.kernel.server import Outcome
from servers.kernel.session import LogEntry, Session, SessionSnapshot
from servers.kernel.store import shown

HANDLE = re.compile(r"[0-9a-f]{32}")
"""Handles are 128 random bits; nothing else ever names a session or its journal."""

REMEMBERED_EXPIRIES = 10_000


@dataclass(slots=True)
class _Seat:
    session: Session
    used_at: float
    journal: BinaryIO | None
    written: int = 0


class SessionPool:
    """Open sessions over one catalogue.

    Args:
        catalog: the servers.
        capacity: most sessions open at once.
        lifetime: seconds after its last use at which a session is closed.
        directory: where journals are kept; None keeps sessions in memory only.
        timer: monotonic seconds.

    Raises:
        HarnessError: a journal in the directory was written by other servers.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        capacity: int = 4096,
        lifetime: float = 3600.0,
        directory: Path | None = None,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self.catalog = catalog
        self.capacity = capacity
        self.lifetime = lifetime
        self._directory = directory
        self._timer = timer
        self._seats: OrderedDict[str, _Seat] = OrderedDict()
        self._expired: OrderedDict[str, None] = OrderedDict()
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True)
            self._recover(directory)

    def __len__(self) -> int:
        self.sweep()
        return len(self._seats)

    def open(self, seed: int = 0) -> str:
        """Open a session and return its handle.

        Raises:
            CapacityError: the pool is full.
        """
        self._check_room()
        return self._admit(Session(self.catalog.world(seed)))

    def fork(self, handle: str) -> str:
        """Open an independent session that starts from another one's present."""
        return self._admit(self.session(handle).fork())

    def session(self, handle: str) -> Session:
        """The session behind a handle.

        Raises:
            ExpiredHandleError: it was idle for longer than the lifetime.
            UnknownHandleError: no session here answers to the handle.
        """
        return self._seat(handle).session

    def call(self, handle: str, tool: str, arguments: Mapping[str, Any]) -> Outcome:
        """Run one call in a session and journal it if it changed something."""
        seat = self._seat(handle)
        outcome = self.catalog.call(seat.session, tool, arguments)
        _append(seat)
        return outcome

    def user_turn(self, handle: str) -> None:
        """Let the time between two user messages pass in a session."""
        seat = self._seat(handle)
        seat.session.user_turn()
        _append(seat)

    def snapshot(self, handle: str) -> SessionSnapshot:
        """The present moment of a session."""
        return self.session(handle).snapshot()

    def restore(self, handle: str, snapshot: SessionSnapshot) -> None:
        """Take a session back to a snapshot; its journal is written anew."""
        seat = self._seat(handle)
        seat.session.restore(snapshot)
        if seat.journal is not None and self._directory is not None:
            path, scratch = self._directory / f"{handle}.jsonl", self._directory / f"{handle}.new"
            old, seat.journal, seat.written = seat.journal, scratch.open("ab", buffering=0), 0
            self._head(seat)
            _append(seat)
            scratch.replace(path)
            old.close()

    def close(self, handle: str) -> None:
        """Close a session for good; its journal goes too."""
        self._seat(handle)
        self._drop(handle)

    def sweep(self) -> int:
        """Close every session whose lifetime is over; return how many."""
        limit = self._timer() - self.lifetime
        stale = []
        for handle, seat in self._seats.items():
            if seat.used_at > limit:
                break
            stale.append(handle)
        for handle in stale:
            self._drop(handle)
            self._expired[handle] = None
            if len(self._expired) > REMEMBERED_EXPIRIES:
                self._expired.popitem(last=False)
        return len(stale)

    def _admit(self, session: Session) -> str:
        self._check_room()
        handle = secrets.token_hex(16)
        journal = None if self._directory is None else (self._directory / f"{handle}.jsonl").open("ab", buffering=0)
        seat = _Seat(session, self._timer(), journal)
        self._head(seat)
        _append(seat)
        self._seats[handle] = seat
        return handle

    def _check_room(self) -> None:
        self.sweep()
        if len(self._seats) >= self.capacity:
            raise CapacityError(
                f"all {self.capacity} sessions are in use: close some, wait {self.lifetime:g} s for idle ones, "
                "or start the pool with a larger capacity"
            )

    def _seat(self, handle: str) -> _Seat:
        self.sweep()
        seat = self._seats.get(handle)
        if seat is None:
            if handle in self._expired:
                raise ExpiredHandleError(
                    f"the session was closed after {self.lifetime:g} s without use; open a new one"
                )
            raise UnknownHandleError(f"no open session has the handle {shown(handle)}; open one first")
        seat.used_at = self._timer()
        self._seats.move_to_end(handle)
        return seat

    def _drop(self, handle: str) -> None:
        seat = self._seats.pop(handle)
        if seat.journal is not None and self._directory is not None:
            seat.journal.close()
            (self._directory / f"{handle}.jsonl").unlink(missing_ok=True)

    def _head(self, seat: _Seat) -> None:
        if seat.journal is not None:
            head = {"fingerprint": self.catalog.fingerprint, "seed": seat.session.world.seed}
            seat.journal.write(json.dumps(head).encode() + b"\n")

    def _recover(self, directory: Path) -> None:
        for path in sorted(directory.glob("*.jsonl")):
            if HANDLE.fullmatch(path.stem):
                try:
                    self._read_journal(path)
                except (ValueError, KeyError, TypeError) as error:
                    raise HarnessError(f"{path} is damaged ({error!r}): remove it to lose that session") from None

    def _read_journal(self, path: Path) -> None:
        """Bring one session back; a line that was cut off never happened."""
        lines = path.read_bytes().split(b"\n")[:-1]
        if not lines:
            path.unlink()
            return
        head = json.loads(lines[0])
        if head["fingerprint"] != self.catalog.fingerprint:
            raise HarnessError(
                f"{path} was written by servers {head['fingerprint']}, these are {self.catalog.fingerprint}: "
                "start the matching version or remove the journal"
            )
        session = Session(self.catalog.world(head["seed"]))
        for line in lines[1:]:
            entry = json.loads(line)
            self.catalog.redo(session, entry["tool"], entry["arguments"])
        with path.open("r+b") as file:
            file.truncate(sum(len(line) + 1 for line in lines))
        self._seats[path.stem] = _Seat(session, self._timer(), path.open("ab", buffering=0), len(session.log))


def _append(seat: _Seat) -> None:
    """Write what the log gained since the last time; the write is complete before the caller answers."""
    if seat.journal is not None:
        lines = [json.dumps(_entry(item)).encode() + b"\n" for item in seat.session.log[seat.written :]]
        if lines:
            seat.journal.write(b"".join(lines))
    seat.written = len(seat.session.log)


def _entry(item: LogEntry) -> dict[str, Any]:
    return {"tool": item.tool, "arguments": dict(item.arguments)}
