"""The front of a gateway with several workers: it guards, and sends each request to the worker that owns it.

A handle ends with the number of the worker that opened it, so the front keeps no table and forgets nothing
when it or a worker is started anew. Requests that name no session go round. Workers listen on Unix sockets
in a directory that only this user can enter, and trust what the front says about the principal.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send
from yarl import URL

from servers.gateway.guard import PRINCIPAL, error_body, send_json
from servers.gateway.lifecycle import Lifecycle, Phase
from servers.gateway.metrics import CONTENT_TYPE, Metrics, merged
from servers.kernel.mcp import SESSION_KEY
from servers.kernel.pool import Shard

PRINCIPAL_HEADER = b"x-prove-principal"

_ANY_HOST = "http://localhost"

PROBE_SECONDS = 2.0
"""How long a worker may take to say how it is."""

_NOT_PASSED_ON = {
    *(b"authorization", b"connection", b"content-length", b"host", b"keep-alive", b"te", b"trailer", b"upgrade"),
    *(b"transfer-encoding", PRINCIPAL_HEADER),
}


@dataclass(frozen=True, slots=True)
class Reply:
    """A worker's answer."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


class Front:
    """The ASGI application behind the front's guard.

    Args:
        sockets: each worker's Unix socket, by its number.
        patience: seconds until a worker that doesn't answer is given up.
        lifecycle: the front's phase.
        metrics: the front's own counters.
    """

    def __init__(self, sockets: Sequence[Path], patience: float, lifecycle: Lifecycle, metrics: Metrics) -> None:
        self._sockets = sockets
        self._patience = patience
        self._lifecycle = lifecycle
        self._metrics = metrics
        self._round = itertools.cycle(range(len(sockets)))
        self._clients: list[aiohttp.ClientSession] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        path: str = scope["path"]
        if path == "/health":
            await self._health(send)
        elif path == "/ready":
            await self._ready(send)
        elif path == "/metrics":
            await self._show_metrics(send)
        else:
            reply = await self._answer(scope, await _body(scope, receive))
            await send({"type": "http.response.start", "status": reply.status, "headers": reply.headers})
            await send({"type": "http.response.body", "body": reply.body})

    async def _answer(self, scope: Scope, body: bytes) -> Reply:
        path: str = scope["path"]
        if path == "/sessions":
            return await self._open(scope, body)
        if path.startswith("/sessions/"):
            return await self._forward(self._owner(path.removeprefix("/sessions/")), scope, body)
        if path == "/mcp":
            return await self._forward(self._owner_of_message(body), scope, body)
        return _error(404, path, "there is nothing at this path")

    async def _open(self, scope: Scope, body: bytes) -> Reply:
        """Open a session at the next worker that has room."""
        first = next(self._round)
        for step in range(len(self._sockets)):
            reply = await self._forward((first + step) % len(self._sockets), scope, body)
            if reply.status != 503:
                break
        return reply

    async def _forward(self, number: int, scope: Scope, body: bytes) -> Reply:
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in _passed_on(scope["headers"])]
        headers.append((PRINCIPAL_HEADER.decode(), scope[PRINCIPAL]))
        url = URL(_ANY_HOST + scope["raw_path"].decode("latin-1"), encoded=True)
        try:
            async with self._clients[number].request(scope["method"], url, headers=headers, data=body) as response:
                fields = [
                    (name.lower(), value) for name, value in response.raw_headers if name.lower() != b"connection"
                ]
                return Reply(response.status, fields, await response.read())
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            message = f"worker {number} ended or did not answer ({type(error).__name__}); the call may have run"
            return _error(502, scope["path"], message)

    def _owner(self, handle: str) -> int:
        return Shard.owning(handle, len(self._sockets))

    def _owner_of_message(self, body: bytes) -> int:
        """The worker of an MCP message; a worker judges it, so what it can't be read as doesn't matter here."""
        try:
            message = json.loads(body)
            if message["method"] != "tools/call":
                return next(self._round)
            handle = message["params"]["_meta"][SESSION_KEY]
        except (ValueError, KeyError, TypeError, RecursionError):
            return 0
        return self._owner(handle) if isinstance(handle, str) else 0

    async def _health(self, send: Send) -> None:
        replies = await self._ask("/health")
        up = [json.loads(body) for status, body in replies if status == 200]
        body = {
            "status": "ok",
            "sessions": sum(worker["sessions"] for worker in up),
            "workers": len(up),
            "fingerprint": up[0]["fingerprint"] if up else None,
        }
        await send_json(send, 200, body)

    async def _ready(self, send: Send) -> None:
        phase = self._lifecycle.phase
        if phase is Phase.READY and any(status != 200 for status, _ in await self._ask("/ready")):
            phase = Phase.STARTING
        await send_json(send, 200 if phase is Phase.READY else 503, {"status": phase})

    async def _show_metrics(self, send: Send) -> None:
        replies = await self._ask("/metrics")
        pages = [(number, body.decode()) for number, (status, body) in enumerate(replies) if status == 200]
        content = merged(self._metrics.text(), pages)
        await send(
            {"type": "http.response.start", "status": 200, "headers": [(b"content-type", CONTENT_TYPE.encode())]}
        )
        await send({"type": "http.response.body", "body": content})

    async def _ask(self, path: str) -> list[tuple[int, bytes]]:
        """Every worker's answer to a probe; status 0 for one that gives none."""

        async def one(client: aiohttp.ClientSession) -> tuple[int, bytes]:
            try:
                async with asyncio.timeout(PROBE_SECONDS), client.get(_ANY_HOST + path) as response:
                    return response.status, await response.read()
            except (aiohttp.ClientError, TimeoutError, OSError):
                return 0, b""

        return await asyncio.gather(*(one(client) for client in self._clients))

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with self._connected():
            self._lifecycle.ready()
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for path in self._sockets:
                client = aiohttp.ClientSession(
                    connector=aiohttp.UnixConnector(str(path), limit=0),
                    timeout=aiohttp.ClientTimeout(total=self._patience),
                    auto_decompress=False,
                )
                self._clients.append(await stack.enter_async_context(client))
            yield


def behind_front(inner: ASGIApp, lifecycle: Lifecycle) -> ASGIApp:
    """A worker's application: it takes the principal from the front, and counts what is in progress."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            scope[PRINCIPAL] = headers.get(PRINCIPAL_HEADER, b"").decode("latin-1")
            lifecycle.running += 1
            try:
                await inner(scope, receive, send)
            finally:
                lifecycle.running -= 1
        else:
            await inner(scope, receive, send)

    return app


def _error(status: int, path: str, message: str) -> Reply:
    return Reply(status, [(b"content-type", b"application/json")], json.dumps(error_body(path, message)).encode())


async def _body(scope: Scope, receive: Receive) -> bytes:
    return b"" if scope["method"] in ("GET", "HEAD") else await Request(scope, receive).body()


def _passed_on(headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in headers if name not in _NOT_PASSED_ON]
