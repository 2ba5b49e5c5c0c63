"""The MCP face answers as the in-process handlers do, on every transport and in both protocol eras."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager

import httpx
import pytest
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from servers.gateway.app import build_http_app
from servers.kernel.catalog import Catalog, load_catalog
from servers.kernel.dice import Dice
from servers.kernel.errors import UnknownToolError
from servers.kernel.mcp import SESSION_KEY, build_mcp_server
from servers.kernel.pool import SessionPool
from servers.kernel.router import LocalRouter, McpRouter, Router
from stages.sampling import LiveState

STDIO = StdioServerParameters(command=sys.executable, args=["-m", "servers", "serve"])


def calls(catalog: Catalog) -> list[tuple[str, dict[str, object]]]:
    """One good and one bad call of every tool."""
    pool = SessionPool(catalog)
    session = pool.session(pool.open())
    out: list[tuple[str, dict[str, object]]] = []
    for server in catalog.servers.values():
        state = LiveState(catalog, server, session)
        for name, tool in server.tools.items():
            binding = state.working_binding(tool, Dice(3, name))
            out.append((name, dict(binding.arguments) if binding else {}))
            out.append((name, {"no_such_argument": "é\u2028\x00", **(binding.arguments if binding else {})}))
    return out


@asynccontextmanager
async def http_server(pool: SessionPool, **options: bool) -> AsyncIterator[str]:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    config = uvicorn.Config(build_http_app(pool, **options), host="127.0.0.1", port=port, log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        await asyncio.to_thread(thread.join, 10)


@pytest.fixture(scope="module")
def catalog() -> Iterator[Catalog]:
    yield load_catalog()


@pytest.mark.timeout(480)
async def test_three_ways_give_the_same_bytes(catalog: Catalog) -> None:
    pool = SessionPool(catalog)
    local = LocalRouter(pool)
    handle = await local.open()
    expected = [await local.call(handle, name, arguments) for name, arguments in calls(catalog)]

    async with Client(STDIO) as client:
        over_stdio = [await client.call_tool(name, dict(arguments)) for name, arguments in calls(catalog)]
    assert [r.content[0].text for r in over_stdio] == [a.text for a in expected]
    assert [r.is_error for r in over_stdio] == [not a.ok for a in expected]

    async with http_server(SessionPool(catalog)) as url, McpRouter(url) as remote:
        other = await remote.open()
        over_http = [await remote.call(other, name, arguments) for name, arguments in calls(catalog)]
        assert over_http == expected
        assert await remote.state_hash(other) == await local.state_hash(handle)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.timeout(300)
async def test_an_ordinary_client_needs_no_handle(catalog: Catalog, mode: str) -> None:
    async with Client(STDIO, mode=mode) as client:
        assert len(await every_tool(client)) == len(catalog.entries)
        assert not (await client.call_tool("list_accounts", {})).is_error
    async with (
        http_server(SessionPool(catalog), default_session=True) as url,
        Client(f"{url}/mcp", mode=mode) as client,
    ):
        assert len(await every_tool(client)) == len(catalog.entries)
        assert not (await client.call_tool("list_accounts", {})).is_error


async def every_tool(client: Client) -> list[str]:
    names, cursor = [], None
    while True:
        page = await client.list_tools(cursor=cursor)
        assert len(page.tools) <= 50
        names += [tool.name for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            assert len(names) == len(set(names))
            return names


async def test_handles_separate_sessions_and_unknown_ones_are_refused(catalog: Catalog) -> None:
    pool = SessionPool(catalog)
    first, second = pool.open(), pool.open()
    arguments = {"name": "Kite School", "iban_number": "DE871234567812345678"}
    async with Client(build_mcp_server(pool)) as client:
        await client.call_tool("add_payee", arguments, meta={SESSION_KEY: first})
        again = await client.call_tool("add_payee", arguments, meta={SESSION_KEY: second})
        assert not again.is_error
        assert (await client.call_tool("add_payee", arguments, meta={SESSION_KEY: first})).is_error
        for meta in ({}, {SESSION_KEY: "0" * 32}, {SESSION_KEY: "../x"}, {SESSION_KEY: 7}):
            with pytest.raises(MCPError):
                await client.call_tool("list_accounts", {}, meta=meta)
        assert "handle" not in json.dumps([tool.input_schema for tool in (await client.list_tools()).tools])


async def test_cursors_are_checked(catalog: Catalog) -> None:
    async with Client(build_mcp_server(SessionPool(catalog))) as client:
        good = (await client.list_tools()).next_cursor
        assert good is not None and (await client.list_tools(cursor=good)).tools
        for cursor in ("", "x", "MTox", "ZZZZZZ==", f"{good[:4]}!{good[4:]}", good.rstrip("="), good + "A" * 5000):
            with pytest.raises(MCPError):
                await client.list_tools(cursor=cursor)


HOSTILE_NAMES = (
    "__import__('os').system",
    "add_payee);import os",
    "list_accounts\n",
    "list_accounts\0",
    "x" * 1_000_000,
    "",
)


async def test_unknown_tools_are_refused_by_exact_lookup(catalog: Catalog) -> None:
    pool = SessionPool(catalog)
    async with http_server(pool) as url, McpRouter(url) as remote:
        routers: tuple[Router, ...] = (LocalRouter(pool), remote)
        for router in routers:
            handle = await router.open()
            for name in HOSTILE_NAMES:
                with pytest.raises(UnknownToolError) as caught:
                    await router.call(handle, name, {})
                assert len(str(caught.value)) < 200


async def test_an_unknown_handle_is_no_mistake_of_the_model(catalog: Catalog) -> None:
    pool = SessionPool(catalog)
    async with http_server(pool) as url, McpRouter(url) as remote:
        routers: tuple[Router, ...] = (LocalRouter(pool), remote)
        for router in routers:
            answer = await router.call("0" * 32, "list_accounts", {})
            assert answer.infrastructure and not answer.ok


async def test_a_foreign_origin_or_host_is_refused(catalog: Catalog) -> None:
    async with http_server(SessionPool(catalog)) as url, httpx.AsyncClient(trust_env=False) as web:
        for path in ("/mcp", "/sessions"):
            body = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
            evil = await web.post(url + path, headers={**body, "Origin": "http://evil.example"}, content="{}")
            assert evil.status_code == 403
            assert (await web.post(url + path, headers={**body, "Host": "evil.example"})).is_client_error
        port = url.rsplit(":", 1)[1]
        good = {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"}
        assert (await web.post(f"{url}/sessions", headers=good)).status_code == 201


async def test_a_vanished_server_is_an_infrastructure_failure(catalog: Catalog) -> None:
    async with AsyncExitStack() as stack:
        server = http_server(SessionPool(catalog))
        remote = await stack.enter_async_context(McpRouter(await server.__aenter__(), deadline=3.0))
        handle = await remote.open()
        assert (await remote.call(handle, "list_accounts", {})).ok
        await remote.close(handle)
        closed = await remote.call(handle, "list_accounts", {})
        assert closed.infrastructure and not closed.ok
        await server.__aexit__(None, None, None)
        gone = await remote.call(handle, "list_accounts", {})
        assert gone.infrastructure and not gone.ok
