"""Texts that look like JSON values are texts: what a tool stores holds them as they were sent, on every server."""

from __future__ import annotations

import json

import pytest

from servers.kernel.catalog import load_catalog, server_names
from servers.kernel.dice import Dice
from servers.kernel.session import Session
from stages.sampling import LiveState
from tests.fuzz.hostile import is_free
from tests.test_hostile_text import TEXTLESS

PLAIN = "a plain text"
TEXTS = ("123", "007", "1e999", "true", "null", "[1]")


@pytest.mark.parametrize("name", server_names())
def test_what_is_stored_is_what_was_sent(name: str) -> None:
    catalog = load_catalog((name,))
    state, stored = LiveState(catalog, catalog.servers[name], Session(catalog.world(0))), set()
    for tool in state.server.tools.values():
        binding = None if tool.read_only else state.working_binding(tool, Dice(2, tool.name))
        for parameter in filter(is_free, tool.parameters if binding else ()):
            kept = False  # some tools keep no more of a text than that it was given
            for text in (PLAIN, *TEXTS):
                session = state.session.fork()
                given = {**binding.arguments, parameter.name: text} if binding else {}
                if state.server.call(session, tool.name, json.loads(json.dumps(given))).ok:
                    rows = " ".join(repr(change.after) for change in session.diff())
                    kept = text in rows if text == PLAIN else kept
                    assert not kept or text in rows, (tool.name, parameter.name, text)
                    stored |= {text} if kept else set()
    assert stored == (set() if name in TEXTLESS else {PLAIN, *TEXTS})
