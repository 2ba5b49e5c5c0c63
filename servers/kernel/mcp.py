"""The MCP face: the same handlers over any transport, in both protocol eras.

State is keyed by a handle that the harness opens and sends in the call's `_meta`, so it never enters the
schema that a model sees. A face with a default session serves clients that cannot send `_meta`. Bad
arguments are tool results that a model can read; unknown tools, cursors and handles are protocol errors.
The face leaves the running of a call to whoever builds it: at once over stdio, with deadlines and
principals behind the HTTP gateway.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from servers.kernel.catalog import Catalog
from servers.kernel.errors import HarnessError, UnknownToolError
from servers.kernel.pool import SessionPool
from servers.kernel.server import Outcome
from servers.kernel.store import shown
from servers.kernel.tool import Tool

SESSION_KEY = "prove-pipeline/session"
"""The `_meta` key that carries a session's handle."""

PAGE_SIZE = 50
"""Tools on one page of `tools/list`."""

RunCall = Callable[[Any, str | None, str, Mapping[str, Any]], Awaitable[Outcome]]
"""Runs a call, given the transport's request (if any), the handle (if any), the tool and the arguments."""


def build_mcp_face(catalog: Catalog, run: RunCall) -> Server[Any]:
    """An MCP server of a catalogue's tools.

    Args:
        catalog: the servers.
        run: runs each call; its `HarnessError`s become protocol errors.
    """
    tools = [_published(entry.tool) for entry in catalog.entries.values()]

    async def list_tools(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        start = _read_cursor(params.cursor if params else None, catalog.fingerprint, len(tools))
        end = start + PAGE_SIZE
        cursor = _make_cursor(end, catalog.fingerprint) if end < len(tools) else None
        return types.ListToolsResult(tools=tools[start:end], next_cursor=cursor)

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        try:
            outcome = await run(context.request, _handle(context.meta), params.name, params.arguments or {})
        except UnknownToolError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        except HarnessError as error:
            raise MCPError(types.INVALID_REQUEST, str(error)) from None
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=outcome.text)],
            structured_content=json.loads(outcome.text) if outcome.ok else None,
            is_error=not outcome.ok,
        )

    names = list(catalog.servers)
    return Server(
        names[0] if len(names) == 1 else "gateway",
        version="1",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=_mirrored_parameters,
    )


def build_mcp_server(pool: SessionPool, default_session: bool = False) -> Server[Any]:
    """An MCP server that runs each call at once in a pool of its own.

    Args:
        pool: the sessions.
        default_session: whether calls that carry no handle run in the pool's default session.
    """

    async def run(request: Any, handle: str | None, tool: str, arguments: Mapping[str, Any]) -> Outcome:
        if handle is None:
            handle = pool.default() if default_session else no_handle()
        return pool.call(handle, tool, arguments)

    return build_mcp_face(pool.catalog, run)


async def serve_stdio(pool: SessionPool) -> None:
    """Serve one client over standard input and output with one default session."""
    server = build_mcp_server(pool, default_session=True)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def no_handle() -> str:
    """Refuse a call that names no session where there is no default one.

    Raises:
        HarnessError: always.
    """
    raise HarnessError(
        f"the call carries no session: open one (POST /sessions) and send its handle in _meta[{SESSION_KEY!r}]"
    )


def _mirrored_parameters(tool: str) -> None:
    """No tool mirrors a parameter into an HTTP header, so the SDK has none to check.

    Without this answer it would page through `tools/list` at each call to find the schema.
    """


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


def _handle(meta: Mapping[str, Any] | None) -> str | None:
    handle = (meta or {}).get(SESSION_KEY)
    if handle is not None and not isinstance(handle, str):
        raise MCPError(types.INVALID_REQUEST, f"_meta[{SESSION_KEY!r}] is the text that POST /sessions answered")
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
