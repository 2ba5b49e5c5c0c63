"""Edges found by running tools, each with the calls and rows that prove it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from servers.kernel.catalog import Catalog, load_catalog
from servers.kernel.errors import ToolError
from servers.kernel.requests import ToolRequests
from servers.kernel.server import ToolServer
from servers.kernel.session import EPOCH, Session
from servers.kernel.store import Effects
from stages import sampling
from stages.discover.edges import Edge, Trust, edge_rows
from stages.discover.execution import Executor, read_after_write
from tests.stages.discover.house import REQUESTS, Door, DoorId, Fault, Said, house


def run(server: ToolServer, monkeypatch: pytest.MonkeyPatch, requests: Mapping[str, ToolRequests]) -> Executor:
    monkeypatch.setattr(sampling, "load_requests", lambda _: requests)
    return Executor(Catalog([server]), server, world=0, bindings=4)


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], Edge]:
    edges = list(run(house(), monkeypatch, REQUESTS).edges())
    assert len({edge.pair for edge in edges}) == len(edges)
    return {edge.pair: edge for edge in edges}


def test_a_tool_that_enables_another_is_an_implicit_edge(home: dict[tuple[str, str], Edge]) -> None:
    edge = home["open_door", "enter_room"]
    assert (edge.label, edge.executed, edge.trace, edge.error_code) == ("implicit", True, True, "door_closed")
    assert [pair for pair, e in home.items() if e.label == "implicit" and e.executed] == [("open_door", "enter_room")]


@pytest.mark.parametrize(
    "pair",
    [
        ("paint_door", "enter_room"),  # writes what the second reads, and doesn't help
        ("open_door", "look_around"),  # the second works anyway
        ("open_door", "paint_door"),
    ],
)
def test_a_trace_alone_is_not_executed(home: dict[tuple[str, str], Edge], pair: tuple[str, str]) -> None:
    assert home[pair].trace and not home[pair].executed


def test_an_output_that_the_second_needs_is_an_explicit_edge(home: dict[tuple[str, str], Edge]) -> None:
    listed, made = home["list_rooms", "look_around"], home["cut_key", "try_key"]
    assert (listed.label, listed.parameter, listed.executed) == ("explicit", "room_id", True)
    assert (made.label, made.parameter, made.executed, made.error_code) == ("explicit", "key_id", True, "not_found")


def test_an_identifier_that_a_tool_was_given_is_not_its_output(home: dict[tuple[str, str], Edge]) -> None:
    edge = home["describe_room", "look_around"]
    assert edge.schema and not edge.executed


def test_every_executed_edge_of_the_bank_has_a_witness() -> None:
    catalog = load_catalog(("banking",))
    server = catalog.servers["banking"]
    edges = list(Executor(catalog, server, 7, 6).edges())
    executed = {(e.first, e.second): e for e in edges if e.executed}
    assert executed["list_payees", "send_payment"].parameter == "payee_id"
    assert executed["schedule_payment", "cancel_scheduled_payment"].label == "explicit"
    assert executed["cancel_scheduled_payment", "remove_payee"].error_code == "payee_in_use"
    assert executed["unfreeze_card", "set_card_limit"].label == "implicit"
    assert ("list_payees", "freeze_card") not in executed and ("list_accounts", "list_cards") not in executed
    for edge in edges:
        assert edge.schema or edge.trace
        assert bool(edge.error_code) == edge.executed
        assert (edge.label == "explicit") == bool(edge.parameter)
    assert edges == list(Executor(catalog, server, 7, 6).edges())


def test_trying_pairs_changes_no_shared_state() -> None:
    catalog = load_catalog(("banking",))
    before = Session(catalog.world(7)).state_hash
    list(Executor(catalog, catalog.servers["banking"], 7, 2).edges())
    assert Session(catalog.world(7)).state_hash == before


def test_the_evidence_names_the_calls_the_rows_and_the_error(home: dict[tuple[str, str], Edge]) -> None:
    door = 'open_door {"door_id":"DOR-23451"}'
    assert home["open_door", "enter_room"].evidence.endswith(f"{door} writes discover.Door DOR-23451, then it works")
    assert "fails with door_closed" in home["open_door", "enter_room"].evidence
    made = home["cut_key", "try_key"].evidence
    assert made.startswith('cut_key {"door_id":"DOR-23451"} shows key_id KEY-') and "fails with not_found" in made


def test_what_speaks_against_an_edge_is_said_of_every_other_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = run(house(), monkeypatch, REQUESTS)
    edges = {edge.pair: edge for edge in executor.edges()}
    assert len(executor.evidence) == 9 * 8 and all(executor.evidence.values())
    assert all(edge.evidence == executor.evidence[pair] for pair, edge in edges.items())
    assert "door_closed, and none of" in executor.evidence["paint_door", "enter_room"]
    assert "no run of look_around fails without open_door" in executor.evidence["open_door", "look_around"]
    assert "shows a room that it was not given" in executor.evidence["describe_room", "look_around"]
    assert "writes to a table that list_rooms reads" in executor.evidence["open_door", "list_rooms"]
    assert "try_key requires no kind of identifier" in executor.evidence["list_rooms", "try_key"]


def test_time_alone_enables_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Painting lets time pass and writes a row that the bell reads, but the bell only waits for the time."""
    server = house()

    @server.tool()
    def ring_bell(session: Session, door_id: DoorId) -> Said:
        """Ring the bell.

        Args:
            door_id: the door.

        Raises:
            door_closed: it is too early.
        """
        session.table(Door).require(door_id, "list_doors shows them.")
        if session.now == EPOCH:
            raise ToolError(Fault.DOOR_CLOSED, "Nobody is up yet.")
        return Said("ding")

    requests = {**REQUESTS, "ring_bell": ToolRequests(ask=["Ring at {door_id.name}."] * 4)}
    edges = {edge.pair: edge for edge in run(server, monkeypatch, requests).edges()}
    assert edges["paint_door", "ring_bell"].trace and not edges["paint_door", "ring_bell"].executed
    assert not edges["open_door", "ring_bell"].executed and edges["open_door", "enter_room"].executed


def test_the_second_has_to_read_a_row_that_the_first_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a store that hides one reading, nothing shows why the room can be entered."""
    server = house()
    enter = server.tools["enter_room"]
    honest = server.call

    def forgetful(session: Session, name: str, arguments: Mapping[str, object]) -> object:
        outcome = honest(session, name, arguments)
        kept = frozenset(row for row in outcome.effects.reads if row[0] != Door.table or row[1] == "*")
        return replace(outcome, effects=Effects(kept, outcome.effects.writes)) if name == enter.name else outcome

    monkeypatch.setattr(server, "call", forgetful)
    edges = {edge.pair: edge for edge in run(server, monkeypatch, REQUESTS).edges()}
    assert edges["open_door", "enter_room"].trace and not edges["open_door", "enter_room"].executed


def test_a_row_counts_whether_it_was_read_before_or_after_the_write() -> None:
    def effects(reads: str, writes: str = "") -> Effects:
        return Effects(frozenset(("t", key) for key in reads), frozenset(("t", key) for key in writes))

    assert read_after_write(effects("", "dcb"), effects("b"), effects("cx")) == [("t", "b"), ("t", "c")]
    assert read_after_write(effects("a", "b"), effects("*a"), effects("*a")) == []


@pytest.mark.parametrize(
    ("executed", "teacher", "expected"),
    [
        (True, "", ("explicit", None, None)),
        (True, "implicit", ("explicit", "implicit", None)),
        (True, "explicit", ("explicit", "explicit", "explicit")),
        (False, "explicit", (None, "explicit", None)),
        (False, "implicit", (None, "implicit", None)),
        (False, "", (None, None, None)),
    ],
)
def test_a_verdict_follows_the_evidence_that_counts(
    executed: bool, teacher: str, expected: tuple[str | None, ...]
) -> None:
    kinds: tuple[Trust, ...] = ("executed", "teacher", "both")
    edge = Edge("s", "a", "b", "explicit", executed=executed, teacher=teacher)  # type: ignore[arg-type]
    assert tuple(edge.verdict(kind) for kind in kinds) == expected
    rows = [edge_rows([edge], kind, "p1")[0] for kind in kinds]
    assert [row["verdict"] for row in rows] == [label or "none" for label in expected]
    assert {row["prompt"] for row in rows} == {"p1"}
