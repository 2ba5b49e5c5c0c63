"""The HTTP application of one process: MCP at `/mcp`, sessions for the harness, and what an operator asks.

Behind the guard, which knows the principal. Connections of the older protocol era get no session of their
own either (each request stands alone, the handle alone names state), so any worker can serve any of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from servers.gateway.calls import Calls
from servers.gateway.guard import PRINCIPAL, Guard, error_body, send_json
from servers.gateway.hosts import Hosts
from servers.gateway.lifecycle import Lifecycle, Phase
from servers.gateway.limits import Limits
from servers.gateway.metrics import CONTENT_TYPE, Metrics
from servers.gateway.principals import Principals
from servers.kernel.errors import CapacityError, HarnessError
from servers.kernel.mcp import build_mcp_face, no_handle
from servers.kernel.pool import SessionPool
from servers.kernel.server import Outcome
from servers.kernel.session import Session

SEEDS = range(-(2**63), 2**63)
"""Numbers of worlds."""


def build_http_app(
    pool: SessionPool,
    *,
    default_session: bool = False,
    hosts: Hosts | None = None,
    principals: Principals | None = None,
    limits: Limits | None = None,
    lifecycle: Lifecycle | None = None,
) -> ASGIApp:
    """The guarded application of a gateway that is one process.

    Args:
        pool: the sessions.
        default_session: whether calls without a handle run in their principal's default session.
        hosts: names that are served; those of loopback by default.
        principals: the tokens; none by default.
        limits: what is refused or ended.
        lifecycle: the phase, which whoever runs the process also knows.
    """
    limits = limits or Limits()
    lifecycle = lifecycle or Lifecycle(limits.grace)
    metrics = Metrics(pool)
    return Guard(
        build_worker_app(pool, limits, lifecycle, metrics, default_session=default_session),
        hosts=hosts or Hosts(),
        principals=principals or Principals(),
        limits=limits,
        lifecycle=lifecycle,
        metrics=metrics,
    )


def build_worker_app(
    pool: SessionPool, limits: Limits, lifecycle: Lifecycle, metrics: Metrics, *, default_session: bool = False
) -> ASGIApp:
    """The application behind a guard; its scope carries the principal."""
    calls = Calls(pool, limits.deadline, lifecycle, metrics)

    async def run(request: Request, handle: str | None, tool: str, arguments: Mapping[str, Any]) -> Outcome:
        principal = request.scope[PRINCIPAL]
        if handle is None:
            handle = pool.default(principal) if default_session else no_handle()
        return await calls.call(handle, tool, arguments, principal)

    async def open_session(request: Request) -> Response:
        body = await request.body()
        try:
            seed = json.loads(body)["seed"] if body else 0
        except (ValueError, KeyError, TypeError, RecursionError):
            return _refusal(400, 'the body is empty or a JSON object such as {"seed": 0}')
        if isinstance(seed, bool) or not isinstance(seed, int) or seed not in SEEDS:
            return _refusal(400, "seed is a whole number of at most 64 bits")
        try:
            handle = await calls.open(seed, request.scope[PRINCIPAL])
        except CapacityError as error:
            return _refusal(503, str(error))
        return JSONResponse({"handle": handle, "fingerprint": pool.catalog.fingerprint}, status_code=201)

    async def one_session(request: Request) -> Response:
        handle, principal = request.path_params["handle"], request.scope[PRINCIPAL]

        def step(session: Session) -> Response:
            if request.method == "DELETE":
                pool.close(handle, principal)
                return Response(status_code=204)
            if request.method == "POST":
                pool.user_turn(handle, principal)
            return JSONResponse({"state_hash": session.state_hash, "now": session.now.isoformat()})

        try:
            return await calls.alone(handle, principal, step)
        except HarnessError as error:
            return _refusal(404, str(error))

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok", "sessions": len(pool), "fingerprint": pool.catalog.fingerprint})

    async def ready(request: Request) -> Response:
        return JSONResponse({"status": lifecycle.phase}, status_code=200 if lifecycle.phase is Phase.READY else 503)

    async def show_metrics(request: Request) -> Response:
        return Response(metrics.text(), headers={"content-type": CONTENT_TYPE})

    inner = build_mcp_face(pool.catalog, run).streamable_http_app(
        json_response=True,
        stateless_http=True,
        host="",  # the guard checks names, for every path alike
        max_request_body_size=limits.body,
        custom_starlette_routes=[
            Route("/health", health),
            Route("/ready", ready),
            Route("/metrics", show_metrics),
            Route("/sessions", open_session, methods=["POST"]),
            Route("/sessions/{handle}", one_session, methods=["GET", "POST", "DELETE"]),
        ],
    )
    inner.router.redirect_slashes = False  # no path is another's second name
    return _announce(inner, lifecycle)


def _announce(inner: Starlette, lifecycle: Lifecycle) -> ASGIApp:
    """Say that the application is ready once it has started; keep `/mcp` to requests that end by themselves."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":

            async def announce(message: Any) -> None:
                if message["type"] == "lifespan.startup.complete":
                    lifecycle.ready()
                await send(message)

            await inner(scope, receive, announce)
        elif scope["path"] == "/mcp" and scope["method"] != "POST":
            message = "this endpoint offers no stream of its own: send POST requests"
            await send_json(send, 405, error_body("/mcp", message), {"allow": "POST"})
        else:
            await inner(scope, receive, send)

    return app


def _refusal(status: int, message: str) -> Response:
    return JSONResponse({"error": message}, status_code=status)
