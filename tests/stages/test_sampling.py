"""Live-state sampling: nothing is invented, and what is mentioned is found."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator

import pytest

from servers.kernel.catalog import Catalog, load_catalog
from servers.kernel.dice import Dice
from servers.kernel.requests import load_requests
from servers.kernel.server import ToolServer
from servers.kernel.session import Session
from stages.sampling import Binding, LiveState, PlannedCall, Thing, producers, shown_entities, strings, walk

CATALOG: Catalog = load_catalog(("banking",))
BANK: ToolServer = CATALOG.servers["banking"]
SEED = 7


def fresh() -> LiveState:
    return LiveState(CATALOG, BANK, Session(CATALOG.world(SEED)))


def bindings(live: LiveState, draws: int = 12) -> Iterator[Binding]:
    for tool in BANK.tools.values():
        for n in range(draws):
            bound = live.bind(tool, Dice(n, f"test/{tool.name}"))
            if bound is not None:
                yield bound


def shown_ids(live: LiveState, call: PlannedCall, entity: str) -> list[str]:
    outcome = BANK.call(live.session.fork(), call.name, call.arguments)
    assert outcome.ok, outcome.text
    return [seen.id for seen in walk(BANK.tools[call.name], json.loads(outcome.text), entity)]


def test_things_are_the_rows_of_the_world() -> None:
    live = fresh()
    rows = live.session.world.rows.tables
    for entity, table in (("account", "Account"), ("payee", "Payee"), ("card", "Card")):
        assert {thing.id for thing in live.things(entity)} == set(rows[f"banking.{table}"])


def test_parents_are_the_things_whose_ids_the_listing_needed() -> None:
    live = fresh()
    assert all(thing.parents == () for thing in live.things("payee"))
    for thing in live.things("transaction"):
        (parent,) = thing.parents
        assert thing.call.arguments["account_id"] == parent.id
        row = live.session.world.rows.tables["banking.Transaction"][thing.id]
        assert getattr(row, "account_id") == parent.id  # noqa: B009


def found(live: LiveState, thing: Thing, mentioned: str, known: Container[str] = ()) -> list[PlannedCall]:
    calls = live.lookup(thing, mentioned, known)
    assert calls is not None, thing
    return calls


@pytest.mark.parametrize("entity", ["account", "payee", "card", "transaction", "scheduled_payment"])
def test_a_lookup_ends_in_a_result_that_shows_the_thing(entity: str) -> None:
    live = fresh()
    for thing in live.things(entity)[::5]:
        calls = found(live, thing, thing.label)
        assert thing.id in shown_ids(live, calls[-1], entity)
        assert len(calls) == 1 + len(thing.parents)
        for call, parent in zip(calls, thing.parents, strict=False):
            assert parent.id in shown_ids(live, call, parent.entity)


def test_a_lookup_searches_for_what_was_mentioned_when_there_is_a_search() -> None:
    live = fresh()
    for thing in live.things("payee"):
        (call,) = found(live, thing, thing.label)
        assert call == PlannedCall("list_payees", {"query": thing.label})
        assert shown_ids(live, call, "payee") == [thing.id]
    account = live.things("account")[0]
    assert found(live, account, account.label) == [PlannedCall("list_accounts", {})]


def test_a_lookup_that_nothing_was_mentioned_for_is_the_plain_listing_or_none() -> None:
    live = fresh()
    first, *_, last = live.things("payee")
    assert found(live, first, "") == [PlannedCall("list_payees", {})]
    assert live.lookup(last, "") is None and live.lookup(last, "somebody else") is None


def test_a_lookup_leaves_out_parents_that_are_known() -> None:
    live = fresh()
    thing = live.things("transaction")[0]
    assert [call.name for call in found(live, thing, "")] == ["list_accounts", "list_transactions"]
    assert [call.name for call in found(live, thing, "", {thing.parents[0].id})] == ["list_transactions"]


def test_every_argument_has_a_source() -> None:
    live = fresh()
    requests = load_requests(BANK)
    secrets = {known.value for known in BANK.knows(live.session)}
    real = {thing.id for kind in ("account", "payee", "card", "transaction", "scheduled_payment")
            for thing in live.things(kind)}  # fmt: skip
    seen = 0
    for bound in bindings(live):
        for parameter in BANK.tools[bound.tool].parameters:
            if parameter.name not in bound.arguments:
                continue
            value = bound.arguments[parameter.name]
            seen += 1
            if parameter.entity is not None:
                assert value in real
            elif parameter.sensitive:
                assert value in secrets
            else:
                values = requests[bound.tool].values.get(parameter.name, parameter.schema.get("enum", []))
                assert value in values, f"{bound.tool}.{parameter.name}={value!r} was invented"
    assert seen > 300


def test_a_pin_belongs_to_the_account_that_pays() -> None:
    live = fresh()
    pins = {(known.about, known.value) for known in BANK.knows(live.session)}
    for n in range(20):
        bound = live.bind(BANK.tools["send_payment"], Dice(n, "pins"))
        assert bound is not None
        assert (bound.arguments["source_account_id"], bound.arguments["pin"]) in pins


def test_two_parameters_of_one_kind_take_different_things() -> None:
    live = fresh()
    for n in range(20):
        bound = live.bind(BANK.tools["transfer_between_accounts"], Dice(n, "pairs"))
        assert bound is not None
        assert bound.arguments["source_account_id"] != bound.arguments["target_account_id"]


def test_a_given_thing_is_taken() -> None:
    live = fresh()
    card = live.things("card")[2]
    bound = live.bind(BANK.tools["freeze_card"], Dice(0, "given"), {"card_id": card})
    assert bound is not None and bound.arguments == {"card_id": card.id} and bound.things == {"card_id": (card,)}


def test_a_working_binding_works_and_leaves_no_trace() -> None:
    live = fresh()
    before = live.session.state_hash
    for tool in BANK.tools.values():
        bound = live.working_binding(tool, Dice(1, f"works/{tool.name}"))
        assert bound is not None, tool.name
        assert BANK.call(live.session.fork(), tool.name, bound.arguments).ok
    assert live.session.state_hash == before


def test_the_live_state_is_that_of_its_moment() -> None:
    session = Session(CATALOG.world(SEED))
    live = LiveState(CATALOG, BANK, session)
    bound = live.working_binding(BANK.tools["remove_payee"], Dice(0, "remove"))
    assert bound is not None and CATALOG.call(session, bound.tool, bound.arguments).ok
    gone = bound.arguments["payee_id"]
    assert gone in {thing.id for thing in live.things("payee")}
    assert gone not in {thing.id for thing in LiveState(CATALOG, BANK, session).things("payee")}


def test_bindings_are_the_same_in_every_run() -> None:
    assert list(bindings(fresh(), 3)) == list(bindings(fresh(), 3))


def test_producers_begin_with_those_that_need_no_identifier() -> None:
    assert producers(BANK, "account")[0].name == "list_accounts"
    assert [tool.name for tool in producers(BANK, "payee")] == ["list_payees"]
    assert shown_entities(BANK.tools["send_payment"]) == {"transaction", "account"}


def test_strings_finds_all_of_them() -> None:
    assert list(strings({"a": ["x", 1, {"b": "y"}], "c": None, "d": "z"})) == ["x", "y", "z"]


def test_a_thing_is_sighted_where_the_call_is_about() -> None:
    catalog = load_catalog(("vehicle",))
    server = catalog.servers["vehicle"]
    live = LiveState(catalog, server, Session(catalog.world(0)))
    seen = 0
    for attempt in range(20):
        binding = live.bind(server.tools["start_navigation"], Dice(attempt, "near"))
        assert binding is not None
        bound = {thing.id for group in binding.things.values() for thing in group}
        for thing in (thing for group in binding.things.values() for thing in group if thing.parents):
            seen += 1
            assert {parent.id for parent in thing.parents} <= bound
    assert seen


def test_a_long_list_is_read_to_its_end() -> None:
    catalog = load_catalog(("issue_tracker",))
    server = catalog.servers["issue_tracker"]
    live = LiveState(catalog, server, Session(catalog.world(0)))
    assert len(live.things("issue")) > 50
