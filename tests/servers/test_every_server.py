"""What holds for every server: run one with `pytest tests/servers -k banking`."""

from __future__ import annotations

import json
import re
from datetime import datetime
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from servers.kernel.catalog import load_catalog, server_names
from servers.kernel.dice import Dice
from servers.kernel.errors import KernelFault
from servers.kernel.requests import load_requests
from servers.kernel.session import Session, World
from servers.kernel.store import Seed
from servers.kernel.tool import Tool
from stages.sampling import LiveState, producers, shown_entities
from tests.servers.strategies import broken_arguments, valid_arguments
from tests.servers.test_metamorphic import mapped

SERVERS = server_names()
TOOLS = [(name, tool) for name in SERVERS for tool in load_catalog((name,)).servers[name].tools]
IDEMPOTENT = [
    (name, tool.name)
    for name in SERVERS
    for tool in load_catalog((name,)).servers[name].tools.values()
    if tool.idempotent and not tool.read_only
]
SEEDS = (0, 1)
MANY = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)

each_server = pytest.mark.parametrize("name", SERVERS)
each_tool = pytest.mark.parametrize(("name", "tool"), TOOLS)


@cache
def live(name: str, seed: int = 0) -> LiveState:
    catalog = load_catalog((name,))
    return LiveState(catalog, catalog.servers[name], Session(catalog.world(seed)))


@cache
def ids(name: str) -> dict[str, tuple[str, ...]]:
    state = live(name)
    kinds = {entity for tool in state.server.tools.values() for entity in entities(tool)}
    return {kind: tuple(thing.id for thing in state.things(kind)) for kind in kinds}


def entities(tool: Tool) -> set[str]:
    return {p.entity for p in tool.parameters if p.entity} | shown_entities(tool)


@each_tool
def test_succeeds_from_live_state(name: str, tool: str) -> None:
    for seed in SEEDS:
        state = live(name, seed)
        binding = state.working_binding(state.server.tools[tool], Dice(seed, tool), tries=60)
        assert binding is not None, f"no sampled arguments make {tool} succeed with seed {seed}"


@pytest.mark.parametrize(("name", "tool"), IDEMPOTENT)
def test_an_idempotent_call_changes_nothing_more(name: str, tool: str) -> None:
    for seed in SEEDS:
        state = live(name, seed)
        binding = state.working_binding(state.server.tools[tool], Dice(seed, f"again/{tool}"), tries=60)
        assert binding is not None, f"no sampled arguments make {tool} succeed with seed {seed}"
        session = state.session.fork()
        assert state.server.call(session, tool, binding.arguments).ok
        before = session.state_hash
        again = state.server.call(session, tool, binding.arguments)
        assert again.ok, (binding.arguments, again.text)
        assert session.state_hash == before, binding.arguments


@each_tool
def test_every_phrasing_can_be_filled(name: str, tool: str) -> None:
    state = live(name)
    entry = load_requests(state.server)[tool]
    assert len(set(entry.ask)) >= 4
    for ask in entry.ask:
        worked = False
        for attempt in range(40):
            binding = state.bind(state.server.tools[tool], Dice(attempt, ask), ask=ask)
            assert binding is not None, ask
            for parameter, field in re.findall(r"\{(\w+)(?:\.(\w+))?\}", ask):
                if field:
                    missing = [t.shown for t in binding.things.get(parameter, ()) if t.shown.get(field) is None]
                    assert not missing, f"{tool}: {parameter} has no field {field} in {missing[:1]}"
            if state.server.call(state.session.fork(), tool, binding.arguments).ok:
                worked = True
                break
        assert worked, f"{tool}: no arguments for {ask!r} succeed"


@each_tool
def test_schema_valid_arguments_never_break_the_server(name: str, tool: str) -> None:
    state = live(name)

    @MANY
    @given(st.data())
    def check(data: st.DataObject) -> None:
        session = state.session.fork()
        arguments = data.draw(valid_arguments(state.server.tools[tool], ids(name)))
        _call_and_check(state, session, tool, arguments)

    check()


@each_tool
def test_broken_arguments_never_break_the_server(name: str, tool: str) -> None:
    state = live(name)

    @MANY
    @given(st.data())
    def check(data: st.DataObject) -> None:
        session = state.session.fork()
        arguments = data.draw(broken_arguments(state.server.tools[tool], ids(name)))
        _call_and_check(state, session, tool, arguments)

    check()


def _call_and_check(state: LiveState, session: Session, tool: str, arguments: dict[str, object]) -> None:
    before, clock = session.state_hash, session.now
    outcome = state.server.call(session, tool, arguments)
    result = json.loads(outcome.text)
    assert outcome.error_code != KernelFault.INTERNAL, (tool, arguments, outcome.text)
    if state.server.tools[tool].read_only:
        assert not outcome.effects.writes
    if outcome.ok:
        assert isinstance(result, dict)
        replayed = state.catalog.replay(session)
        assert (replayed.state_hash, replayed.now) == (session.state_hash, session.now)
    else:
        assert (session.state_hash, session.now) == (before, clock)
        assert set(result["error"]) == {"code", "message"} and len(result["error"]["message"]) < 600
        assert outcome.error_code in {*state.server.faults, *KernelFault}


@each_server
def test_seed_is_a_world(name: str) -> None:
    server = load_catalog((name,)).servers[name]
    worlds = [server.build_seed(seed) for seed in SEEDS]
    assert [repr(row) for row in server.build_seed(0).rows] == [repr(row) for row in worlds[0].rows]
    assert worlds[0].rows != worlds[1].rows, "another seed number must give another world"
    for world in worlds:
        kinds = {type(row).__name__ for row in world.rows}
        assert len(world.rows) >= 150 and len(kinds) >= 3, (len(world.rows), kinds)
        visible = [(type(row).__name__, re.sub(r"\bid='[^']*', ", "", repr(row), count=1)) for row in world.rows]
        assert len(visible) == len(set(visible)), "two seed rows are alike in every field but the id"


@each_server
def test_lists_have_an_order_of_their_own(name: str) -> None:
    """What a tool lists does not depend on the order in which rows happen to be stored."""
    catalog = load_catalog((name,))
    world = catalog.world(0)
    rows = [row for table in world.rows.tables.values() for row in table.values()]
    mirrored = Session(World(0, Seed(reversed(rows)), world.id_counts))
    state = live(name)
    assert mirrored.state_hash == state.session.state_hash
    for tool in state.server.tools.values():
        for attempt in range(4 if tool.read_only else 0):
            binding = state.working_binding(tool, Dice(attempt, f"order/{tool.name}"))
            if binding is not None:
                straight = state.server.call(state.session, tool.name, binding.arguments).text
                assert state.server.call(mirrored, tool.name, binding.arguments).text == straight, tool.name


@each_server
def test_things_of_one_moment_have_an_order_too(name: str) -> None:
    """With all times of a month made one, lists still don't depend on how rows are stored."""
    world, state = load_catalog((name,)).world(0), live(name)
    rows = [mapped(row, _still) for table in world.rows.tables.values() for row in table.values()]
    straight, mirrored = (Session(World(0, Seed(some), world.id_counts)) for some in (rows, list(reversed(rows))))
    compared = 0
    for tool in state.server.tools.values():
        for attempt in range(4 if tool.read_only else 0):
            binding = state.working_binding(tool, Dice(attempt, f"order/{tool.name}"))
            if binding is not None:
                texts = [state.server.call(s, tool.name, binding.arguments).text for s in (straight, mirrored)]
                assert texts[0] == texts[1], (tool.name, binding.arguments)
                compared += 1
    assert compared >= 8


def _still(value: Any) -> Any:
    return value.replace(day=1, hour=12, minute=0, second=0) if isinstance(value, datetime) else value


@each_server
def test_pages_say_their_order(name: str) -> None:
    paged = [tool for tool in live(name).server.tools.values() if "offset" in tool.input_schema["properties"]]
    assert paged
    for tool in paged:
        assert re.search(r"first|[Oo]rder(ed)? |[Ss]orted|newest|oldest|alphabet|by time", tool.description), tool.name


@each_server
def test_entities_have_producers_and_consumers(name: str) -> None:
    server = load_catalog((name,)).servers[name]
    consumed = {p.entity for tool in server.tools.values() for p in tool.parameters if p.entity}
    shown = {entity for tool in server.tools.values() for entity in shown_entities(tool)}
    assert consumed == shown, f"only consumed: {consumed - shown}; only produced: {shown - consumed}"
    for entity in consumed:
        assert producers(server, entity), f"no read-only tool shows {entity}"


@each_server
def test_documentation_of_errors(name: str) -> None:
    server = load_catalog((name,)).servers[name]
    documented = {code for tool in server.tools.values() for code in tool.error_codes}
    assert documented <= {*server.faults, *KernelFault}
    assert set(server.faults) <= documented, f"no tool documents {set(server.faults) - documented}"
    assert len(server.faults) >= 8
    assert len(server.policy) > 200


def test_tool_names_are_unique_over_all_servers() -> None:
    assert len(load_catalog(()).entries) == len(TOOLS)
