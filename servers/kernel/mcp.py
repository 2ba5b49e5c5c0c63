"""The MCP face: the same handlers over stdio and streamable HTTP, in both protocol eras.

State is keyed by a handle that the harness opens (`POST /sessions`) and sends in the call's `_meta`, so
it never enters the schema that a model sees. A face with a default session serves clients that cannot
send `_meta`: one process over stdio, or an HTTP server started for one person. Bad arguments are tool
results that a model can read; unknown tools, cursors and handles are protocol errors.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from servers.kernel.errors import CapacityError, HarnessError, UnknownToolError
from servers.kernel.pool import SessionPool
from servers.kernel.store import shown
from servers.kernel.tool import Tool

SESSION_KEY = "prove-pipeline/session"
"""The `_meta` key that carries a session's handle."""

PAGE_SIZE = 50
"""Tools on one page of `tools/list`."""


def build_mcp_server(pool: SessionPool, default_handle: str | None = None) -> Server[Any]:
    """An MCP server over a pool's catalogue.

    Args:
        pool: the sessions.
        default_handle: the session of calls that carry no handle; None refuses such calls.
    """
    tools = [_published(entry.tool) for entry in pool.catalog.entries.values()]

    async def list_tools(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        start = _read_cursor(params.cursor if params else None, pool.catalog.fingerprint, len(tools))
        end = start + PAGE_SIZE
        cursor = _make_cursor(end, pool.catalog.fingerprint) if end < len(tools) else None
        return types.ListToolsResult(tools=tools[start:end], next_cursor=cursor)

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        handle = _handle(context.meta, default_handle)
        try:
            outcome = pool.call(handle, params.name, params.arguments or {})
        except UnknownToolError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        except HarnessError as error:
            raise MCPError(types.INVALID_REQUEST, str(error)) from None
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=outcome.text)],
            structured_content=json.loads(outcome.text) if outcome.ok else None,
            is_error=not outcome.ok,
        )

    names = list(pool.catalog.servers)
    title = names[0] if len(names) == 1 else "gateway"
    return Server(title, version="1", on_list_tools=list_tools, on_call_tool=call_tool)


async def serve_stdio(pool: SessionPool) -> None:
    """Serve one client over standard input and output with one default session."""
    server = build_mcp_server(pool, pool.open())
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def build_http_app(pool: SessionPool, *, default_session: bool = False, host: str = "127.0.0.1") -> Starlette:
    """The ASGI application: MCP at `/mcp`, sessions for the harness at `/sessions`, health at `/health`.

    On loopback the SDK refuses foreign Host and Origin headers.
    """
    server = build_mcp_server(pool, pool.open() if default_session else None)

    async def open_session(request: Request) -> Response:
        body = await request.body()
        try:
            seed = json.loads(body)["seed"] if body else 0
        except (ValueError, KeyError, TypeError):
            return _refusal(400, 'the body is empty or a JSON object such as {"seed": 0}')
        if isinstance(seed, bool) or not isinstance(seed, int):
            return _refusal(400, "seed is a whole number")
        try:
            handle = pool.open(seed)
        except CapacityError as error:
            return _refusal(503, str(error))
        return JSONResponse({"handle": handle, "fingerprint": pool.catalog.fingerprint}, status_code=201)

    async def one_session(request: Request) -> Response:
        handle = request.path_params["handle"]
        try:
            if request.method == "DELETE":
                pool.close(handle)
                return Response(status_code=204)
            if request.method == "POST":
                pool.user_turn(handle)
            session = pool.session(handle)
        except HarnessError as error:
            return _refusal(404, str(error))
        return JSONResponse({"state_hash": session.state_hash, "now": session.now.isoformat()})

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok", "sessions": len(pool), "fingerprint": pool.catalog.fingerprint})

    return server.streamable_http_app(
        json_response=True,
        host=host,
        custom_starlette_routes=[
            Route("/health", health),
            Route("/sessions", _local_only(open_session), methods=["POST"]),
            Route("/sessions/{handle}", _local_only(one_session), methods=["GET", "POST", "DELETE"]),
        ],
    )


def _local_only(handler: Any) -> Any:
    """Refuse a browser page of another site and a rebound host name, as the SDK does for `/mcp`."""

    async def guarded(request: Request) -> Response:
        origin = request.headers.get("origin")
        if origin is not None and not _is_loopback(origin.removeprefix("http://")):
            return _refusal(403, "this origin may not use the harness")
        bound = str((request.scope.get("server") or ("", 0))[0])
        if bound in _LOOPBACK and not _is_loopback(request.headers.get("host", "")):
            return _refusal(421, "this host name is not served here")
        response: Response = await handler(request)
        return response

    return guarded


_LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")


def _is_loopback(authority: str) -> bool:
    name, _, port = authority.rpartition(":")
    return authority in _LOOPBACK or (name in _LOOPBACK and port.isdigit())


def _refusal(status: int, message: str) -> Response:
    return JSONResponse({"error": message}, status_code=status)


def _published(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations(
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
    )


def _handle(meta: Mapping[str, Any] | None, default: str | None) -> str:
    handle = (meta or {}).get(SESSION_KEY, default)
    if not isinstance(handle, str):
        raise MCPError(
            types.INVALID_REQUEST,
            f"the call carries no session: open one (POST /sessions) and send its handle in _meta[{SESSION_KEY!r}]",
        )
    return handle


def _make_cursor(start: int, fingerprint: str) -> str:
    return base64.urlsafe_b64encode(f"{fingerprint}:{start}".encode()).decode()


def _read_cursor(cursor: str | None, fingerprint: str, total: int) -> int:
    if cursor is None:
        return 0
    starts = range(PAGE_SIZE, total, PAGE_SIZE)
    found = next((start for start in starts if _make_cursor(start, fingerprint) == cursor), None)
    if found is None:
        raise MCPError(types.INVALID_PARAMS, f"{shown(cursor)} is no cursor of this list; start again without one")
    return found
