"""Several workers behind one front, each a process, all forked from one that has everything loaded.

This is the simplest design that keeps a session with the one process that has it in memory. The parent
has the catalogue loaded and then only forks, waits and forks again: it runs no event loop and no thread,
so forking stays safe, and the workers share the catalogue's memory. It also holds the listening sockets,
so that while a worker is started anew its requests wait instead of failing.

A worker that dies comes back under its own number with the sessions of its journals; without journals
their handles are unknown from then on. The others notice nothing. A worker ends by itself when its parent
is gone, so a killed parent leaves no process behind.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from pathlib import Path

from servers.gateway.app import build_worker_app
from servers.gateway.front import Front, behind_front
from servers.gateway.guard import Guard
from servers.gateway.hosts import Hosts
from servers.gateway.lifecycle import Lifecycle
from servers.gateway.limits import Limits
from servers.gateway.metrics import Metrics
from servers.gateway.principals import Principals
from servers.gateway.serve import BACKLOG, serve
from servers.kernel.catalog import Catalog
from servers.kernel.errors import HarnessError
from servers.kernel.journal import JournalDirectory
from servers.kernel.pool import SessionPool, Shard

KEEP_ALIVE = 3600
"""Seconds that a worker keeps the front's idle connections; the front lets go first."""

WORKER_MARGIN = 10.0
"""Seconds beyond a call's deadline after which the front gives a worker up."""

MAX_RESTARTS = 5
"""Restarts of one process within `RESTART_WINDOW` seconds after which the gateway ends."""

RESTART_WINDOW = 10.0

_EXIT_REFUSED = 2


@dataclass(frozen=True, slots=True)
class Gateway:
    """What a gateway with several workers serves.

    Args:
        catalog: the servers.
        workers: how many processes share the sessions.
        hosts: names that are served.
        principals: the tokens.
        limits: what is refused or ended.
        capacity: most sessions open at once.
        capacity_each: most sessions of one principal.
        lifetime: seconds without use until a session is closed.
        journal: where journals are kept, if anywhere.
        default_session: whether calls without a handle run in their principal's default session.
    """

    catalog: Catalog
    workers: int
    hosts: Hosts
    principals: Principals
    limits: Limits
    capacity: int
    capacity_each: int
    lifetime: float
    journal: Path | None
    default_session: bool


class Supervisor:
    """The parent of a gateway's processes.

    Args:
        gateway: what is served.
        sock: the listening socket of the front.
    """

    def __init__(self, gateway: Gateway, sock: socket.socket) -> None:
        self._gateway = gateway
        self._sock = sock
        self._stop, self._stopper = socket.socketpair()
        self._pid = os.getpid()

    def run(self) -> int:
        """Serve until a signal; the exit code.

        Raises:
            HarnessError: another process owns the journals.
        """
        if self._gateway.journal is not None:
            JournalDirectory(self._gateway.journal)
        gc.collect()
        gc.freeze()
        for sig in (signal.SIGTERM, signal.SIGINT):
            signal.signal(sig, lambda *_: self._stopper.send(b"."))
        with tempfile.TemporaryDirectory(prefix="prove-gateway-") as folder:
            paths = [Path(folder) / str(number) for number in range(self._gateway.workers)]
            sockets = [_unix_socket(path) for path in paths]
            workers = [_Child(partial(self._work, number, sock)) for number, sock in enumerate(sockets)]
            front = _Child(partial(self._front, paths))
            try:
                code = self._watch([*workers, front])
                self._sock.close()
            finally:
                grace = self._gateway.limits.grace + 5.0
                ends = [child.end(grace) for child in (front, *workers)]
        return code or (0 if all(ends) else 1)

    def _watch(self, children: list[_Child]) -> int:
        """Start again what ends, until the signal (0) or until something can't be kept running."""
        while True:
            ended = wait([self._stop, *(child.sentinel for child in children)])
            if self._stop in ended:
                return 0
            for child in children:
                if child.sentinel in ended:
                    code = child.exit_code()
                    if code == _EXIT_REFUSED:
                        return code
                    if not child.restart():
                        print(f"servers: a process ended {MAX_RESTARTS} times in a row; giving up", file=sys.stderr)
                        return 1

    def _work(self, number: int, sock: socket.socket) -> None:
        gateway = self._gateway
        lifecycle = Lifecycle(gateway.limits.grace)
        pool = SessionPool(
            gateway.catalog,
            capacity=_share(gateway.capacity, number, gateway.workers),
            capacity_each=_share(gateway.capacity_each, number, gateway.workers),
            lifetime=gateway.lifetime,
            directory=gateway.journal,
            shard=Shard(number, gateway.workers),
        )
        app = build_worker_app(pool, gateway.limits, lifecycle, Metrics(pool), default_session=gateway.default_session)
        serve(behind_front(app, lifecycle), sock, lifecycle, keep_alive=KEEP_ALIVE, ends=self._orphaned)

    def _front(self, workers: list[Path]) -> None:
        gateway = self._gateway
        lifecycle, metrics = Lifecycle(gateway.limits.grace), Metrics()
        guard = Guard(
            Front(workers, gateway.limits.deadline + WORKER_MARGIN, lifecycle, metrics),
            hosts=gateway.hosts,
            principals=gateway.principals,
            limits=gateway.limits,
            lifecycle=lifecycle,
            metrics=metrics,
        )
        serve(guard, self._sock, lifecycle, ends=self._orphaned)

    def _orphaned(self) -> bool:
        return os.getppid() != self._pid


class _Child:
    """One process that is forked again when it ends."""

    def __init__(self, target: Callable[[], None]) -> None:
        self._target = target
        self._starts: list[float] = []
        self._process = self._fork()

    @property
    def sentinel(self) -> int:
        return self._process.sentinel

    def exit_code(self) -> int | None:
        self._process.join()
        return self._process.exitcode

    def restart(self) -> bool:
        """Start it again; false if it ended too often."""
        now = time.monotonic()
        self._starts = [*(start for start in self._starts if start > now - RESTART_WINDOW), now]
        if len(self._starts) > MAX_RESTARTS:
            return False
        self._process = self._fork()
        return True

    def end(self, seconds: float) -> bool:
        """Let it drain, and end it when it takes longer; whether it ended well."""
        self._process.terminate()
        self._process.join(seconds)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()
        return self._process.exitcode == 0

    def _fork(self) -> ForkProcess:
        process = multiprocessing.get_context("fork").Process(target=_child, args=(self._target,))
        process.start()
        return process


def _child(target: Callable[[], None]) -> None:
    """A forked process's life: Ctrl-C reaches it too, but only its parent may end it."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        target()
    except HarnessError as error:
        print(f"servers: {error}", file=sys.stderr)
        sys.exit(_EXIT_REFUSED)


def _unix_socket(path: Path) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.bind(str(path))
    sock.listen(BACKLOG)
    return sock


def _share(total: int, number: int, of: int) -> int:
    """One worker's part of a limit; the parts add up to it."""
    return total // of + (number < total % of)
