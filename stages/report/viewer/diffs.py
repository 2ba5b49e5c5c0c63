"""What each call did to the state, found by running the recorded calls again on a fresh session.

A session knows which rows differ from the seed; the difference of two such lists is what one call changed.
Calls that failed left no trace and are not run. If a call answers otherwise than it did, or the end is another
state, the servers at hand are others than those of the record, and no diff is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from pydantic_core import to_jsonable_python

from servers.kernel.catalog import Catalog
from servers.kernel.errors import HarnessError
from servers.kernel.session import Session
from servers.kernel.store import Change, Record, RowRef
from servers.kernel.types import Money
from stages.dataset import RlRow
from stages.records import EpisodeRecord, ExecutedCall, TruthCall
from stages.rollout import replayed_session

RowChange: TypeAlias = dict[str, Any]
"""`table`, `id`, `kind` (added, removed or changed) and `fields`, each a name with the value before and after."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """The changes of each call, and where the end differs from the one that the ground truth leads to."""

    calls: tuple[list[RowChange], ...]
    end: list[RowChange]


class CannotReplayError(Exception):
    """The record does not run on these servers; the message says where it stopped."""


def replay_episode(catalog: Catalog, row: RlRow, record: EpisodeRecord) -> Replayed:
    """The state diffs of an episode, and its end beside the expected one.

    Raises:
        CannotReplayError: the servers answer otherwise than recorded.
    """
    try:
        session = replayed_session(catalog, row.world, row.replay)
    except HarnessError as error:
        raise CannotReplayError(str(error)) from error
    expected = session.fork()
    changed = tuple(run(catalog, session, call) for call in record.calls)
    check_state(session, record.state_hash)
    run_truth(catalog, expected, row.truth)
    return Replayed(changed, differences(expected.diff(), session.diff()))


def run(catalog: Catalog, session: Session, call: ExecutedCall) -> list[RowChange]:
    """Run a recorded call and return what it changed.

    Raises:
        CannotReplayError: there is no such tool, or it answers otherwise than recorded.
    """
    if not (call.executed and call.ok):
        return []
    before = session.diff()
    if call.name not in catalog.entries:
        raise CannotReplayError(f"there is no tool {call.name}")
    outcome = catalog.call(session, call.name, call.arguments or {})
    if outcome.text != call.result:
        raise CannotReplayError(f"{call.name} answers otherwise than it did")
    return differences(before, session.diff()) if outcome.effects.writes else []


def check_state(session: Session, state_hash: str) -> None:
    """Make sure that a session stands where the record does.

    Raises:
        CannotReplayError: it does not.
    """
    if session.state_hash != state_hash:
        raise CannotReplayError("it ends in another state")


def run_truth(catalog: Catalog, session: Session, truth: Sequence[TruthCall]) -> None:
    """Bring a session to the state that the ground truth leads to.

    Raises:
        CannotReplayError: a call of the ground truth fails here.
    """
    for call in truth:
        if call.name not in catalog.entries or not catalog.call(session, call.name, call.arguments).ok:
            raise CannotReplayError(f"the ground truth's {call.name} fails")


def differences(left: Sequence[Change], right: Sequence[Change]) -> list[RowChange]:
    """The rows in which two states of one world differ, by table and id; each state as its changes to the seed."""
    a, b = _by_row(left), _by_row(right)
    made = []
    for ref in sorted(a.keys() | b.keys()):
        before = a[ref].after if ref in a else b[ref].before
        after = b[ref].after if ref in b else a[ref].before
        if before != after:
            made.append(_row_change(ref, before, after))
    return made


def _by_row(changes: Sequence[Change]) -> Mapping[RowRef, Change]:
    return {(change.table, change.id): change for change in changes}


def _row_change(ref: RowRef, before: Record | None, after: Record | None) -> RowChange:
    kind = "added" if before is None else "removed" if after is None else "changed"
    whole = after if after is not None else before
    names = [field.name for field in fields(whole)] if whole is not None else []
    pairs = [[name, _told(before, name), _told(after, name)] for name in names if name != "id"]
    shown = [pair for pair in pairs if kind != "changed" or pair[1] != pair[2]]
    return {"table": ref[0], "id": ref[1], "kind": kind, "fields": shown}


def _told(row: Record | None, name: str) -> Any:
    """A column as plain data; None where there is no row."""
    return None if row is None else _plain(getattr(row, name))


def _plain(value: Any) -> Any:
    if isinstance(value, Money):
        return str(value)
    if isinstance(value, tuple | list | frozenset | set):
        items = [_plain(item) for item in value]
        return sorted(items, key=str) if isinstance(value, frozenset | set) else items
    return to_jsonable_python(value, fallback=str)
