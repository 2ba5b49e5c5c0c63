"""The reference of the MCP figures: the SDK's low-level server with one tool that answers always the same.

    python -m tests.bench.speed.echo stdio
    python -m tests.bench.speed.echo http PORT

It publishes the schemas of the bank's `get_account` and answers what that tool answers, so that both sides carry the
same bytes and their client checks the same schema.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from servers.kernel.catalog import load_catalog
from servers.kernel.session import Session
from tests.bench.speed.bank import bank_world, read


def build_echo() -> Server[Any]:
    """The server."""
    catalog, call = load_catalog(("banking",)), read()
    tool = catalog.entry(call.tool).tool
    text = catalog.call(Session(bank_world()), call.tool, call.arguments).text
    answer = json.loads(text)
    shown = types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
    )

    async def list_tools(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[shown])

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)], structured_content=answer, is_error=False
        )

    return Server("echo", version="1", on_list_tools=list_tools, on_call_tool=call_tool)


async def _serve_stdio() -> None:
    server = build_echo()
    async with stdio_server() as (receive, send):
        await server.run(receive, send, server.create_initialization_options())


def _serve_http(port: int) -> None:
    """Serve with the HTTP settings of the gateway, on a socket that uvicorn makes itself."""
    uvicorn.run(
        build_echo().streamable_http_app(json_response=True, stateless_http=True),
        host="127.0.0.1",
        port=port,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        ws="none",
    )


def main(arguments: list[str]) -> None:
    """Serve until the client goes, or until the process is ended."""
    if arguments[:1] == ["stdio"]:
        anyio.run(_serve_stdio)
    elif arguments[:1] == ["http"] and len(arguments) == 2:
        _serve_http(int(arguments[1]))
    else:
        sys.exit("echo: say stdio, or http with a port")


if __name__ == "__main__":
    main(sys.argv[1:])
