"""A few thousand random calls over all servers, and the checks themselves on calls that break a promise."""

from __future__ import annotations

from typing import Any

import pytest

from servers.kernel.catalog import load_catalog, server_names
from servers.kernel.server import Outcome
from servers.kernel.session import Session
from servers.kernel.store import Effects
from stages.sampling import LiveState
from tests.fuzz.tool_walk import call_problems, session_problems, walk_server

NOTHING = Effects(frozenset(), frozenset())
WROTE = Effects(frozenset(), frozenset({("banking.Payee", "PAY-1")}))


@pytest.mark.parametrize("name", server_names())
def test_random_calls_break_no_promise(name: str) -> None:
    for number in range(2):
        tally = walk_server(name, number, seed=20)
        assert not tally.findings, "\n".join(map(str, tally.findings))
        assert tally.calls == 50 and 0.2 < tally.ok / tally.calls < 0.9


def test_a_walk_is_the_same_each_time() -> None:
    first, again = walk_server("banking", 3, 1), walk_server("banking", 3, 1)
    assert (first.ok, first.codes) == (again.ok, again.codes)
    assert walk_server("banking", 4, 1).codes != first.codes


@pytest.fixture
def bank() -> LiveState:
    catalog = load_catalog(("banking",))
    return LiveState(catalog, catalog.servers["banking"], Session(catalog.world(0)))


@pytest.mark.parametrize(
    ("outcome", "more", "told"),
    [
        (Outcome(True, '{"items":[],"total":0}', "", NOTHING), {}, []),
        (Outcome(True, '{"items":[],"total":0}', "", NOTHING), {"took": 1.5}, ["took 1.50 s"]),
        (Outcome(True, '{"items":[],"total":0}', "", WROTE), {}, ["a read-only tool wrote"]),
        (Outcome(True, '{"items":[],"total":0}', "", NOTHING), {"moved": True}, ["a read-only tool wrote"]),
        (Outcome(True, '{"items":[],"total":NaN}', "", NOTHING), {}, ["is no JSON: NaN"]),
        (Outcome(True, '{"items":[],"total":0,"pin":"1"}', "", NOTHING), {}, ["does not fit the output schema"]),
        (Outcome(True, '{"items":[]}', "", NOTHING), {}, ["does not fit the output schema"]),
        (Outcome.failure("internal_error", "x", NOTHING), {}, ["failed inside"]),
        (Outcome.failure("not_found", "x", NOTHING), {"moved": True}, ["a read-only", "a failed call changed"]),
        (Outcome.failure("no_such_code", "x", NOTHING), {}, ["none of the server's"]),
        (Outcome.failure("card_expired", "x", NOTHING), {}, ["does not document"]),
        (Outcome.failure("not_found", "x" * 600, NOTHING), {}, ["has 600 characters"]),
        (Outcome(False, '{"error":"x"}', "not_found", NOTHING), {}, ["not of the form"]),
    ],
)
def test_each_broken_promise_is_found(bank: LiveState, outcome: Outcome, more: dict[str, Any], told: list[str]) -> None:
    tool = bank.server.tools["list_payees"]
    found = list(call_problems(bank, tool, outcome, **{"moved": False, "took": 0.0, **more}))
    assert len(found) == len(told) and all(part in what for part, what in zip(told, found, strict=True)), found


def test_a_session_that_does_not_replay_is_found(bank: LiveState) -> None:
    session = bank.session.fork()
    given = {"name": "Kite School", "iban_number": "DE871234567812345678"}
    assert bank.server.call(session, "add_payee", given).ok
    assert not list(session_problems(bank, session))
    session.log.clear()
    assert list(session_problems(bank, session)) == ["the log replays to another state"]
