"""Servers as real processes on loopback: started, looked at, killed, and started again on the same port."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[3]
START_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a server holds, its worker processes included: resident bytes, open files and sockets, asyncio tasks."""

    resident: int
    descriptors: int
    tasks: int


class ServerProcess:
    """One server; its address stays the same over restarts.

    Args:
        words: what comes after `python -m`; the port is added.
        window: where the process writes its count of tasks; None if it has no such window.
    """

    def __init__(self, words: Sequence[str], window: Path | None = None) -> None:
        self._words, self._window = words, window
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = [sys.executable, "-m", *self._words, "--port", str(self.port)]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        until(self._healthy, START_SECONDS, f"{self._words[0]} at {self.url} did not come up")

    def kill(self) -> None:
        """End it and its workers with SIGKILL."""
        if self._process is None:
            return
        family = [*self._seen().children(recursive=True), self._seen()] if self._process.poll() is None else []
        for member in family:
            member.kill()
        self._process.wait(30)

    def restart(self) -> None:
        """Kill it and start it again."""
        self.kill()
        self.start()

    def sessions(self) -> int:
        """How many sessions it has open."""
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=60)) as web:
            web.request("GET", "/health")
            return int(json.loads(web.getresponse().read())["sessions"])

    def footprint(self) -> Footprint:
        """What it holds now."""
        family = [self._seen(), *self._seen().children(recursive=True)]
        resident = sum(member.memory_info().rss for member in family)
        return Footprint(resident, sum(member.num_fds() for member in family), self._tasks())

    def settled(self, at_rest: Footprint, seconds: float = 60.0) -> Footprint:
        """What it holds once idle connections and their tasks are gone, or after `seconds` if they never go."""
        end = time.monotonic() + seconds
        while True:
            now = self.footprint()
            if (now.descriptors <= at_rest.descriptors and now.tasks <= at_rest.tasks) or time.monotonic() > end:
                return now
            time.sleep(0.2)

    def _tasks(self) -> int:
        assert self._window is not None, "this server has no window"
        self._window.unlink(missing_ok=True)
        self._seen().send_signal(signal.SIGUSR1)
        until(self._window.exists, 30, "the server did not count its tasks")
        return int(self._window.read_text())

    def _seen(self) -> psutil.Process:
        assert self._process is not None
        return psutil.Process(self._process.pid)

    def _healthy(self) -> bool:
        assert self._process is not None and self._process.poll() is None, f"{self._words} ended while it started"
        try:
            return self.sessions() >= 0
        except (OSError, HTTPException, ValueError, KeyError):
            return False


@contextmanager
def serving(*options: str) -> Iterator[ServerProcess]:
    """`python -m servers serve --http` with these options, in a process of its own, for the block."""
    with tempfile.TemporaryDirectory(prefix="window-") as place:
        window = Path(place, "tasks")
        words = ("tests.servers.load.watched", str(window), "serve", "--http", *options)
        with running(ServerProcess(words, window)) as process:
            yield process


@contextmanager
def running(process: ServerProcess) -> Iterator[ServerProcess]:
    """The process, started for the block."""
    try:
        process.start()
        yield process
    finally:
        process.kill()


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def until(condition: Callable[[], bool], seconds: float, otherwise: str) -> float:
    """Wait until the condition holds; the seconds that it took.

    Raises:
        AssertionError: it doesn't in time.
    """
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() - begin < seconds, f"{otherwise} within {seconds:g} s"
        time.sleep(0.05)
    return time.monotonic() - begin
