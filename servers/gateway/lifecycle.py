"""Where a gateway stands between its start and its end."""

from __future__ import annotations

import time
from enum import StrEnum


class Phase(StrEnum):
    """Whether a gateway takes requests."""

    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"


class Lifecycle:
    """The phase, and the requests in progress that a drain waits for.

    Args:
        grace: seconds that they get to finish.
    """

    def __init__(self, grace: float = 30.0) -> None:
        self.phase = Phase.STARTING
        self.running = 0
        self.exit_code = 0
        self._grace = grace
        self._end = float("inf")

    def ready(self) -> None:
        """Take requests from now on, unless a drain has begun."""
        if self.phase is Phase.STARTING:
            self.phase = Phase.READY

    def drain(self, exit_code: int = 0) -> None:
        """Take no more requests and let those in progress finish; a second drain changes nothing."""
        if self.phase is not Phase.DRAINING:
            self.phase = Phase.DRAINING
            self.exit_code = exit_code
            self._end = time.monotonic() + self._grace

    @property
    def over(self) -> bool:
        """Whether a drain is done, or out of time."""
        return self.phase is Phase.DRAINING and (self.running == 0 or time.monotonic() >= self._end)
