"""The MCP face beside a bare low-level server of the SDK: same tool, bytes and client, each transport and era."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Literal, TypeAlias

import httpx
from mcp import Client, StdioServerParameters

from servers.kernel.catalog import load_catalog
from servers.kernel.mcp import SESSION_KEY, build_mcp_server
from servers.kernel.pool import SessionPool
from tests.bench.speed.bank import SEED, read
from tests.bench.speed.echo import build_echo
from tests.bench.speed.figures import Figure, Growth, at_least, at_most
from tests.bench.speed.machine import ROOT
from tests.bench.speed.timing import Scale, growth, in_turn_async, rate, times_faster

Transport: TypeAlias = Literal["memory", "stdio", "http"]
Era: TypeAlias = Literal["auto", "legacy"]

CALLS = {"memory": 200, "stdio": 100, "http": 100}
"""Calls in one repetition."""

_OURS = ("-m", "servers", "serve", "--server", "banking")
_ECHO = ("-m", "tests.bench.speed.echo")
_NAMES = {"memory": "in memory", "stdio": "stdio", "http": "streamable HTTP"}
_ERAS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
_PATIENCE = 60.0


def measure(scale: Scale) -> list[Figure]:
    """The figures of the family."""
    return asyncio.run(_measure(scale))


async def _measure(scale: Scale) -> list[Figure]:
    figures = []
    for transport in ("memory", "stdio", "http"):
        for era in ("auto", "legacy"):
            async with _pair(transport, era) as (ours, echo):
                count = CALLS[transport]
                loads = {"ours": (_calls(ours, count), count), "echo": (_calls(echo, count), count)}
                clock = time.process_time if transport == "memory" else time.perf_counter
                found = await in_turn_async(loads, scale.repeats, clock)
                grown = await _growth(ours, scale) if (transport, era) == ("memory", "auto") else None
            value, spread = rate(found["ours"])
            target = at_least(0.8, "ratio")
            figures.append(
                Figure(
                    name=f"mcp {transport} {era}",
                    family="mcp",
                    title=f"get_account over MCP, {_NAMES[transport]}, protocol {_ERAS[era]}",
                    value=value,
                    unit="calls/s",
                    spread=spread,
                    reference=f"bare SDK server, same bytes: {rate(found['echo'])[0]:,.0f} calls/s",
                    ratio=times_faster(found["ours"], found["echo"]),
                    targets=(target, at_most(1.1, "exponent")) if grown else (target,),
                    growth=grown,
                )
            )
    return figures


async def _growth(ours: Caller, scale: Scale) -> Growth:
    sizes = {factor: 20 * factor for factor in scale.factors}
    loads = {str(count): (_calls(ours, count), 1) for count in sizes.values()}
    found = await in_turn_async(loads, min(5, scale.repeats), time.process_time)
    return growth("calls", {count: found[str(count)] for count in sizes.values()})


Caller: TypeAlias = Callable[[], Awaitable[Any]]


def _calls(call: Caller, count: int) -> Caller:
    async def run() -> None:
        for _ in range(count):
            result = await call()
            if result.is_error:
                raise RuntimeError(f"get_account was to succeed: {result.content}")

    return run


@asynccontextmanager
async def _pair(transport: Transport, era: Era) -> AsyncIterator[tuple[Caller, Caller]]:
    """One call on our face and one on the reference, each on a connection that stays open."""
    async with AsyncExitStack() as stack:
        pool = SessionPool(load_catalog(("banking",)))
        handle: str | None = pool.open(SEED)
        if transport == "memory":
            served: list[Any] = [build_mcp_server(pool), build_echo()]
        elif transport == "stdio":
            handle = None  # the process has one session
            parts = ([*_OURS], [*_ECHO, "stdio"])
            served = [StdioServerParameters(command=sys.executable, args=args, cwd=str(ROOT)) for args in parts]
        else:
            ports = free_port(), free_port()
            await stack.enter_async_context(_running([*_OURS, "--http", "--port", str(ports[0])], ports[0]))
            await stack.enter_async_context(_running([*_ECHO, "http", str(ports[1])], ports[1]))
            handle = await _open_session(ports[0])
            served = [f"http://127.0.0.1:{port}/mcp" for port in ports]
        clients = [await stack.enter_async_context(Client(each, mode=era)) for each in served]
        for client in clients:
            await client.list_tools()
        yield _caller(clients[0], handle), _caller(clients[1], handle)


def _caller(client: Client, handle: str | None) -> Caller:
    wanted = read()
    meta: Any = {SESSION_KEY: handle} if handle else None

    async def call() -> Any:
        return await client.call_tool(wanted.tool, dict(wanted.arguments), meta=meta)

    return call


async def _open_session(port: int) -> str:
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.post(f"http://127.0.0.1:{port}/sessions", json={"seed": SEED})
        return str(answer.raise_for_status().json()["handle"])


@asynccontextmanager
async def _running(arguments: Sequence[str], port: int) -> AsyncIterator[None]:
    """A server process that answers on a port of loopback, ended with the block."""
    process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + _PATIENCE
        while not _answers(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{' '.join(arguments)} does not answer on port {port}: run it by hand to see why")
            await asyncio.sleep(0.1)
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    """A port of loopback that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
