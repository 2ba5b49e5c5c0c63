"""Many sessions side by side: opened under unguessable handles, bounded in number and in idle time.

A pool never throws a live session out to make room and never answers a stale handle with a fresh
state. A session belongs to the principal that opened it, and to anyone else its handle looks as if it
had never been opened. Given a directory the pool journals each session, so that a restarted process has
them all again.

Several pools can share the work of one gateway: each is a shard, puts its number behind its handles and
recovers the journals of its own sessions only.
"""

from __future__ import annotations

import json
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from servers.kernel.catalog import Catalog
from servers.kernel.errors import CapacityError, ExpiredHandleError, HarnessError, UnknownHandleError
from servers.kernel.journal import HANDLE, Head, JournalDirectory
from servers.kernel.server import Outcome
from servers.kernel.session import Session, SessionSnapshot
from servers.kernel.store import shown

REMEMBERED_ENDS = 10_000
"""Sessions ended by the pool itself whose handles still get told why."""


@dataclass(frozen=True, slots=True)
class Shard:
    """One pool's share of a gateway: its number, and how many there are."""

    number: int = 0
    of: int = 1

    @staticmethod
    def owning(handle: str, of: int) -> int:
        """The number of the shard, out of so many, that owns a handle; unknown handles fall to the first."""
        if not HANDLE.fullmatch(handle):
            return 0
        return int(handle.partition("-")[2] or 0) % of

    def mint(self) -> str:
        """A new handle that this shard owns."""
        handle = secrets.token_hex(16)
        return handle if self.of == 1 else f"{handle}-{self.number}"


@dataclass(slots=True)
class _Seat:
    session: Session
    owner: str
    used_at: float
    default: bool
    written: int = 0
    running: bool = False


class SessionPool:
    """Open sessions over one catalogue. Not thread-safe: one thread drives it.

    Args:
        catalog: the servers.
        capacity: most sessions open at once.
        capacity_each: most sessions that one principal has open at once; None leaves it at `capacity`.
        lifetime: seconds after its last use at which a session is closed.
        directory: where journals are kept; None keeps sessions in memory only.
        shard: this pool's share where several serve one gateway.
        timer: monotonic seconds.

    Raises:
        HarnessError: a journal in the directory was written by other servers, or another process owns it.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        capacity: int = 4096,
        capacity_each: int | None = None,
        lifetime: float = 3600.0,
        directory: Path | None = None,
        shard: Shard = Shard(),
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self.catalog = catalog
        self.capacity = capacity
        self.capacity_each = capacity if capacity_each is None else capacity_each
        self.lifetime = lifetime
        self.events: Counter[str] = Counter(opened=0, closed=0, expired=0, abandoned=0)
        self._shard = shard
        self._timer = timer
        self._seats: OrderedDict[str, _Seat] = OrderedDict()
        self._held: Counter[str] = Counter()
        self._defaults: dict[str, str] = {}
        self._ended: OrderedDict[str, tuple[str, str]] = OrderedDict()
        self._journals = None if directory is None else JournalDirectory(directory)
        if self._journals is not None:
            self._recover(self._journals)

    def __len__(self) -> int:
        self.sweep()
        return len(self._seats)

    def open(self, seed: int = 0, owner: str = "") -> str:
        """Open a session and return its handle.

        Raises:
            CapacityError: the pool is full, or the principal has its share.
        """
        self._check_room(owner)
        return self._admit(Session(self.catalog.world(seed)), owner)

    def default(self, owner: str = "") -> str:
        """The handle of a principal's default session, which never expires; the first use opens it."""
        handle = self._defaults.get(owner)
        if handle is None or handle not in self._seats:
            self._check_room(owner)
            handle = self._admit(Session(self.catalog.world(0)), owner, default=True)
        return handle

    def fork(self, handle: str, owner: str = "") -> str:
        """Open an independent session that starts from another one's present."""
        session = self.session(handle, owner)
        self._check_room(owner)
        return self._admit(session.fork(), owner)

    def session(self, handle: str, owner: str = "") -> Session:
        """The session behind a handle.

        Raises:
            ExpiredHandleError: the pool ended it; the message says why.
            UnknownHandleError: this principal has no session of this handle here.
        """
        return self._seat(handle, owner).session

    def call(self, handle: str, tool: str, arguments: Mapping[str, Any], owner: str = "") -> Outcome:
        """Run one call in a session and journal it if it changed something."""
        session = self.session(handle, owner)
        outcome = self.catalog.call(session, tool, arguments)
        self.record(handle)
        return outcome

    def begin(self, handle: str, owner: str = "") -> Session:
        """The session of a call that runs elsewhere; it doesn't expire before `record` or `abandon`."""
        seat = self._seat(handle, owner)
        seat.running = True
        return seat.session

    def record(self, handle: str) -> None:
        """Journal what a session's log has gained.

        Raises:
            HarnessError: the disk did not take it; the session is closed, and its journal stays as it was.
        """
        seat = self._seats[handle]
        seat.running = False
        log = seat.session.log
        if len(log) > seat.written:
            if self._journals is not None:
                try:
                    self._journals.append(handle, log[seat.written :])
                except HarnessError as error:
                    self._end(handle, "abandoned", str(error))
                    raise
            seat.written = len(log)

    def abandon(self, handle: str, reason: str) -> None:
        """Close a session whose state can't be trusted any more; its principal is told the reason."""
        self._end(handle, "abandoned", reason)
        self._forget(handle)

    def user_turn(self, handle: str, owner: str = "") -> None:
        """Let the time between two user messages pass in a session."""
        self.session(handle, owner).user_turn()
        self.record(handle)

    def snapshot(self, handle: str, owner: str = "") -> SessionSnapshot:
        """The present moment of a session."""
        return self.session(handle, owner).snapshot()

    def restore(self, handle: str, snapshot: SessionSnapshot, owner: str = "") -> None:
        """Take a session back to a snapshot; its journal is written anew."""
        seat = self._seat(handle, owner)
        seat.session.restore(snapshot)
        self._write_anew(handle, seat)

    def close(self, handle: str, owner: str = "") -> None:
        """Close a session for good; its journal goes too."""
        self._seat(handle, owner)
        self._leave(handle, "closed")
        self._forget(handle)

    def sweep(self) -> int:
        """Close every session whose lifetime is over; return how many."""
        limit = self._timer() - self.lifetime
        stale = []
        for handle, seat in self._seats.items():
            if seat.used_at > limit:
                break
            if not (seat.default or seat.running):
                stale.append(handle)
        for handle in stale:
            self._end(
                handle, "expired", f"the session was closed after {self.lifetime:g} s without use; open a new one"
            )
            self._forget(handle)
        return len(stale)

    def _admit(self, session: Session, owner: str, default: bool = False) -> str:
        handle = self._shard.mint()
        seat = _Seat(session, owner, self._timer(), default)
        self._write_anew(handle, seat)
        self._take(handle, seat)
        self.events["opened"] += 1
        return handle

    def _take(self, handle: str, seat: _Seat) -> None:
        self._seats[handle] = seat
        self._held[seat.owner] += 1
        if seat.default:
            self._defaults[seat.owner] = handle

    def _check_room(self, owner: str) -> None:
        self.sweep()
        cure = f"close some, wait {self.lifetime:g} s for idle ones, or start the server with"
        if len(self._seats) >= self.capacity:
            raise CapacityError(f"all {self.capacity} sessions are in use: {cure} a larger capacity")
        if self._held[owner] >= self.capacity_each:
            raise CapacityError(f"all sessions of one principal are in use: {cure} more of them")

    def _seat(self, handle: str, owner: str) -> _Seat:
        self.sweep()
        seat = self._seats.get(handle)
        if seat is None or seat.owner != owner:
            ended = self._ended.get(handle)
            if ended is not None and ended[0] == owner:
                raise ExpiredHandleError(ended[1])
            raise UnknownHandleError(f"no open session has the handle {shown(handle)}; open one first")
        seat.used_at = self._timer()
        self._seats.move_to_end(handle)
        return seat

    def _end(self, handle: str, event: str, reason: str) -> None:
        owner = self._leave(handle, event)
        self._ended[handle] = (owner, reason)
        if len(self._ended) > REMEMBERED_ENDS:
            self._ended.popitem(last=False)

    def _leave(self, handle: str, event: str) -> str:
        owner = self._seats.pop(handle).owner
        self._held[owner] -= 1
        self.events[event] += 1
        return owner

    def _forget(self, handle: str) -> None:
        if self._journals is not None:
            self._journals.remove(handle)

    def _write_anew(self, handle: str, seat: _Seat) -> None:
        if self._journals is not None:
            head = Head(self.catalog.fingerprint, seat.session.world.seed, seat.owner, seat.default)
            self._journals.start(handle, head, seat.session.log)
        seat.written = len(seat.session.log)

    def _recover(self, journals: JournalDirectory) -> None:
        for handle, path, lines in journals.read(
            lambda handle: Shard.owning(handle, self._shard.of) == self._shard.number
        ):
            try:
                self._take(handle, self._read_journal(path, lines))
            except (ValueError, KeyError, TypeError) as error:
                raise HarnessError(f"{path} is damaged ({error!r}): remove it to lose that session") from None

    def _read_journal(self, path: Path, lines: list[bytes]) -> _Seat:
        head = Head.read(lines[0])
        if head.fingerprint != self.catalog.fingerprint:
            raise HarnessError(
                f"{path} was written by servers {head.fingerprint}, these are {self.catalog.fingerprint}: "
                "start the matching version or remove the journal"
            )
        session = Session(self.catalog.world(head.seed))
        for line in lines[1:]:
            entry = json.loads(line)
            self.catalog.redo(session, entry["tool"], entry["arguments"])
        return _Seat(session, head.owner, self._timer(), head.default, len(session.log))
