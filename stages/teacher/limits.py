"""How fast a teacher may be asked: requests at once, and requests and tokens in any sixty seconds.

The window slides, so no sixty seconds ever hold more than the limit. Tokens are estimated when a request is
sent and put right when its answer says what it took.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

WINDOW = 60.0
"""Seconds over which requests and tokens are counted."""


@dataclass(slots=True)
class Ticket:
    """One request within the window; its holder sets `tokens` when the true number is known."""

    at: float
    tokens: int


class Limits:
    """The limits of one model.

    Args:
        concurrency: requests at once.
        requests_per_minute: requests in the window, or None for no limit.
        tokens_per_minute: tokens in the window, or None; a request that alone exceeds it waits for an empty window.
        clock: seconds from any fixed moment.
        sleep: waits so many seconds.
    """

    def __init__(
        self,
        concurrency: int,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._slots = asyncio.Semaphore(concurrency)
        self._turn = asyncio.Lock()
        self._requests, self._tokens = requests_per_minute, tokens_per_minute
        self._sent: deque[Ticket] = deque()
        self._clock, self._sleep = clock, sleep

    @asynccontextmanager
    async def slot(self, tokens: int) -> AsyncIterator[Ticket]:
        """Wait until a request of about so many tokens may be sent, and hold its place until the block ends."""
        async with self._slots:
            async with self._turn:
                while (wait := self._wait(tokens)) > 0:
                    await self._sleep(wait)
                ticket = Ticket(self._clock(), tokens)
                if self._requests is not None or self._tokens is not None:
                    self._sent.append(ticket)
            yield ticket

    def _wait(self, tokens: int) -> float:
        """Seconds until the oldest request leaves the window, or 0 if there is room now."""
        now = self._clock()
        while self._sent and now - self._sent[0].at >= WINDOW:
            self._sent.popleft()
        crowded = self._requests is not None and len(self._sent) >= self._requests
        used = sum(ticket.tokens for ticket in self._sent)
        heavy = self._tokens is not None and bool(self._sent) and used + tokens > self._tokens
        return WINDOW - (now - self._sent[0].at) if crowded or heavy else 0.0
