"""Calls per second of the gateway beside those of a bare SDK echo server, taken in turns.

    python -m tests.bench.gateway_speed --rounds 5 --seconds 3

Both are one process on loopback and answer the same text. The gateway checks names and a token, runs the call in a
session in a lane with a deadline, and counts it; the echo server is the SDK's low-level server as it comes. The
client sends prepared bytes over a few connections, so that it takes as little of the processor as possible. Printed
are both sides' medians and the median of the rounds' ratios: of calls per second, and of calls per second of the
server's own processor time, which a busy machine disturbs less.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import mcp_types as types
import psutil
import uvicorn
from mcp.server.lowlevel import Server

from servers.gateway.serve import address, listen
from servers.kernel.mcp import SESSION_KEY

TOKEN = "token-of-the-bench-0123"
TOOL = "list_payees"
ARGUMENTS = {"query": "sunline"}
CONNECTIONS = 4
VERSION = "2026-07-28"


def echo_server() -> None:
    """Answer each call with the text in the environment."""
    text = os.environ["ECHO_TEXT"]
    tool = types.Tool(name=TOOL, description="Echo.", input_schema={"type": "object"})

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool])

    async def call_tool(context: Any, params: Any) -> types.CallToolResult:
        content = [types.TextContent(type="text", text=text)]
        return types.CallToolResult(content=content, structured_content=json.loads(text))

    sock = listen("127.0.0.1", 0)
    print(f"serving {address(sock)}/mcp", flush=True)
    app = Server("echo", on_list_tools=list_tools, on_call_tool=call_tool).streamable_http_app(json_response=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run([sock])


@dataclass(slots=True)
class Side:
    """A server process, its address, and the session of its calls."""

    process: psutil.Popen
    url: str
    handle: str = "0" * 32

    def cpu(self) -> float:
        """Seconds of processor time that it has used."""
        times = self.process.cpu_times()
        return float(times.user + times.system)


@contextmanager
def started(command: list[str], **environment: str) -> Iterator[Side]:
    """A server for the block."""
    process = psutil.Popen(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True)
    try:
        yield Side(process, process.stdout.readline().split()[1].removesuffix("/mcp"))
    finally:
        process.kill()
        process.wait(10)


def request(url: str, handle: str) -> bytes:
    """One call as bytes."""
    meta = {
        SESSION_KEY: handle,
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    }
    params = {"name": TOOL, "arguments": ARGUMENTS, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: {url.removeprefix('http://')}\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: application/json\r\nAccept: application/json\r\nMcp-Protocol-Version: {VERSION}\r\n"
        f"Mcp-Method: tools/call\r\nMcp-Name: {TOOL}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


@dataclass(frozen=True, slots=True)
class Rate:
    """Calls per second of the clock, and per second of the server's processor time."""

    wall: float
    cpu: float


async def rate(side: Side, seconds: float) -> Rate:
    """Call a server for this many seconds."""
    begin, end = side.cpu(), time.perf_counter() + seconds
    message = request(side.url, side.handle)
    count = sum(await asyncio.gather(*(_caller(side.url, message, end) for _ in range(CONNECTIONS))))
    return Rate(count / seconds, count / (side.cpu() - begin))


async def take_turns(gateway: Side, echo: Side, rounds: int, seconds: float) -> list[tuple[Rate, Rate]]:
    """Each round's rates of both, after a warm-up; who goes first changes from round to round."""
    for side in (gateway, echo):
        await rate(side, 0.5)
    pairs = []
    for number in range(rounds):
        if number % 2:
            first = await rate(gateway, seconds)
            pairs.append((first, await rate(echo, seconds)))
        else:
            first = await rate(echo, seconds)
            pairs.append((await rate(gateway, seconds), first))
    return pairs


def the_answer() -> str:
    """What the gateway's tool answers."""
    command = [sys.executable, "-m", "servers", "call", TOOL, json.dumps(ARGUMENTS), "--json"]
    answer = subprocess.run(command, capture_output=True, check=True)
    return json.dumps(json.loads(answer.stdout)["result"], separators=(",", ":"))


async def _caller(url: str, message: bytes, end: float) -> int:
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    count = 0
    while time.perf_counter() < end:
        writer.write(message)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.split(b":")[1]))
        count += 1
    writer.close()
    return count


def main() -> None:
    """Measure both in turns and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--echo", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.echo:
        echo_server()
        return
    serve = [sys.executable, "-m", "servers", "serve", "--http", "--port", "0"]
    with started(serve, PROVE_GATEWAY_TOKENS=f"bench={TOKEN}") as gateway:
        header = {"Authorization": f"Bearer {TOKEN}"}
        gateway.handle = httpx.post(f"{gateway.url}/sessions", headers=header, trust_env=False, timeout=60).json()[
            "handle"
        ]
        with started([sys.executable, "-m", "tests.bench.gateway_speed", "--echo"], ECHO_TEXT=the_answer()) as echo:
            pairs = asyncio.run(take_turns(gateway, echo, options.rounds, options.seconds))
    for what in ("wall", "cpu"):
        ours, bare = (statistics.median(getattr(side, what) for side in sides) for sides in zip(*pairs, strict=True))
        ratio = statistics.median(getattr(mine, what) / getattr(other, what) for mine, other in pairs)
        print(f"calls per second ({what}): gateway {ours:.0f}, echo {bare:.0f}, ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
