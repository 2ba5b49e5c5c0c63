"""How much a gateway takes on, and the bucket that counts a principal's requests."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What a gateway refuses or ends.

    Args:
        body: most bytes of one request.
        rate: most requests per second of one principal, with bursts of as many; None for no limit.
        concurrency: most requests in progress at once.
        deadline: seconds within which a call is answered.
        grace: seconds that running calls get to finish after the signal to stop.
    """

    body: int = 1 << 20
    rate: float | None = None
    concurrency: int = 4096
    deadline: float = 30.0
    grace: float = 30.0


class Buckets:
    """One token bucket per principal.

    Args:
        rate: requests per second, and the size of a burst (at least one).
        timer: monotonic seconds.
    """

    def __init__(self, rate: float, timer: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._size = max(rate, 1.0)
        self._timer = timer
        self._levels: dict[str, tuple[float, float]] = {}

    def wait(self, principal: str) -> float:
        """Seconds until the principal may send its next request; 0 takes one out of its bucket now."""
        now = self._timer()
        level, then = self._levels.get(principal, (self._size, now))
        level = min(self._size, level + (now - then) * self._rate)
        wait = 0.0 if level >= 1.0 else (1.0 - level) / self._rate
        self._levels[principal] = (level if wait else level - 1.0, now)
        return wait
