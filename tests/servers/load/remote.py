"""The rollout code on servers behind MCP: a catalogue and sessions whose calls travel through `McpRouter`.

The episode, the run loop and the scoring are the pipeline's own; only the session lies elsewhere. A fault of the
transport ends its episode as an infrastructure failure, as a lost server should.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from typing import Any, TypeVar

from servers.kernel.catalog import Catalog
from servers.kernel.errors import HarnessError
from servers.kernel.router import McpRouter
from servers.kernel.server import Outcome
from servers.kernel.store import Effects
from stages.dataset import RlRow
from stages.episodes import Scorer
from stages.evaluate.benchmark import Episode as Playing
from stages.evaluate.benchmark import InfrastructureError, Request
from stages.evaluate.row_benchmark import RowBenchmark, RowTask
from stages.rollout import Episode

T = TypeVar("T")
PATIENCE = 60.0
NO_DEADLINES: Mapping[str, float] = {}
NO_EFFECTS = Effects(frozenset(), frozenset())


class Bridge:
    """An event loop in a thread of its own, for code that waits."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for the work.

        Raises:
            InfrastructureError: the transport failed or the harness refused.
        """
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        except (HarnessError, OSError) as error:
            raise InfrastructureError(f"{type(error).__name__}: {error}") from error

    def stop(self) -> None:
        """End the loop and its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class RemoteSession:
    """A session at the other end of a router."""

    def __init__(self, bridge: Bridge, router: McpRouter, world: int) -> None:
        self._bridge, self.router = bridge, router
        self.handle = bridge.run(router.open(world))

    @property
    def state_hash(self) -> str:
        """Hash of the session's rows."""
        return self._bridge.run(self.router.state_hash(self.handle))

    def user_turn(self) -> None:
        """Let the time between two user messages pass."""
        self._bridge.run(self.router.user_turn(self.handle))

    def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        """Run one call.

        Raises:
            InfrastructureError: the answer says nothing about the caller.
        """
        answer = self._bridge.run(self.router.call(self.handle, name, arguments))
        if answer.infrastructure:
            raise InfrastructureError(f"{answer.error_code}: {answer.text}")
        return Outcome(answer.ok, answer.text, answer.error_code, NO_EFFECTS)

    def close(self) -> None:
        """Close it, if anybody is there to hear it."""
        with suppress(InfrastructureError):
            self._bridge.run(self.router.close(self.handle))


class RemoteCatalog(Catalog):
    """The catalogue with its calls sent to wherever the session is."""

    def call(self, session: Any, name: str, arguments: Mapping[str, Any]) -> Outcome:
        """Run one call in a remote session."""
        return session.call(name, arguments)


class RemoteRows(RowBenchmark):
    """Rows against sessions of server processes.

    Args:
        catalog: all servers of the rows, as they are in this process.
        rows: what is played.
        scorer: the reward.
        routers: the way to each server.
    """

    def __init__(
        self,
        catalog: Catalog,
        rows: Sequence[RlRow],
        scorer: Scorer,
        bridge: Bridge,
        routers: Mapping[str, McpRouter],
        max_rounds: int = 12,
    ) -> None:
        super().__init__("load", catalog, rows, scorer, max_rounds)
        self._remote, self._bridge, self._routers = RemoteCatalog(catalog.servers.values()), bridge, routers

    def play(self, task: RowTask) -> Playing:
        """The turn, from its user message on, in a session of its row's server."""
        row = task.row
        session: Any = RemoteSession(self._bridge, self._routers[row.server], row.world)
        try:
            for replayed in row.replay:
                self._remote.redo(session, replayed.name, replayed.arguments)
            episode = Episode(self._remote, session, row.tools, row.messages, self._max_rounds)
            while not episode.done:
                episode.respond((yield Request(tuple(episode.messages), row.tools)))
            return episode.finish()
        finally:
            session.close()


@contextmanager
def connected(
    urls: Mapping[str, str], deadlines: Mapping[str, float] = NO_DEADLINES
) -> Iterator[tuple[Bridge, dict[str, McpRouter]]]:
    """A router to each server, by its name, and the loop that they live in; `PATIENCE` is the usual deadline."""
    bridge, stack = Bridge(), AsyncExitStack()

    async def enter(name: str) -> McpRouter:
        return await stack.enter_async_context(McpRouter(urls[name], deadlines.get(name, PATIENCE)))

    try:
        yield bridge, {name: bridge.run(enter(name)) for name in urls}
    finally:
        bridge.run(stack.aclose())
        bridge.stop()
