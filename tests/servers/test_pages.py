"""Lists of every server: what doesn't fit on a page can be reached, page by page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from servers.kernel.catalog import load_catalog, server_names
from servers.kernel.dice import Dice
from servers.kernel.session import Session
from stages.sampling import LiveState

LISTS = [
    (name, tool.name)
    for name in server_names()
    for tool in load_catalog((name,)).servers[name].tools.values()
    if tool.read_only
]
BINDINGS = 4
MOST_PAGES = 30


@cache
def live(name: str) -> LiveState:
    catalog = load_catalog((name,))
    return LiveState(catalog, catalog.servers[name], Session(catalog.world(0)))


def result(state: LiveState, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    outcome = state.server.call(state.session.fork(), tool, arguments)
    assert outcome.ok, f"{tool}({arguments}) -> {outcome.text}"
    return dict(json.loads(outcome.text))


@pytest.mark.parametrize(("name", "tool"), LISTS)
def test_every_item_can_be_reached(name: str, tool: str) -> None:
    state = live(name)
    parameters = {parameter.name: parameter for parameter in state.server.tools[tool].parameters}
    for attempt in range(BINDINGS):
        binding = state.working_binding(state.server.tools[tool], Dice(attempt, f"pages/{tool}"))
        if binding is None:
            continue
        page = result(state, tool, binding.arguments)
        if "offset" not in parameters:
            assert "next_offset" not in page, f"{tool} says next_offset, but takes no offset"
            continue
        items = list(page["items"])
        for _ in range(MOST_PAGES - 1):
            if "next_offset" not in page:
                break
            assert page["next_offset"] == len(items)
            page = result(state, tool, {**binding.arguments, "offset": page["next_offset"]})
            items += page["items"]
        assert len(items) == page["total"] or "next_offset" in page
        if "limit" in parameters:
            most = int(parameters["limit"].schema.get("maximum", 50))
            wide = result(state, tool, {**binding.arguments, "limit": most})
            assert items[:most] == wide["items"][: len(items)]
