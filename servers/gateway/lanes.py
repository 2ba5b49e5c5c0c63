"""Threads that run calls, so that a call that hangs holds up nobody but its lane.

They are daemons: a hung one doesn't keep the process from ending. A standard executor does the same with
twice the overhead per call, and its threads are waited for at the end.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

LANES = 32
"""Calls that run at once; Python gives one of them the processor, but hung ones take a lane each."""


class Lanes:
    """Threads for one event loop; a new one starts when all are busy, up to `LANES`."""

    def __init__(self) -> None:
        self._work: SimpleQueue[tuple[Callable[[], Any], Callable[[Any], None]]] = SimpleQueue()
        self._threads = 0
        self._given = 0

    def run(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        """Run work in a lane, then tell the loop what it returned.

        Args:
            work: what to run; it doesn't raise.
            done: called in the event loop's own thread.
        """
        self._given += 1
        if self._threads < min(self._given, LANES):
            self._threads += 1
            loop = asyncio.get_running_loop()
            threading.Thread(target=self._drive, args=(loop,), name=f"lane {self._threads}", daemon=True).start()
        self._work.put((work, done))

    def _drive(self, loop: asyncio.AbstractEventLoop) -> None:
        while True:
            work, done = self._work.get()
            result = work()
            with suppress(RuntimeError):  # the loop has ended, and nobody waits any more
                loop.call_soon_threadsafe(self._finish, done, result)

    def _finish(self, done: Callable[[Any], None], result: Any) -> None:
        self._given -= 1
        done(result)
