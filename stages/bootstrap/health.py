"""Booting a server over its real MCP transport and checking that it is the one in the catalogue."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

import httpx
import mcp_types as types
from mcp import Client, StdioServerParameters

from servers.kernel.catalog import Catalog
from servers.kernel.dice import Dice
from servers.kernel.server import ToolServer
from servers.kernel.session import Session
from stages.sampling import LiveState

START_SECONDS = 60.0


async def check_server(catalog: Catalog, server: ToolServer, seed: int, transport: Literal["stdio", "http"]) -> str:
    """What is wrong with a server, or ''.

    It is started as a process of its own, must list exactly the catalogue's tools with their schemas, and
    must answer one read as the same server does in this process.
    """
    try:
        async with asyncio.timeout(START_SECONDS), _client(server.name, transport) as client:
            return await _compare(catalog, server, seed, client)
    except TimeoutError:
        return f"{server.name} over {transport}: it did not answer within {START_SECONDS:g} s"
    except (ExceptionGroup, OSError) as error:
        return f"{server.name} over {transport}: {_cause(error)}"


def _cause(error: BaseException) -> str:
    """The first real error in a group of groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


async def _compare(catalog: Catalog, server: ToolServer, seed: int, client: Client) -> str:
    listed: dict[str, types.Tool] = {}
    cursor: str | None = None
    while True:
        page = await client.list_tools(cursor=cursor)
        listed.update({tool.name: tool for tool in page.tools})
        cursor = page.next_cursor
        if cursor is None:
            break
    if listed.keys() != server.tools.keys():
        return f"it lists other tools: {sorted(listed.keys() ^ server.tools.keys())}"
    for name, tool in server.tools.items():
        if listed[name].input_schema != tool.input_schema:
            return f"{name} has another schema over MCP"
    session = Session(catalog.world(0))
    live = LiveState(catalog, server, session)
    for name, tool in server.tools.items():
        if tool.read_only:
            binding = live.working_binding(tool, Dice(seed, f"health/{name}"))
            if binding is not None:
                answer = await client.call_tool(name, json.loads(json.dumps(binding.arguments)))
                expected = server.call(session, name, binding.arguments).text
                same = [block.text for block in answer.content if isinstance(block, types.TextContent)] == [expected]
                return "" if same else f"{name} answers differently over MCP"
    return "no read-only tool could be called"


@asynccontextmanager
async def _client(name: str, transport: Literal["stdio", "http"]) -> AsyncIterator[Client]:
    if transport == "stdio":
        command = StdioServerParameters(command=sys.executable, args=["-m", "servers", "serve", "--server", name])
        async with Client(command) as client:
            yield client
        return
    port = _free_port()
    arguments = ["serve", "--server", name, "--http", "--default-session", "--port", str(port)]
    process = subprocess.Popen([sys.executable, "-m", "servers", *arguments])
    try:
        await _until_healthy(f"http://127.0.0.1:{port}/health")
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            yield client
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait, 10)


async def _until_healthy(url: str) -> None:
    async with httpx.AsyncClient(trust_env=False) as web:
        while True:
            try:
                if (await web.get(url)).is_success:
                    return
            except httpx.TransportError:
                await asyncio.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
