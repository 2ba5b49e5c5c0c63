"""`python -m tests.servers.load.wrecked --port N`: the wreck as a program, with sessions and MCP over HTTP.

What it answers well is what the servers' own command would; what goes wrong does so before the request reaches that.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable, Mapping

import uvicorn
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from servers.kernel.catalog import Catalog
from servers.kernel.errors import HarnessError
from servers.kernel.mcp import build_mcp_server
from servers.kernel.pool import SessionPool
from tests.servers.load.wreck import wreck

HOUR = 3600.0
HALF = b'{"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "te'


async def _say(send: Send, body: bytes, length: int) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(length).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": len(body) < length})


async def _sleep(send: Send) -> None:
    await asyncio.sleep(HOUR)


async def _block(send: Send) -> None:
    time.sleep(HOUR)


async def _exit(send: Send) -> None:
    os._exit(3)


async def _half(send: Send) -> None:
    await _say(send, HALF, 4096)
    await asyncio.sleep(HOUR)


async def _cut(send: Send) -> None:
    await _say(send, HALF, 4096)
    raise ConnectionAbortedError("as asked")


async def _babble(send: Send) -> None:
    await _say(send, b"<html>502 Bad Gateway</html>", 28)


WRECKS: Mapping[str, Callable[[Send], Awaitable[None]]] = {
    "sleep_an_hour": _sleep,
    "block_an_hour": _block,
    "exit_the_process": _exit,
    "say_half": _half,
    "cut_off": _cut,
    "babble": _babble,
}
"""What happens instead of an answer, by the name of the tool."""


def wrecked(inner: ASGIApp) -> ASGIApp:
    """The application, with the calls of these names coming to grief."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != "/mcp":
            await inner(scope, receive, send)
            return
        body = await Request(scope, receive).body()
        asked = json.loads(body) if body else {}
        act = WRECKS.get(str((asked.get("params") or {}).get("name"))) if asked.get("method") == "tools/call" else None
        if act is not None:
            await act(send)
            return
        said: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> Message:
            return said.pop() if said else await receive()

        await inner(scope, again, send)

    return app


def build_app() -> ASGIApp:
    """Sessions and MCP as the servers' own command offers them, with the wrecks before it."""
    pool = SessionPool(Catalog([wreck]))

    async def opened(request: Request) -> Response:
        return JSONResponse({"handle": pool.open(int((await request.json())["seed"]))}, status_code=201)

    async def one(request: Request) -> Response:
        handle = request.path_params["handle"]
        try:
            if request.method == "DELETE":
                pool.close(handle)
                return Response(status_code=204)
            if request.method == "POST":
                pool.user_turn(handle)
            return JSONResponse({"state_hash": pool.session(handle).state_hash})
        except HarnessError as error:
            return JSONResponse({"error": str(error)}, status_code=404)

    async def health(request: Request) -> Response:
        return JSONResponse({"sessions": len(pool)})

    routes = [
        Route("/health", health),
        Route("/sessions", opened, methods=["POST"]),
        Route("/sessions/{handle}", one, methods=["GET", "POST", "DELETE"]),
    ]
    server = build_mcp_server(pool)
    return wrecked(server.streamable_http_app(json_response=True, custom_starlette_routes=routes))


def main() -> None:
    """Serve until the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    uvicorn.run(build_app(), host="127.0.0.1", port=parser.parse_args().port, log_level="critical")


if __name__ == "__main__":
    main()
