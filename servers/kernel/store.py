"""Copy-on-write tables: one immutable seed shared by every session, one small delta per session.

A session's delta holds only rows that differ from the seed, so opening, forking and snapshotting
cost what changed. A transaction remembers what it overwrites: its end brings the state hash up to
date, its failure puts everything back and leaves no trace. Every row read or written is recorded,
which is how effects are observed rather than declared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from hashlib import blake2b
from itertools import count
from operator import attrgetter
from typing import Any, ClassVar, Final, Generic, TypeAlias, TypeVar, cast

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
    """Which rows one call read and wrote.

    Args:
        singly: rows read one by one, and tables read as a whole.
        writes: the rows written.
        together: groups of rows read at once; the seed's own, so that keeping them costs nothing.
    """

    singly: frozenset[RowRef]
    writes: frozenset[RowRef]
    together: tuple[frozenset[RowRef], ...] = ()

    @property
    def reads(self) -> frozenset[RowRef]:
        """All that was read."""
        return self.singly.union(*self.together)


def row_digest(table: str, key: str, row: Record) -> int:
    """128-bit digest of one row; rows hold only values whose `repr` is canonical."""
    return int.from_bytes(blake2b(f"{table}\0{key}\0{row!r}".encode(), digest_size=16).digest())


@dataclass(frozen=True, slots=True)
class Group:
    """Some seed rows of one table in seed order, and what a read of all of them is recorded as."""

    rows: tuple[Record, ...] = ()
    reads: frozenset[RowRef] = frozenset()


_NO_GROUP: Final = Group()
_NO_ROWS: Final[Mapping[str, Any]] = {}


class Seed:
    """The immutable rows that every session starts from.

    The digest of the whole is the sum of its rows' digests modulo 2^128, so that a session can
    maintain its own by adding and subtracting what it changed, in any order.
    """

    def __init__(self, rows: Iterable[Record]) -> None:
        tables: dict[str, dict[str, Record]] = {}
        digests: dict[str, dict[str, int]] = {}
        for row in rows:
            table = tables.setdefault(row.table, {})
            if row.id in table:
                raise ValueError(f"two seed rows of {row.table} have the id {row.id!r}")
            table[row.id] = row
            digests.setdefault(row.table, {})[row.id] = row_digest(row.table, row.id, row)
        self.tables: Mapping[str, Mapping[str, Record]] = tables
        self.digests: Mapping[str, Mapping[str, int]] = digests
        self.digest = sum(digest for table in digests.values() for digest in table.values()) % _MODULUS
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
        group = self._whole.get(table)
        if group is None:
            group = self._whole[table] = _group(table, self.tables.get(table, {}).values())
        return group

    def index(self, table: str, column: str) -> Mapping[Any, Group]:
        """The seed rows of a table by the value of one column."""
        index = self._index.get((table, column))
        if index is None:
            found: dict[Any, list[Record]] = {}
            for row in self.tables.get(table, {}).values():
                found.setdefault(getattr(row, column), []).append(row)
            index = self._index[table, column] = {value: _group(table, rows) for value, rows in found.items()}
        return index


def _group(table: str, rows: Iterable[Record]) -> Group:
    rows = tuple(rows)
    return Group(rows, frozenset((table, row.id) for row in rows))


class Delta:
    """The rows of one table that a session has changed, in the order of their first change; None is a removed row.

    An index of each column that was asked for lists a changed row under the value that it has and under the one that
    its seed row has, since a look-up of either value must consider it.
    """

    __slots__ = ("_base", "_counter", "_index", "_places", "rows")

    def __init__(self, base: Mapping[str, Record], rows: Mapping[str, Record | None]) -> None:
        self.rows = dict(rows)
        self._base = base
        self._counter = count()
        self._places = dict(zip(self.rows, self._counter, strict=False))
        self._index: dict[str, dict[Any, set[str]]] = {}

    def change(self, key: str, row: Record | None) -> None:
        """Change a row once more, or for the first time."""
        self._unlist(key)
        if key not in self.rows:
            self._places[key] = next(self._counter)
        self.rows[key] = row
        for column, index in self._index.items():
            self._list(key, column, index)

    def forget(self, key: str) -> None:
        """Take the only change of a row back."""
        self._unlist(key)
        del self.rows[key], self._places[key]

    def about(self, column: str, value: Any) -> Mapping[str, Record | None]:
        """The changed rows whose column has this value now or had it in the seed, in the order of `rows`."""
        if column not in self._index:
            index: dict[Any, set[str]] = {}
            for key in self.rows:
                self._list(key, column, index)
            self._index[column] = index
        keys = self._index[column].get(value)
        return {key: self.rows[key] for key in sorted(keys, key=self._places.__getitem__)} if keys else _NO_ROWS

    def _list(self, key: str, column: str, index: dict[Any, set[str]]) -> None:
        for row in (self._base.get(key), self.rows[key]):
            if row is not None:
                index.setdefault(getattr(row, column), set()).add(key)

    def _unlist(self, key: str) -> None:
        for column, index in self._index.items():
            for row in (self._base.get(key), self.rows.get(key)):
                value = getattr(row, column, None)
                if row is not None and value in index:
                    index[value].discard(key)
                    if not index[value]:
                        del index[value]


@dataclass(frozen=True, slots=True)
class StoreSnapshot:
    """A frozen copy of one store's delta, cheap to take and to return to."""

    delta: Mapping[str, Mapping[str, Record | None]]
    digest: int


class _Past(Enum):
    """What a transaction remembers of a row that the session had not changed before."""

    SEED = "seed"


class Store:
    """One session's view of the tables."""

    __slots__ = ("_delta", "_groups", "_past", "_reads", "_seed", "digest")

    def __init__(self, seed: Seed) -> None:
        self._seed = seed
        self._delta: dict[str, Delta] = {}
        self._past: dict[RowRef, Record | _Past | None] = {}
        self._reads: set[RowRef] = set()
        self._groups: list[frozenset[RowRef]] = []
        self.digest = seed.digest

    def snapshot(self) -> StoreSnapshot:
        """The present delta, without what a running transaction wrote; costs what changed since the seed."""
        delta = {name: dict(table.rows) for name, table in self._delta.items()}
        for (name, key), past in self._past.items():
            if past is _Past.SEED:
                del delta[name][key]
            else:
                delta[name][key] = past
        return StoreSnapshot(delta, self.digest)

    def restore(self, snapshot: StoreSnapshot) -> None:
        """Go back (or over) to a snapshot taken from a store of the same seed."""
        self.rollback()
        self._delta = {name: Delta(self._base(name), rows) for name, rows in snapshot.delta.items()}
        self.digest = snapshot.digest

    def diff(self) -> list[Change]:
        """Every row that differs from the seed, by table and id."""
        changes = []
        for table, rows in sorted(self.snapshot().delta.items()):
            base = self._base(table)
            for key in sorted(rows):
                before, after = base.get(key), rows[key]
                if before != after:
                    changes.append(Change(table, key, before, after))
        return changes

    def read(self, table: str, key: str) -> Record | None:
        """One row as the running transaction sees it."""
        self._reads.add((table, key))
        delta = self._delta.get(table)
        if delta is not None and key in delta.rows:
            return delta.rows[key]
        return self._seed.tables.get(table, _NO_ROWS).get(key)

    def scan(self, table: str, where: Mapping[str, Any]) -> list[Record]:
        """Rows whose columns equal `where`: seed rows in seed order, then new rows as added."""
        self._reads.add((table, "*"))
        delta = self._delta.get(table)
        column = next(iter(where), None)
        if column is None:
            group = self._seed.whole(table)
            changed = _NO_ROWS if delta is None else delta.rows
        else:
            group = self._seed.index(table, column).get(where[column], _NO_GROUP)
            changed = _NO_ROWS if delta is None else delta.about(column, where[column])
        if not changed and len(where) < 2:
            self._groups.append(group.reads)
            return list(group.rows)
        rows = self._merged(table, group, changed)
        if where:
            values, wanted = attrgetter(*where), tuple(where.values())
            fits = wanted if len(wanted) > 1 else wanted[0]
            rows = [row for row in rows if values(row) == fits]
        self._reads.update([(table, row.id) for row in rows])
        return rows

    def write(self, table: str, key: str, row: Record | None) -> None:
        """Put a new version of a row, or remove it, for as long as the transaction does not fail."""
        delta = self._delta.get(table)
        if delta is None:
            delta = self._delta[table] = Delta(self._base(table), _NO_ROWS)
        self._past.setdefault((table, key), delta.rows.get(key, _Past.SEED))
        delta.change(key, row)

    def commit(self) -> Effects:
        """Keep what was written and bring the digest up to date; return what was read and written."""
        written, same = [], []
        digest = self.digest
        for (table, key), past in self._past.items():
            before = self._base(table).get(key) if past is _Past.SEED else past
            after = self._delta[table].rows[key]
            if before == after:
                same.append((table, key, past))
                continue
            if before is not None:
                digest -= self._seed.digests[table][key] if past is _Past.SEED else row_digest(table, key, before)
            if after is not None:
                digest += row_digest(table, key, after)
            written.append((table, key))
        self.digest = digest % _MODULUS
        for table, key, past in same:
            self._undo(table, key, past)
        return self._end(frozenset(written))

    def rollback(self) -> Effects:
        """Put back what was there before; return what was read."""
        for (table, key), past in self._past.items():
            self._undo(table, key, past)
        return self._end(frozenset())

    def _end(self, written: frozenset[RowRef]) -> Effects:
        effects = Effects(frozenset(self._reads), written, tuple(self._groups))
        self._past.clear()
        self._reads.clear()
        self._groups.clear()
        return effects

    def _undo(self, table: str, key: str, past: Record | _Past | None) -> None:
        if past is _Past.SEED:
            self._delta[table].forget(key)
        else:
            self._delta[table].change(key, past)

    def _base(self, table: str) -> Mapping[str, Record]:
        return self._seed.tables.get(table, _NO_ROWS)

    def _merged(self, table: str, group: Group, changed: Mapping[str, Record | None]) -> list[Record]:
        """A group as this session has it, with all the changed and new rows given, which may fit or not."""
        base = self._base(table)
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
