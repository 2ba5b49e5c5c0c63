"""Gateways on loopback: in a thread of the test, or as a process of their own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import httpx2
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from servers.gateway.app import build_http_app
from servers.gateway.lifecycle import Lifecycle
from servers.gateway.limits import Limits
from servers.gateway.principals import Principals
from servers.gateway.serve import DrainingServer, address, listen
from servers.kernel.pool import SessionPool
from tests.servers.gateway.notes import CATALOG

ROOT = Path(__file__).parents[3]
ADA, BOB = "token-of-ada-0123456789", "token-of-bob-0123456789"
TOKENS = {"ada": ADA, "bob": BOB}
START_SECONDS = 50.0


def bearer(token: str) -> dict[str, str]:
    """The header that carries a token."""
    return {"Authorization": f"Bearer {token}"}


@dataclass
class Running:
    """A gateway in a thread."""

    url: str
    pool: SessionPool
    lifecycle: Lifecycle

    def web(self, token: str = "", **options: Any) -> httpx.AsyncClient:
        """A client of it."""
        headers = bearer(token) if token else {}
        return httpx.AsyncClient(base_url=self.url, headers=headers, trust_env=False, timeout=30, **options)

    @contextlib.asynccontextmanager
    async def client(self, token: str = "", mode: str = "auto") -> AsyncIterator[Client]:
        """An ordinary MCP client of it."""
        async with httpx2.AsyncClient(headers=bearer(token), timeout=30) as http:
            transport = streamable_http_client(f"{self.url}/mcp", http_client=http)
            async with Client(transport, mode=mode) as client:
                yield client


@contextlib.asynccontextmanager
async def gateway(
    limits: Limits | None = None, *, tokens: Mapping[str, str] = TOKENS, default_session: bool = False, **seats: Any
) -> AsyncIterator[Running]:
    """A gateway to the notes in a thread of this process."""
    limits = limits or Limits()
    pool, lifecycle, sock = SessionPool(CATALOG, **seats), Lifecycle(grace=5.0), listen("127.0.0.1", 0)
    app = build_http_app(
        pool,
        default_session=default_session,
        principals=Principals(dict(tokens)),
        limits=limits,
        lifecycle=lifecycle,
    )
    server = DrainingServer(uvicorn.Config(app, log_level="error", ws="none", timeout_graceful_shutdown=1), lifecycle)
    thread = threading.Thread(target=server.run, args=([sock],), daemon=True)
    url = address(sock)
    thread.start()
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield Running(url, pool, lifecycle)
    finally:
        lifecycle.drain()
        await asyncio.to_thread(thread.join, 10)


@dataclass
class Process:
    """A gateway that is a process of its own."""

    options: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    url: str = ""

    def start(self) -> None:
        """Start it and wait until it is ready."""
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "tests.servers.gateway.served", "--http", "--port", "0", *self.options],
            cwd=ROOT,
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.popen.stdout is not None
        line = self.popen.stdout.readline()
        assert line.startswith("serving "), line
        self.url = line.split()[1].removesuffix("/mcp")
        until(lambda: self.status("/ready") == 200, START_SECONDS, "the gateway is not ready")

    def get(self, path: str, token: str = "") -> httpx.Response:
        """Ask it for a page."""
        return httpx.get(self.url + path, headers=bearer(token) if token else {}, trust_env=False, timeout=30)

    def post(self, path: str, token: str = "") -> httpx.Response:
        """Send an empty request to it."""
        return httpx.post(self.url + path, headers=bearer(token) if token else {}, trust_env=False, timeout=30)

    def status(self, path: str) -> int:
        """The status of a page; 0 when nobody answers."""
        try:
            return self.get(path).status_code
        except httpx.TransportError:
            return 0


@contextlib.contextmanager
def process(*options: str, **environment: str) -> Iterator[Process]:
    """A gateway of its own process for the block."""
    running = Process(options, environment)
    running.start()
    try:
        yield running
    finally:
        running.popen.kill()
        running.popen.wait(10)


def until(condition: Callable[[], bool], seconds: float, otherwise: str) -> None:
    """Wait until the condition holds.

    Raises:
        AssertionError: it doesn't in time.
    """
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{otherwise} within {seconds:g} s"
        time.sleep(0.05)
