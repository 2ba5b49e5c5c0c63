"""What one call changed: the rows that differ between two moments of a session, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import NamedTuple

from servers.kernel.store import Change, Record


class RowChange(NamedTuple):
    """A row of a table at two moments; None is a row that is not there."""

    table: str
    id: str
    before: Record | None
    after: Record | None


def between(earlier: Sequence[Change], later: Sequence[Change]) -> list[RowChange]:
    """The rows that differ, given each moment's differences to the seed."""
    old = {(change.table, change.id): change for change in earlier}
    new = {(change.table, change.id): change for change in later}
    found = []
    for key in sorted({**old, **new}):
        seed = old[key].before if key in old else new[key].before
        was = old[key].after if key in old else seed
        now = new[key].after if key in new else seed
        if was != now:
            found.append(RowChange(*key, was, now))
    return found


def lines(change: RowChange) -> Iterator[str]:
    """The change as a person reads it: a sign for the row, then its fields, changed ones only if it was there."""
    before, after = _values(change.before), _values(change.after)
    sign = "+" if change.before is None else "-" if change.after is None else "~"
    yield f"{sign} {change.table} {change.id}"
    if change.after is None:
        return
    for name, value in after.items():
        if change.before is None:
            yield f"    {name}: {value}"
        elif before.get(name) != value:
            yield f"    {name}: {before.get(name)} → {value}"


def _values(record: Record | None) -> dict[str, str]:
    return {} if record is None else {field.name: _told(getattr(record, field.name)) for field in fields(record)}


def _told(value: object) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else repr(value)
