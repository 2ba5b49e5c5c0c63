"""One episode's world: its tables, its clock, its identifiers and the log of what was done.

A session is fully described by (fingerprint, seed, log): opening the same seed and running the same
log gives the same state, byte for byte. Time moves by a fixed step with each call that changed
something and with each user turn, never with a read and never with the host's clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from servers.kernel.store import Change, Effects, Record, Seed, Store, StoreSnapshot, Table

R = TypeVar("R", bound=Record)

EPOCH = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
"""Monday morning: when every episode begins."""

CALL_STEP = timedelta(seconds=30)
"""How far the clock moves with each call that changed something."""

TURN_STEP = timedelta(minutes=5)
"""How far the clock moves with each user turn."""


class IdStream:
    """Identifiers of one kind: short, unique and not to be guessed from their neighbours.

    The n-th identifier is a fixed permutation of n within its block of 90,000 five-digit numbers,
    then of 900,000 six-digit ones and so on, so a stream never repeats and never ends.
    """

    @staticmethod
    def name(prefix: str, seed: int, n: int) -> str:
        """The n-th identifier (from 0) with this prefix in the world of this seed."""
        size = 90_000
        while n >= size:
            n -= size
            size *= 10
        offset = sum(prefix.encode()) * 7919 + seed * 104_729
        return f"{prefix}-{size // 9 + (n * 48_271 + offset) % size}"


@dataclass(frozen=True, slots=True)
class World:
    """What all sessions of one seed share: the rows, and how many identifiers the seed used."""

    seed: int
    rows: Seed
    id_counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A call that changed something, or a user turn (tool is empty)."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SessionSnapshot:
    """Everything needed to return to a moment of a session."""

    store: StoreSnapshot
    time: datetime
    id_counts: Mapping[str, int]
    log: tuple[LogEntry, ...]


class Session:
    """State of one episode. Handlers read and write it; `ToolServer` runs them in transactions."""

    __slots__ = ("_id_counts", "_staged_ids", "_store", "_time", "log", "world")

    def __init__(self, world: World) -> None:
        self.world = world
        self.log: list[LogEntry] = []
        self._store = Store(world.rows)
        self._time = EPOCH
        self._id_counts: dict[str, int] = {}
        self._staged_ids: dict[str, int] = {}

    @property
    def now(self) -> datetime:
        """The virtual time, in UTC."""
        return self._time

    @property
    def state_hash(self) -> str:
        """Hash of all rows as they stand, 32 hexadecimal digits."""
        return f"{self._store.digest:032x}"

    def table(self, kind: type[R]) -> Table[R]:
        """The rows of one record class."""
        return Table(self._store, kind)

    def new_id(self, prefix: str) -> str:
        """The next identifier of this kind; taken back if the call fails."""
        count = self._staged_ids.get(prefix)
        if count is None:
            count = self._id_counts.get(prefix, self.world.id_counts.get(prefix, 0))
        self._staged_ids[prefix] = count + 1
        return IdStream.name(prefix, self.world.seed, count)

    def diff(self) -> list[Change]:
        """Every row that differs from the seed."""
        return self._store.diff()

    def commit(self, tool: str, arguments: Mapping[str, Any]) -> Effects:
        """End a call well: keep its writes and identifiers, and let time pass if it wrote."""
        effects = self._store.commit()
        if effects.writes:
            self._id_counts.update(self._staged_ids)
            self._time += CALL_STEP
            self.log.append(LogEntry(tool, {name: _copy(value) for name, value in arguments.items()}))
        self._staged_ids.clear()
        return effects

    def rollback(self) -> Effects:
        """End a call badly: nothing of it remains."""
        self._staged_ids.clear()
        return self._store.rollback()

    def user_turn(self) -> None:
        """Let the time between two user messages pass."""
        self._time += TURN_STEP
        self.log.append(LogEntry("", {}))

    def snapshot(self) -> SessionSnapshot:
        """The present moment, to come back to."""
        return SessionSnapshot(self._store.snapshot(), self._time, dict(self._id_counts), tuple(self.log))

    def restore(self, snapshot: SessionSnapshot) -> None:
        """Return to a moment of this session or of another one of the same world."""
        self._store.restore(snapshot.store)
        self._time = snapshot.time
        self._id_counts = dict(snapshot.id_counts)
        self._staged_ids.clear()
        self.log = list(snapshot.log)

    def fork(self) -> Session:
        """An independent session that starts from this one's present."""
        other = Session(self.world)
        other.restore(self.snapshot())
        return other


def _copy(value: Any) -> Any:
    """A JSON value of its own, so that a caller who changes theirs does not change the log."""
    if isinstance(value, dict):
        return {name: _copy(item) for name, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value
