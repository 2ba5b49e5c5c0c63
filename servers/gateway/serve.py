"""One process on one socket, from its start to the end of its drain.

SIGTERM begins a drain: `/ready` answers 503, new work is refused, running calls finish within the grace,
and the process ends with exit code 0. A second signal ends it without waiting. Journals are left as they
are, so a gateway that is started again has its sessions back.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from servers.gateway.lifecycle import Lifecycle, Phase
from servers.kernel.errors import HarnessError

BACKLOG = 2048
"""Connections that wait to be accepted."""

KEEP_ALIVE = 30
"""Seconds after which an idle connection is closed; clients give theirs up earlier, so that none is closed in use."""

CLOSING_SECONDS = 1
"""Time for connections to close after the drain."""


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one.

    Its connections inherit `TCP_NODELAY`, which asyncio sets only where the socket names its protocol. Without it an
    answer's body waits for the client's (delayed) acknowledgement of the head: 40 ms a call.

    Raises:
        HarnessError: the address can't be bound.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        sock = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise HarnessError(
            f"{host} port {port} cannot be bound: {error.strerror}; choose another with --port"
        ) from None
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def address(sock: socket.socket) -> str:
    """The URL of a listening socket."""
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(
    app: ASGIApp,
    sock: socket.socket,
    lifecycle: Lifecycle,
    *,
    keep_alive: int = KEEP_ALIVE,
    ends: Callable[[], bool] = lambda: False,
) -> None:
    """Serve until a signal and the drain after it, then end the process.

    Args:
        app: the application.
        sock: the listening socket.
        lifecycle: the application's.
        keep_alive: seconds after which an idle connection is closed.
        ends: asked ten times a second; true begins the drain as a signal would.
    """
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        ws="none",
        backlog=BACKLOG,
        timeout_keep_alive=keep_alive,
        timeout_graceful_shutdown=CLOSING_SECONDS,
    )
    DrainingServer(config, lifecycle, ends).run([sock])
    sys.exit(lifecycle.exit_code)


class DrainingServer(uvicorn.Server):
    """A uvicorn server whose signals begin a drain."""

    def __init__(self, config: uvicorn.Config, lifecycle: Lifecycle, ends: Callable[[], bool] = lambda: False) -> None:
        super().__init__(config)
        self._lifecycle = lifecycle
        self._ends = ends

    async def on_tick(self, counter: int) -> bool:
        """Whether to stop serving."""
        if self._ends():
            self._lifecycle.drain()
        return await super().on_tick(counter) or self._lifecycle.over

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take the signals that are not ignored, for as long as the server runs."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        taken = [sig for sig in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(sig) is not signal.SIG_IGN]
        before = {sig: signal.signal(sig, self.handle_exit) for sig in taken}
        try:
            yield
        finally:
            for sig, handler in before.items():
                signal.signal(sig, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin the drain; end at once if one is under way."""
        if self._lifecycle.phase is Phase.DRAINING:
            self.should_exit = self.force_exit = True
        self._lifecycle.drain()
