"""Copy-on-write tables: one immutable seed shared by every session, one small delta per session.

A session's delta holds only rows that differ from the seed, so opening, forking and snapshotting
cost what changed. Writes are staged in a transaction and folded in at its end, together with the
state hash; a transaction that fails leaves no trace. Every row read or written is recorded, which
is how effects are observed rather than declared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from operator import attrgetter
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar, cast

from servers.kernel.errors import KernelFault, ToolError

RowRef: TypeAlias = tuple[str, str]
"""A table's name and a row's id; the id `*` stands for the table as a whole."""

_MODULUS = 1 << 128


@dataclass(frozen=True, slots=True)
class Record:
    """Base of all rows: frozen dataclasses made of frozen values, keyed by their `id`."""

    id: str
    table: ClassVar[str] = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super(Record, cls).__init_subclass__(**kwargs)
        cls.table = f"{cls.__module__.split('.')[-2]}.{cls.__name__}"


R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class Change:
    """One changed row: `before` is None for a new row, `after` is None for a removed one."""

    table: str
    id: str
    before: Record | None
    after: Record | None


@dataclass(frozen=True, slots=True)
class Effects:
    """Which rows one call read and wrote."""

    reads: frozenset[RowRef]
    writes: frozenset[RowRef]


def row_digest(table: str, key: str, row: Record) -> int:
    """128-bit digest of one row; rows hold only values whose `repr` is canonical."""
    return int.from_bytes(blake2b(f"{table}\0{key}\0{row!r}".encode(), digest_size=16).digest())


@dataclass(frozen=True, slots=True)
class Group:
    """Some seed rows of one table in seed order, and what a read of all of them is recorded as."""

    rows: tuple[Record, ...] = ()
    reads: frozenset[RowRef] = frozenset()


class Seed:
    """The immutable rows that every session starts from.

    The digest of the whole is the sum of its rows' digests modulo 2^128, so that a session can
    maintain its own by adding and subtracting what it changed, in any order.
    """

    def __init__(self, rows: Iterable[Record]) -> None:
        tables: dict[str, dict[str, Record]] = {}
        digest = 0
        for row in rows:
            table = tables.setdefault(row.table, {})
            if row.id in table:
                raise ValueError(f"two seed rows of {row.table} have the id {row.id!r}")
            table[row.id] = row
            digest += row_digest(row.table, row.id, row)
        self.tables: Mapping[str, Mapping[str, Record]] = tables
        self.digest = digest % _MODULUS
        self._rank: dict[str, dict[str, int]] = {}
        self._whole: dict[str, Group] = {}
        self._index: dict[tuple[str, str], dict[Any, Group]] = {}

    def rank(self, table: str) -> Mapping[str, int]:
        """Position of each seed row in its table."""
        if table not in self._rank:
            self._rank[table] = {key: n for n, key in enumerate(self.tables.get(table, {}))}
        return self._rank[table]

    def whole(self, table: str) -> Group:
        """All seed rows of a table."""
        if table not in self._whole:
            self._whole[table] = _group(table, self.tables.get(table, {}).values())
        return self._whole[table]

    def index(self, table: str, column: str) -> Mapping[Any, Group]:
        """The seed rows of a table by the value of one column."""
        if (table, column) not in self._index:
            found: dict[Any, list[Record]] = {}
            for row in self.tables.get(table, {}).values():
                found.setdefault(getattr(row, column), []).append(row)
            self._index[table, column] = {value: _group(table, rows) for value, rows in found.items()}
        return self._index[table, column]


def _group(table: str, rows: Iterable[Record]) -> Group:
    rows = tuple(rows)
    return Group(rows, frozenset((table, row.id) for row in rows))


@dataclass(frozen=True, slots=True)
class StoreSnapshot:
    """A frozen copy of one store's delta, cheap to take and to return to."""

    delta: Mapping[str, Mapping[str, Record | None]]
    digest: int


class Store:
    """One session's view of the tables."""

    __slots__ = ("_delta", "_reads", "_seed", "_staged", "digest")

    def __init__(self, seed: Seed) -> None:
        self._seed = seed
        self._delta: dict[str, dict[str, Record | None]] = {}
        self._staged: dict[RowRef, Record | None] = {}
        self._reads: set[RowRef] = set()
        self.digest = seed.digest

    def snapshot(self) -> StoreSnapshot:
        """The present delta; costs what changed since the seed."""
        return StoreSnapshot({name: dict(rows) for name, rows in self._delta.items()}, self.digest)

    def restore(self, snapshot: StoreSnapshot) -> None:
        """Go back (or over) to a snapshot taken from a store of the same seed."""
        self.rollback()
        self._delta = {name: dict(rows) for name, rows in snapshot.delta.items()}
        self.digest = snapshot.digest

    def diff(self) -> list[Change]:
        """Every row that differs from the seed, by table and id."""
        changes = []
        for table in sorted(self._delta):
            base = self._seed.tables.get(table, {})
            for key in sorted(self._delta[table]):
                before, after = base.get(key), self._delta[table][key]
                if before != after:
                    changes.append(Change(table, key, before, after))
        return changes

    def read(self, table: str, key: str) -> Record | None:
        """One row as the running transaction sees it."""
        self._reads.add((table, key))
        return self._peek(table, key)

    def scan(self, table: str, where: Mapping[str, Any]) -> list[Record]:
        """Rows whose columns equal `where`: seed rows in seed order, then new rows as added."""
        self._reads.add((table, "*"))
        column = next(iter(where), None)
        group = self._seed.whole(table)
        if column is not None:
            group = self._seed.index(table, column).get(where[column], Group())
        changed = dict(self._delta.get(table, ()))
        changed.update((key, row) for (name, key), row in self._staged.items() if name == table)
        if not changed and len(where) < 2:
            self._reads |= group.reads
            return list(group.rows)
        rows = self._merged(table, group, changed)
        if where:
            values, wanted = attrgetter(*where), tuple(where.values())
            fits = wanted if len(wanted) > 1 else wanted[0]
            rows = [row for row in rows if values(row) == fits]
        self._reads.update((table, row.id) for row in rows)
        return rows

    def write(self, table: str, key: str, row: Record | None) -> None:
        """Stage a new version of a row, or its removal."""
        self._staged[table, key] = row

    def commit(self) -> Effects:
        """Fold the staged rows into the delta and the digest; return what was read and written."""
        written = []
        for (table, key), row in self._staged.items():
            rows = self._delta.setdefault(table, {})
            before = rows[key] if key in rows else self._seed.tables.get(table, {}).get(key)
            if before == row:
                continue
            if before is not None:
                self.digest -= row_digest(table, key, before)
            if row is not None:
                self.digest += row_digest(table, key, row)
            rows[key] = row
            written.append((table, key))
        self.digest %= _MODULUS
        effects = Effects(frozenset(self._reads), frozenset(written))
        self._staged.clear()
        self._reads.clear()
        return effects

    def rollback(self) -> Effects:
        """Forget what is staged; return what was read."""
        effects = Effects(frozenset(self._reads), frozenset())
        self._staged.clear()
        self._reads.clear()
        return effects

    def _peek(self, table: str, key: str) -> Record | None:
        if (table, key) in self._staged:
            return self._staged[table, key]
        rows = self._delta.get(table)
        if rows is not None and key in rows:
            return rows[key]
        return self._seed.tables.get(table, {}).get(key)

    def _merged(self, table: str, group: Group, changed: Mapping[str, Record | None]) -> list[Record]:
        """A group as this session has it, with all changed and new rows of the table, which may fit or not."""
        base = self._seed.tables.get(table, {})
        old = list(group.rows)
        others = [base[key] for key in changed if key in base and (table, key) not in group.reads]
        if others:
            rank = self._seed.rank(table)
            old = sorted([*old, *others], key=lambda row: rank[row.id])
        present = [changed.get(row.id, row) for row in old]
        new = [row for key, row in changed.items() if key not in base]
        return [row for row in (*present, *new) if row is not None]


class Table(Generic[R]):
    """Typed access to the rows of one record class within a session."""

    __slots__ = ("_kind", "_name", "_store")

    def __init__(self, store: Store, kind: type[R]) -> None:
        self._store = store
        self._kind = kind
        self._name = kind.table

    def get(self, key: str) -> R | None:
        """The row with this id, or None."""
        row = self._store.read(self._name, key)
        return row if isinstance(row, self._kind) else None

    def require(self, key: str, hint: str) -> R:
        """The row with this id.

        Raises:
            ToolError: `not_found`, with `hint` saying where valid ids come from.
        """
        row = self.get(key)
        if row is None:
            label = self._kind.__name__.lower()
            raise ToolError(KernelFault.NOT_FOUND, f"There is no {label} {shown(key)}. {hint}")
        return row

    def all(self) -> list[R]:
        """Every row: seed rows in seed order, then new ones in order of creation."""
        return self.where()

    def where(self, **columns: Any) -> list[R]:
        """Rows whose columns equal the given values, in the order of `all`."""
        return cast("list[R]", self._store.scan(self._name, columns))

    def add(self, row: R) -> R:
        """Insert a new row; its id must be free."""
        if self.get(row.id) is not None:
            raise ValueError(f"{self._name} already has a row {row.id!r}")
        self._store.write(self._name, row.id, row)
        return row

    def put(self, row: R) -> R:
        """Insert a row or replace the one with the same id."""
        self._store.write(self._name, row.id, row)
        return row

    def remove(self, key: str) -> None:
        """Delete a row; deleting what isn't there changes nothing."""
        self._store.write(self._name, key, None)


def shown(text: str) -> str:
    """A value as an error message may quote it: printable, at most 80 characters."""
    return ascii(text if len(text) <= 80 else text[:77] + "...")
