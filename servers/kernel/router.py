"""From a model's tool call to a server: in process, or over MCP by URL.

Both routes answer alike, so that an episode doesn't know which one it runs on. A fault of the transport
is not the model's: it comes back as an answer marked `infrastructure`, within the deadline. What a gateway
refused before running it (too many requests, a drain) is sent again when the gateway said it may be.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from servers.kernel.errors import HarnessError, KernelFault, UnknownToolError
from servers.kernel.mcp import SESSION_KEY
from servers.kernel.pool import SessionPool
from servers.kernel.store import shown

TOKEN_VARIABLE = "PROVE_GATEWAY_TOKEN"
"""Environment variable with the token that clients send."""

AT_ONCE = 256
"""Requests of one router at once; others wait their turn."""

IDLE_SECONDS = 10.0
"""Seconds after which an idle connection is given up: before the server closes it."""

HANDLE_SHOWN = 8
"""Digits of a handle that messages show; the whole of it would open the session to whoever reads them."""

CONNECT_SECONDS = 30.0
"""Seconds that a server has to name its tools, however short the deadline of a call is."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for one call; `text` is what the model reads."""

    ok: bool
    text: str
    error_code: str = ""
    infrastructure: bool = False


class Router(Protocol):
    """Opens sessions and runs calls in them."""

    async def open(self, seed: int = 0) -> str:
        """Open a session and return its handle."""

    async def call(self, handle: str, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """Run one call.

        Raises:
            UnknownToolError: no tool has exactly this name.
        """

    async def user_turn(self, handle: str) -> None:
        """Let the time between two user messages pass."""

    async def state_hash(self, handle: str) -> str:
        """Hash of the session's rows."""

    async def close(self, handle: str) -> None:
        """Close a session for good."""


class LocalRouter:
    """Calls run in this process."""

    def __init__(self, pool: SessionPool) -> None:
        self._pool = pool

    async def open(self, seed: int = 0) -> str:
        """Open a session and return its handle."""
        return self._pool.open(seed)

    async def call(self, handle: str, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """Run one call."""
        try:
            outcome = self._pool.call(handle, tool, arguments)
        except UnknownToolError:
            raise
        except HarnessError as error:
            return _fault(KernelFault.UNAVAILABLE, str(error))
        return _answer(outcome.ok, outcome.text, outcome.error_code)

    async def user_turn(self, handle: str) -> None:
        """Let the time between two user messages pass."""
        self._pool.user_turn(handle)

    async def state_hash(self, handle: str) -> str:
        """Hash of the session's rows."""
        return self._pool.session(handle).state_hash

    async def close(self, handle: str) -> None:
        """Close a session for good."""
        self._pool.close(handle)


class _Connection:
    """An MCP client in a task of its own, so that its collapse cancels nobody else."""

    def __init__(self, url: str, http: httpx2.AsyncClient) -> None:
        self._url = url
        self._http = http
        self._stop = asyncio.Event()
        self._client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._own())

    @property
    def broken(self) -> bool:
        """Whether the connection has ended."""
        return self._task.done()

    async def client(self) -> Client:
        """The connected client.

        Raises:
            ConnectionError: the server could not be reached.
        """
        return await asyncio.shield(self._client)

    async def close(self) -> None:
        """End the connection; one that has already collapsed ends silently."""
        self._stop.set()
        await asyncio.wait([self._task])

    async def _own(self) -> None:
        try:
            async with Client(streamable_http_client(f"{self._url}/mcp", http_client=self._http)) as client:
                self._client.set_result(client)
                await self._stop.wait()
        except (ExceptionGroup, MCPError, OSError) as error:
            if not self._client.done():
                self._client.set_exception(ConnectionError(f"{self._url}: {_cause(error)}"))


def _cause(error: BaseException) -> BaseException:
    """The first real error in a group of groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


class _Patient(httpx2.AsyncBaseTransport):
    """A transport that waits and sends again what was refused with a `Retry-After`, which means before it ran."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        while True:
            response = await self._inner.handle_async_request(request)
            seconds = response.headers.get("retry-after", "")
            if response.status_code not in (429, 503) or not seconds.isdigit():
                return response
            await response.aclose()
            await asyncio.sleep(int(seconds))

    async def aclose(self) -> None:
        await self._inner.aclose()


class McpRouter:
    """Calls travel over MCP to a server started with `python -m servers serve --http`.

    Args:
        url: the server's base address, such as `http://127.0.0.1:8765`.
        deadline: seconds until an unanswered call becomes an infrastructure failure; waiting for one of the
            connections doesn't count.
        token: what the gateway knows this client by; read from `PROVE_GATEWAY_TOKEN` if None.
    """

    def __init__(self, url: str, deadline: float = 30.0, token: str | None = None) -> None:
        self._url = url.rstrip("/")
        self._deadline = deadline
        self._token = os.environ.get(TOKEN_VARIABLE, "") if token is None else token
        self._stack = AsyncExitStack()
        self._room = asyncio.Semaphore(AT_ONCE)

    async def __aenter__(self) -> Self:
        self._http = await self._stack.enter_async_context(
            httpx2.AsyncClient(
                base_url=self._url,
                timeout=httpx2.Timeout(self._deadline, read=None),  # reads end with the deadline of their call
                transport=_Patient(httpx2.AsyncHTTPTransport(limits=_CONNECTIONS)),
                headers={"Authorization": f"Bearer {self._token}"} if self._token else None,
            )
        )
        self._connection = _Connection(self._url, self._http)
        self._stack.push_async_callback(self._disconnect)
        try:
            async with asyncio.timeout(max(self._deadline, CONNECT_SECONDS)):
                self._names = await self._list_names()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def open(self, seed: int = 0) -> str:
        """Open a session and return its handle.

        Raises:
            HarnessError: the server refused; the message says why.
        """
        answer = await self._request("POST", "/sessions", json={"seed": seed})
        return str(answer["handle"])

    async def call(self, handle: str, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """Run one call; a transport fault becomes an infrastructure answer.

        The name is looked up here first: a model's text never reaches a protocol header.
        """
        if tool not in self._names:
            raise UnknownToolError(f"there is no tool {shown(tool)}")
        where = f"{tool}, attempt 1 of 1 at {self._url} for session {shown(handle[:HANDLE_SHOWN])}"
        try:
            async with self._room, asyncio.timeout(self._deadline):
                meta: Any = {SESSION_KEY: handle}
                client = await self._client()
                result = await client.call_tool(tool, dict(arguments), meta=meta)
        except TimeoutError:
            return _fault(KernelFault.TIMEOUT, f"{where}: no answer within {self._deadline:g} s")
        except MCPError as error:
            return _fault(KernelFault.UNAVAILABLE, f"{where}: {error.error.message}")
        except OSError as error:
            return _fault(KernelFault.UNAVAILABLE, f"{where}: unreachable, {type(error).__name__}")
        text = "".join(block.text for block in result.content if isinstance(block, types.TextContent))
        return _answer(not result.is_error, text, _code(text) if result.is_error else "")

    async def user_turn(self, handle: str) -> None:
        """Let the time between two user messages pass."""
        await self._request("POST", f"/sessions/{handle}")

    async def state_hash(self, handle: str) -> str:
        """Hash of the session's rows."""
        return str((await self._request("GET", f"/sessions/{handle}"))["state_hash"])

    async def close(self, handle: str) -> None:
        """Close a session for good."""
        await self._request("DELETE", f"/sessions/{handle}")

    async def _client(self) -> Client:
        """The client, connected anew when the last connection broke."""
        if self._connection.broken:
            self._connection = _Connection(self._url, self._http)
        return await self._connection.client()

    async def _disconnect(self) -> None:
        await self._connection.close()

    async def _list_names(self) -> set[str]:
        names: set[str] = set()
        cursor: str | None = None
        client = await self._client()
        while True:
            page = await client.list_tools(cursor=cursor)
            names.update(tool.name for tool in page.tools)
            cursor = page.next_cursor
            if cursor is None:
                return names

    async def _request(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        try:
            async with self._room, asyncio.timeout(self._deadline):
                response = await self._http.request(method, path, **options)
        except (TimeoutError, httpx2.HTTPError) as error:
            raise HarnessError(f"{method} {path}: {self._url} did not answer: {type(error).__name__}") from None
        body: dict[str, Any] = response.json() if response.content else {}
        if response.is_error:
            raise HarnessError(f"{method} {path}: {body.get('error', response.status_code)}")
        return body


_CONNECTIONS = httpx2.Limits(max_connections=None, max_keepalive_connections=AT_ONCE, keepalive_expiry=IDLE_SECONDS)
_SERVER_FAULTS = (KernelFault.INTERNAL, KernelFault.TIMEOUT, KernelFault.UNAVAILABLE)


def _answer(ok: bool, text: str, code: str) -> Answer:
    """An answer of the server itself; a fault inside it is no mistake of the model's."""
    return Answer(ok, text, code, infrastructure=code in _SERVER_FAULTS)


def _fault(code: KernelFault, message: str) -> Answer:
    return Answer(False, message, code, infrastructure=True)


def _code(text: str) -> str:
    return str(json.loads(text)["error"]["code"])
