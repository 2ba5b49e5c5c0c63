"""State diffs: each call has its own changes and no other's."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from servers.kernel.session import Session
from stages.records import ExecutedCall, Json
from stages.report.viewer.diffs import CannotReplayError, RowChange, differences, run
from tests.stages.report.made import CATALOG, first_card


def recorded(session: Session, name: str, arguments: Mapping[str, Json]) -> ExecutedCall:
    """A call as an episode would have it on record."""
    outcome = CATALOG.call(session.fork(), name, arguments)
    return ExecutedCall(name, arguments, 0, True, outcome.ok, outcome.text, str(outcome.error_code))


def changes(session: Session, name: str, arguments: Mapping[str, Json]) -> list[RowChange]:
    return run(CATALOG, session, recorded(session, name, arguments))


@pytest.fixture
def session() -> Session:
    return Session(CATALOG.world(7))


def test_each_call_has_its_own_changes(session: Session) -> None:
    (frozen,) = changes(session, "freeze_card", {"card_id": first_card()})
    assert (frozen["kind"], frozen["id"]) == ("changed", first_card())
    payee = {"name": "Ada Lovelace", "iban_number": "GB111234567890123456"}
    (added,) = changes(session, "add_payee", payee)
    assert added["kind"] == "added" and ["name", None, "Ada Lovelace"] in added["fields"]
    (removed,) = changes(session, "remove_payee", {"payee_id": added["id"]})
    assert (removed["kind"], removed["id"]) == ("removed", added["id"])
    assert ["name", "Ada Lovelace", None] in removed["fields"]
    assert changes(session, "list_cards", {}) == []


def test_ends_are_compared_both_ways(session: Session) -> None:
    other = session.fork()
    changes(session, "freeze_card", {"card_id": first_card()})
    (one,) = differences(session.diff(), other.diff())
    (back,) = differences(other.diff(), session.diff())
    assert ["status", "frozen", "active"] in one["fields"] and ["status", "active", "frozen"] in back["fields"]
    assert differences(session.diff(), session.diff()) == []


def test_what_changes_are_told_is_plain_data(session: Session) -> None:
    told = changes(session, "freeze_card", {"card_id": first_card()})
    assert json.loads(json.dumps(told)) == told


def test_a_tool_that_is_gone_is_named(session: Session) -> None:
    with pytest.raises(CannotReplayError, match="there is no tool melt_card"):
        run(CATALOG, session, ExecutedCall("melt_card", {}, 0, True, True, "{}"))
