"""The gate in front of every path: names, tokens, size, rate and number of requests.

It is plain ASGI and reads the whole (bounded) body before anything behind it runs, so that a slow or
oversized sender never holds a session. What it refuses has not run and may be sent again; where waiting
helps, the refusal says how long (`Retry-After`).
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from servers.gateway.hosts import Hosts
from servers.gateway.lifecycle import Lifecycle, Phase
from servers.gateway.limits import Buckets, Limits
from servers.gateway.metrics import Metrics
from servers.gateway.principals import Principals

PRINCIPAL = "prove.principal"
"""The scope's key under which the application finds who calls."""

PROBES = ("/health", "/ready")
"""Paths that need no token and count against no limit."""

BODY_SECONDS = 30.0
"""How long a sender may take over its body."""

READ_ON = 4
"""A body of up to so many times the limit is read (and dropped) before its refusal, or its sender, still busy
sending, would meet a closed connection in place of the answer."""

_MCP_ERROR = -32600


class RefusedError(Exception):
    """A request that is answered at the gate.

    Args:
        status: HTTP status.
        reason: the metric's label.
        message: what is wrong, and what would work.
        headers: of the answer.
    """

    def __init__(self, status: int, reason: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.headers = headers


class Guard:
    """An ASGI application that lets through what the rules allow.

    Args:
        inner: what is guarded; finds the principal in the scope.
        hosts: the names that are served.
        principals: the tokens.
        limits: body, rate and concurrency.
        lifecycle: counts the requests in progress; while it drains, nothing else is let through.
        metrics: counts refusals.
    """

    def __init__(
        self,
        inner: ASGIApp,
        *,
        hosts: Hosts,
        principals: Principals,
        limits: Limits,
        lifecycle: Lifecycle,
        metrics: Metrics,
    ) -> None:
        self._inner = inner
        self._hosts = hosts
        self._principals = principals
        self._limits = limits
        self._lifecycle = lifecycle
        self._metrics = metrics
        self._buckets = Buckets(limits.rate) if limits.rate else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1003})
            return
        path: str = scope["path"]
        try:
            headers = dict(scope["headers"])
            self._check_names(headers)
            if path in PROBES:
                scope[PRINCIPAL] = ""
                await self._inner(scope, receive, send)
                return
            scope[PRINCIPAL] = self._identify(headers)
            self._check_load(scope[PRINCIPAL], path)
        except RefusedError as refusal:
            await self.refuse(refusal, path, send)
            return
        self._lifecycle.running += 1
        try:
            body = await self._read(scope["method"], headers, receive)
            await self._inner(scope, body, send)
        except RefusedError as refusal:
            await self.refuse(refusal, path, send)
        finally:
            self._lifecycle.running -= 1

    async def refuse(self, refusal: RefusedError, path: str, send: Send) -> None:
        """Answer a request that is not let through, in the form that its path speaks."""
        self._metrics.refused(refusal.reason)
        await send_json(send, refusal.status, error_body(path, refusal.message), refusal.headers)

    def _check_names(self, headers: Mapping[bytes, bytes]) -> None:
        if not self._hosts.serves(headers.get(b"host", b"").decode("latin-1")):
            raise RefusedError(421, "host", "this host name is not served here: add it with --allowed-host")
        origin = headers.get(b"origin")
        if origin is not None and not self._hosts.trusts(origin.decode("latin-1")):
            raise RefusedError(403, "origin", "pages of this origin may not use the gateway")

    def _identify(self, headers: Mapping[bytes, bytes]) -> str:
        principal = self._principals.identify(headers.get(b"authorization"))
        if principal is None:
            message = "send a known token as 'Authorization: Bearer …' (clients read it from PROVE_GATEWAY_TOKEN)"
            raise RefusedError(401, "token", message, {"www-authenticate": "Bearer"})
        return principal

    def _check_load(self, principal: str, path: str) -> None:
        if path == "/metrics":
            return
        if self._lifecycle.phase is not Phase.READY:
            phase = self._lifecycle.phase
            raise RefusedError(503, phase, f"the gateway is {phase}; try again later", _after(1))
        if self._lifecycle.running >= self._limits.concurrency:
            message = f"{self._limits.concurrency} requests are in progress; try again later"
            raise RefusedError(503, "concurrency", message, _after(1))
        wait = self._buckets.wait(principal) if self._buckets else 0.0
        if wait:
            message = f"more than {self._limits.rate:g} requests per second of one principal; slow down"
            raise RefusedError(429, "rate", message, _after(wait))

    async def _read(self, method: str, headers: Mapping[bytes, bytes], receive: Receive) -> Receive:
        """The request's body, whole, as a `receive` of its own."""
        if method in ("GET", "HEAD"):
            return receive
        most = self._limits.body
        declared = int(headers.get(b"content-length", b"0"))
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(BODY_SECONDS):
                more = declared <= READ_ON * most
                while more and size <= READ_ON * most:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise RefusedError(400, "cut", "the request ended in its middle")
                    chunk = message.get("body", b"")
                    size += len(chunk)
                    if max(size, declared) <= most:
                        parts.append(chunk)
                    more = message.get("more_body", False)
        except TimeoutError:
            raise RefusedError(408, "slow", f"the request was not complete within {BODY_SECONDS:g} s") from None
        if max(size, declared) > most:
            raise RefusedError(413, "size", f"the request is larger than {most} bytes", {"connection": "close"})
        return _replay(b"".join(parts), receive)


def error_body(path: str, message: str) -> dict[str, object]:
    """An error as its path speaks it: JSON-RPC at `/mcp`, a plain object elsewhere."""
    if path == "/mcp":
        return {"jsonrpc": "2.0", "id": None, "error": {"code": _MCP_ERROR, "message": message}}
    return {"error": message}


async def send_json(send: Send, status: int, body: object, headers: Mapping[str, str] | None = None) -> None:
    """Send a JSON answer."""
    content = json.dumps(body).encode()
    fields = {"content-type": "application/json", "content-length": str(len(content)), **(headers or {})}
    raw = [(name.encode(), value.encode()) for name, value in fields.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": content})


def _after(seconds: float) -> dict[str, str]:
    return {"retry-after": str(math.ceil(seconds))}


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body once, then what comes after it (the client's leaving)."""
    waiting = True

    async def replay() -> Message:
        nonlocal waiting
        if waiting:
            waiting = False
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return replay
