"""The environment of one agent-loop worker: a catalogue in process, and a few threads that work on its sessions.

A tool handler is plain code and could hang. So each piece of work runs in a thread under a deadline: what does not
come back is given up, its slot goes to others, and the event loop with its hundreds of episodes never waits for it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

from servers.kernel.catalog import Catalog
from stages.dataset import RlRow
from stages.rollout import Episode, episode_for
from stages.train.verl.faults import Fault, FaultError

T = TypeVar("T")

SPARE_THREADS = 60
"""Threads that may hang before the worker refuses work."""


class Environment:
    """Opens sessions and works on them.

    `live` counts open episodes, `stuck` threads that did not come back, `seconds` the CPU time spent in sessions.
    """

    def __init__(self, catalog: Catalog, threads: int = 4) -> None:
        self.live = self.stuck = 0
        self.seconds = 0.0
        self._catalog = catalog
        self._slots = asyncio.Semaphore(threads)
        self._pool = ThreadPoolExecutor(threads + SPARE_THREADS, thread_name_prefix="session")
        self._worlds = threading.Lock()

    @asynccontextmanager
    async def episode(self, row: RlRow, max_rounds: int, seconds: float) -> AsyncIterator[Episode]:
        """A session at the moment of the row's turn; it is let go at the end of the block, however that comes.

        Raises:
            FaultError: the earlier calls can't be replayed, or not in time.
        """
        self.live += 1
        try:
            try:
                episode = await self.run(partial(self._open, row, max_rounds), seconds, "open")
            except FaultError:
                raise
            except Exception as error:
                raise FaultError("open", f"row {row.id}: {error}") from error
            yield episode
        finally:
            self.live -= 1

    async def run(self, work: Callable[[], T], seconds: float, late: Fault = "call_deadline") -> T:
        """Do the work in a thread.

        Raises:
            FaultError: it did not come back within `seconds` (of kind `late`), or too many others have not.
        """
        async with self._slots:
            if self.stuck >= SPARE_THREADS:
                raise FaultError("error", f"{self.stuck} threads hang in tool calls: restart the worker")
            future = asyncio.get_running_loop().run_in_executor(self._pool, partial(_timed, work))
            try:
                await asyncio.wait({future}, timeout=seconds)
            finally:
                if not future.done():
                    self.stuck += 1
                    future.add_done_callback(self._came_back)
            if not future.done():
                raise FaultError(late, f"no answer from the environment within {seconds:g} s")
            result, spent = future.result()
            self.seconds += spent
            return result

    def _open(self, row: RlRow, max_rounds: int) -> Episode:
        with self._worlds:
            self._catalog.world(row.world)
        return episode_for(self._catalog, row, max_rounds)

    def _came_back(self, future: asyncio.Future[tuple[T, float]]) -> None:
        self.stuck -= 1
        if not future.cancelled():
            future.exception()


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    begin = time.thread_time()
    return work(), time.thread_time() - begin
