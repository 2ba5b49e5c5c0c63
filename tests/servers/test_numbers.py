"""Numbers in arguments: one value however JSON spells it, and nothing else is one, for every tool there is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from servers.kernel.catalog import load_catalog, server_names
from servers.kernel.dice import Dice
from servers.kernel.errors import KernelFault
from servers.kernel.server import Outcome
from servers.kernel.session import Session
from servers.kernel.tool import Parameter, Tool
from stages.sampling import LiveState
from tests.servers.play import Play

HUGE = 10**30


def live(name: str) -> LiveState:
    catalog = load_catalog((name,))
    return LiveState(catalog, catalog.servers[name], Session(catalog.world(0)))


def numeric(state: LiveState) -> Iterator[tuple[Tool, Parameter, dict[str, Any]]]:
    """Every parameter that takes a number, with arguments for its tool in which it has one."""
    for tool in state.server.tools.values():
        binding = state.working_binding(tool, Dice(1, tool.name))
        for parameter in tool.parameters:
            if parameter.schema.get("type") in ("integer", "number"):
                arguments = dict(binding.arguments) if binding else {}
                fallback = parameter.schema.get("default", parameter.schema.get("minimum", 1))
                arguments.setdefault(parameter.name, fallback)
                yield tool, parameter, arguments


def run(state: LiveState, tool: Tool, arguments: dict[str, Any]) -> tuple[Outcome, Session]:
    session = state.session.fork()
    return state.server.call(session, tool.name, arguments), session


def spellings(value: float) -> list[Any]:
    """25 as 25, 25.0 and 2.5E+1, read as JSON."""
    return [json.loads(text) for text in (repr(value), repr(float(value)), f"{Decimal(repr(value)):E}")]


@pytest.mark.parametrize("name", server_names())
def test_a_number_is_the_same_however_it_is_spelled_and_its_text_is_none(name: str) -> None:
    state, tried = live(name), 0
    for tool, parameter, arguments in numeric(state):
        seen = set()
        for value in spellings(arguments[parameter.name]):
            outcome, session = run(state, tool, {**arguments, parameter.name: value})
            seen.add((outcome.ok, outcome.text, session.state_hash, session.now))
        assert len(seen) == 1, (tool.name, parameter.name, seen)
        value = arguments[parameter.name]
        for bad in (str(value), True, HUGE, float("nan"), float("inf"), None, [value]):
            outcome, session = run(state, tool, {**arguments, parameter.name: bad})
            assert outcome.error_code == KernelFault.INVALID_ARGUMENTS, (tool.name, parameter.name, bad, outcome.text)
            assert parameter.name in outcome.text and session.state_hash == state.session.state_hash
        tried += 1
    assert tried > 3


def test_an_amount_of_25_leaves_one_state_and_one_identifier() -> None:
    made = set()
    for amount in (25, 25.0, json.loads("2.5e1")):
        play = Play("banking")
        source, target = (row["id"] for row in play.ok("list_accounts")["items"][:2])
        arguments = {"source_account_id": source, "target_account_id": target, "amount": amount}
        made.add((json.dumps(play.ok("transfer_between_accounts", **arguments)), play.session.state_hash))
        play.fails("invalid_arguments", "transfer_between_accounts", **{**arguments, "amount": "25"})
    assert len(made) == 1
