"""What a client may send in a call: names that are code, texts that look like JSON, numbers that JSON hasn't."""

from __future__ import annotations

import json
from typing import Any

import pytest

import servers.__main__ as command
from servers.kernel.errors import HarnessError
from servers.kernel.mcp import SESSION_KEY
from servers.kernel.router import McpRouter
from tests.servers.gateway.notes import Note
from tests.servers.gateway.running import ADA, Running, gateway

NAMES = ("__import__('os').system", "add_item);import os", "add_note\n", "add_note\0", "ADD_NOTE", "", "x" * 1_000_000)
TEXTS = ("123", "007", "1e999", "true", "null", "[1]", '{"a": 1}', '"quoted"', "NaN", "-0", " 1 ", "1_000")


async def say(running: Running, handle: str, name: Any, arguments: str) -> str:
    """The gateway's answer to a call whose message is written by hand."""
    params = {"name": name, "arguments": "HERE", "_meta": {SESSION_KEY: handle}}
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    types = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    async with running.web(ADA) as web:
        answer = await web.post("/mcp", content=message.replace('"HERE"', arguments), headers=types)
    assert answer.status_code < 500
    return answer.text


async def test_a_name_that_no_tool_has_runs_nothing() -> None:
    async with gateway() as running, McpRouter(running.url, token=ADA) as router:
        handle = await router.open()
        before = await router.state_hash(handle)
        for name in (*NAMES, None, 7, ["add_note"]):
            told = await say(running, handle, name, '{"text": "x"}')
            assert '"error"' in told and len(told) < 1000, name
        assert await router.state_hash(handle) == before and not running.pool.session(handle, "ada").log
        assert '"result"' in await say(running, handle, "add_note", '{"text": "x"}')


async def test_a_text_that_looks_like_json_is_stored_as_it_was_sent() -> None:
    async with gateway() as running, McpRouter(running.url, token=ADA) as router:
        handle = await router.open()
        for text in TEXTS:
            assert json.loads((await router.call(handle, "add_note", {"text": text})).text)["text"] == text
        changes = running.pool.session(handle, "ada").diff()
        assert sorted(change.after.text for change in changes if isinstance(change.after, Note)) == sorted(TEXTS)


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "1e999", "123", "true", "null", "[1]", '{"a": 1}', '"\\ud800"'])
async def test_what_is_no_text_is_none(value: str) -> None:
    async with gateway() as running, McpRouter(running.url, token=ADA) as router:
        handle = await router.open()
        told = await say(running, handle, "add_note", f'{{"text": {value}}}')
        assert '"error"' in told or '"isError":true' in told
        assert not running.pool.session(handle, "ada").log


def test_without_a_word_about_hosts_only_loopback_is_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    bound: list[str] = []

    def listen(host: str, port: int) -> None:
        bound.append(host)
        raise HarnessError("seen")

    monkeypatch.setattr(command, "listen", listen)
    with pytest.raises(HarnessError, match="seen"):
        command.app(["serve", "--http", "--server", "banking"], standalone_mode=False)
    assert bound == ["127.0.0.1"]
