"""What must not matter to a server: how its things are called, and in which order independent calls come."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest

from servers.kernel.catalog import load_catalog, server_names
from servers.kernel.dice import Dice
from servers.kernel.server import Outcome
from servers.kernel.session import Session, World
from servers.kernel.store import Effects, Record, Seed
from servers.kernel.tool import Tool
from stages.records import ExecutedCall, ToolSpec, TruthCall
from stages.reward.combine import score
from stages.rollout import visible_spec
from stages.sampling import LiveState

SERVERS = server_names()
OPAQUE = re.compile(r"[A-Z]{2,6}-\d{5}")
IN_TEXT = re.compile(r"\b[A-Z]{2,6}-\d{5}\b")
DEAL = ("MLST", "MDEA")
"""A deal of the marketplace is numbered like its listing, so it is renamed with it."""

DRAWS = 3
"""Calls of each tool that are tried."""

Renaming = Mapping[str, str]


def live(name: str) -> LiveState:
    catalog = load_catalog((name,))
    return LiveState(catalog, catalog.servers[name], Session(catalog.world(0)))


def renaming(world: World) -> Renaming:
    """Other identifiers for all rows: each kind's are dealt out anew among its own rows."""
    kinds: dict[str, dict[str, None]] = {}
    for table in world.rows.tables.values():
        for key in table:
            if OPAQUE.fullmatch(key):
                kinds.setdefault(key.partition("-")[0], {})[key] = None
    dealt = {kind: Dice(1, f"rename/{kind}").sample(list(keys), len(keys)) for kind, keys in kinds.items()}
    names = {old: new for kind, keys in kinds.items() for old, new in zip(keys, dealt[kind], strict=True)}
    deals = {old.replace(*DEAL): new.replace(*DEAL) for old, new in names.items() if old.startswith(DEAL[0])}
    return names | deals


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value with every leaf changed."""
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: mapped(getattr(value, f.name), change) for f in fields(value)})
    if isinstance(value, dict):
        return {mapped(key, change): mapped(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple | frozenset):
        return type(value)(mapped(item, change) for item in value)
    return change(value)


def rename(value: Any, names: Renaming) -> Any:
    """The value with every identifier in it called by its new name, those inside texts too."""
    return mapped(
        value, lambda leaf: IN_TEXT.sub(lambda m: names.get(m[0], m[0]), leaf) if isinstance(leaf, str) else leaf
    )


def rows_of(session: Session) -> list[Record]:
    """All rows as they stand."""
    rows = {(name, key): row for name, table in session.world.rows.tables.items() for key, row in table.items()}
    for change in session.diff():
        rows.pop((change.table, change.id), None)
        if change.after is not None:
            rows[change.table, change.id] = change.after
    return list(rows.values())


def bag(value: Any) -> Any:
    """A result in which the order of lists does not count: ties are broken by identifiers."""
    if isinstance(value, dict):
        return {key: bag(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted((bag(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
    return value


def plays(state: LiveState, session: Session) -> Iterator[tuple[Tool, Mapping[str, Any], Outcome]]:
    """Some calls of each tool, bound to what was there at the start, on one session."""
    for draw in range(DRAWS):
        for tool in state.server.tools.values():
            binding = state.bind(tool, Dice(draw, f"metamorphic/{tool.name}"))
            if binding is not None:
                yield tool, binding.arguments, state.server.call(session, tool.name, binding.arguments)


@pytest.mark.parametrize("name", SERVERS)
def test_renamed_things_behave_alike(name: str) -> None:
    """Identifiers are opaque: with others in their place every call does the same, and earns the same."""
    state = live(name)
    names = renaming(state.session.world)
    world = state.session.world
    rows: list[Record] = [rename(row, names) for table in world.rows.tables.values() for row in table.values()]
    renamed = Session(World(0, Seed(rows), world.id_counts))
    session = state.session.fork()
    here: list[ExecutedCall] = []
    there: list[ExecutedCall] = []
    for tool, given, outcome in plays(state, session):
        other = state.server.call(renamed, tool.name, rename(given, names))
        assert (other.ok, other.error_code) == (outcome.ok, outcome.error_code), (tool.name, given, outcome, other)
        if outcome.ok and "next_offset" not in outcome.text:
            assert bag(json.loads(other.text)) == bag(rename(json.loads(outcome.text), names)), (tool.name, given)
        for calls, arguments, made in ((here, given, outcome), (there, rename(given, names), other)):
            calls.append(ExecutedCall(tool.name, arguments, len(calls), True, made.ok, made.text, made.error_code))
    assert sum(call.ok for call in here) > len(here) / 3
    assert Counter(map(repr, rows_of(renamed))) == Counter(repr(rename(row, names)) for row in rows_of(session))
    specs = [visible_spec(tool) for tool in state.server.tools.values()]
    assert _rewards(specs, here) == _rewards(specs, there)


def _rewards(specs: list[ToolSpec], calls: list[ExecutedCall]) -> list[float]:
    """The rewards of five calls at a time, every second of which is the ground truth."""
    groups = [calls[n : n + 5] for n in range(0, len(calls), 5)]
    return [score(specs, [TruthCall(c.name, c.arguments or {}) for c in group[::2]], group).total for group in groups]


def independent(first: Effects, second: Effects) -> bool:
    """Whether neither call reads or writes what the other writes, whole tables included."""

    def touched(effects: Effects) -> set[str]:
        return {table for table, _ in effects.reads | effects.writes}

    writes = {table for table, _ in first.writes}, {table for table, _ in second.writes}
    return not (writes[0] & touched(second) or writes[1] & touched(first))


@pytest.mark.parametrize("name", SERVERS)
def test_independent_calls_may_come_in_any_order(name: str) -> None:
    """The same results and rows, but for the moments at which they were written."""
    state = live(name)
    bound = [
        binding
        for tool in state.server.tools.values()
        if (binding := state.working_binding(tool, Dice(5, f"order/{tool.name}"))) is not None
    ]
    swapped = 0
    for first, second in (*pairwise(bound), *zip(bound, reversed(bound), strict=True)):
        ends = []
        for order in ((first, second), (second, first)):
            session = state.session.fork()
            outcomes = {b.tool: state.server.call(session, b.tool, b.arguments) for b in order}
            ends.append((session, outcomes))
        (one, made), (two, again) = ends
        if first.tool == second.tool or not independent(made[first.tool].effects, made[second.tool].effects):
            continue
        swapped += 1
        assert {tool: outcome.ok for tool, outcome in made.items()} == {t: o.ok for t, o in again.items()}
        assert _timeless(one) == _timeless(two), (first, second)
        if not any(outcome.effects.writes for outcome in made.values()):
            assert {t: o.text for t, o in made.items()} == {t: o.text for t, o in again.items()}
    assert swapped >= 3


def _timeless(session: Session) -> list[str]:
    def forget(value: Any) -> Any:
        return None if isinstance(value, datetime) else value

    return [f"{change.table} {mapped(change.after, forget)}" for change in session.diff()]
