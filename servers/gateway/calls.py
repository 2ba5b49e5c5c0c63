"""Calls off the event loop, one at a time per session, each with a deadline.

A tool's handler is synchronous code and runs in a lane, so that a handler that hangs holds up nobody else:
the gateway goes on answering. A call that is not done by its deadline gets a typed `timeout` error. If it
had not begun, its session is as it was. If it had, nobody can say what it will still do, so its session is
closed and its journal removed: the late handler goes on with objects that nothing can reach, and the
session is never seen half-changed. A call whose client went away runs to its end.

A lane that hangs can't be freed. After `MAX_STUCK` of them the process drains and ends with exit code 70
for its supervisor to start it again, with its journalled sessions.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from servers.gateway.lanes import Lanes
from servers.gateway.lifecycle import Lifecycle
from servers.gateway.metrics import Metrics
from servers.kernel.errors import HarnessError, KernelFault
from servers.kernel.pool import SessionPool
from servers.kernel.server import Outcome
from servers.kernel.session import Session
from servers.kernel.store import Effects

T = TypeVar("T")

MAX_STUCK = 8
"""Hung calls after which the process asks to be started anew."""

EXIT_STUCK = 70
"""Exit code of a process that gave up its hung calls (EX_SOFTWARE of sysexits.h)."""


@dataclass(slots=True, eq=False)
class _Job:
    """One call; whoever takes its claim first, the lane or the deadline, decides whether it begins."""

    handle: str
    tool: str
    arguments: Mapping[str, Any]
    principal: str
    answer: asyncio.Future[Outcome]
    claim: threading.Lock = field(default_factory=threading.Lock)
    timer: asyncio.TimerHandle | None = None
    late: bool = False


class Calls:
    """Runs calls in a pool's sessions; one event loop drives it.

    Args:
        pool: the sessions.
        deadline: seconds within which a call is answered.
        lifecycle: counts the calls that run, and is told when too many hang.
        metrics: counts the calls.
    """

    def __init__(self, pool: SessionPool, deadline: float, lifecycle: Lifecycle, metrics: Metrics) -> None:
        self._pool = pool
        self._deadline = deadline
        self._lifecycle = lifecycle
        self._metrics = metrics
        self._lanes = Lanes()
        self._queues: dict[str, deque[Callable[[], None]]] = {}
        self._worlds = asyncio.Lock()
        self._stuck = 0

    async def open(self, seed: int, principal: str) -> str:
        """Open a session; a world that nobody has used yet is built off the loop.

        Raises:
            CapacityError: the pool is full, or the principal has its share.
        """
        async with self._worlds:
            await asyncio.to_thread(self._pool.catalog.world, seed)
            return self._pool.open(seed, principal)

    async def call(self, handle: str, tool: str, arguments: Mapping[str, Any], principal: str) -> Outcome:
        """Run one call.

        Raises:
            UnknownToolError: no tool has exactly this name.
            HarnessError: the principal has no such session, or its journal can't be written.
        """
        begin = time.perf_counter()
        server, result = "", "refused"
        try:
            self._pool.session(handle, principal)
            server = self._pool.catalog.entry(tool).server.name
            outcome = await self._submit(handle, tool, arguments, principal)
            result = _kind(outcome)
        finally:
            self._metrics.called(server, result, time.perf_counter() - begin)
        return outcome

    async def alone(self, handle: str, principal: str, step: Callable[[Session], T]) -> T:
        """Take a quick step with a session, once no call runs in it.

        Raises:
            HarnessError: the principal has no such session.
        """
        self._pool.session(handle, principal)
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def take() -> None:
            try:
                result = step(self._pool.session(handle, principal))
            except HarnessError as error:
                _answer(answer, error)
            else:
                _answer(answer, result)
            self._next(handle)

        self._enter(handle, take)
        return await answer

    async def _submit(self, handle: str, tool: str, arguments: Mapping[str, Any], principal: str) -> Outcome:
        loop = asyncio.get_running_loop()
        job = _Job(handle, tool, arguments, principal, loop.create_future())
        job.timer = loop.call_later(self._deadline, self._expire, job)
        self._lifecycle.running += 1
        self._enter(handle, partial(self._start, job))
        return await job.answer

    def _enter(self, handle: str, step: Callable[[], None]) -> None:
        """Take a session's next step now, or after those before it."""
        queue = self._queues.get(handle)
        if queue is None:
            self._queues[handle] = deque()
            step()
        else:
            queue.append(step)

    def _next(self, handle: str) -> None:
        queue = self._queues[handle]
        if queue:
            asyncio.get_running_loop().call_soon(queue.popleft())
        else:
            del self._queues[handle]

    def _start(self, job: _Job) -> None:
        if job.claim.locked():  # its deadline passed while it waited
            self._next(job.handle)
            return
        try:
            session = self._pool.begin(job.handle, job.principal)
        except HarnessError as error:
            self._settle(job, error)
            self._next(job.handle)
            return

        def work() -> Outcome | None:
            if not job.claim.acquire(blocking=False):
                return None
            return self._pool.catalog.call(session, job.tool, job.arguments)

        self._lanes.run(work, partial(self._done, job))

    def _done(self, job: _Job, outcome: Outcome | None) -> None:
        """Take a call's outcome out of its lane; None for one that was not begun."""
        if job.late:
            self._stuck -= 1
            return
        try:
            self._pool.record(job.handle)
        except HarnessError as error:
            self._settle(job, error)
        except Exception:
            self._settle(job, HarnessError("the call could not be recorded; the gateway's log says why"))
            raise
        else:
            if outcome is not None:
                self._settle(job, outcome)
        finally:
            self._next(job.handle)

    def _expire(self, job: _Job) -> None:
        if job.claim.acquire(blocking=False):
            self._settle(job, _timeout(job.tool, self._deadline, "it had not begun, and changed nothing"))
            return
        job.late = True
        self._stuck += 1
        reason = f"the session was closed when a call in it was not done within {self._deadline:g} s; open a new one"
        self._pool.abandon(job.handle, reason)
        self._settle(job, _timeout(job.tool, self._deadline, "its session was closed"))
        self._next(job.handle)
        if self._stuck >= MAX_STUCK:
            self._lifecycle.drain(EXIT_STUCK)

    def _settle(self, job: _Job, result: Outcome | HarnessError) -> None:
        if job.timer is not None:
            job.timer.cancel()
        self._lifecycle.running -= 1
        _answer(job.answer, result)


def _answer(future: asyncio.Future[Any], result: object) -> None:
    """Answer whoever waits; one that left gets nothing."""
    if future.done():
        return
    if isinstance(result, HarnessError):
        future.set_exception(result)
    else:
        future.set_result(result)


def _timeout(tool: str, deadline: float, what: str) -> Outcome:
    message = f"{tool} did not answer within {deadline:g} s; {what}"
    return Outcome.failure(str(KernelFault.TIMEOUT), message, Effects(frozenset(), frozenset()))


def _kind(outcome: Outcome) -> str:
    """The outcome as a word of a closed list: a server's own error codes are all `tool_error`."""
    if outcome.ok:
        return "ok"
    return outcome.error_code if outcome.error_code in (KernelFault.INTERNAL, KernelFault.TIMEOUT) else "tool_error"
