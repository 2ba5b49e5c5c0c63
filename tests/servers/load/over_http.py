"""Load on a server process, over HTTP through the router: bursts, churn, killed clients, sessions left open."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from servers.kernel.errors import HarnessError
from servers.kernel.router import McpRouter
from tests.servers.load.clients import PATIENCE, TOOL, kill_clients
from tests.servers.load.finding import Finding, equal, growth, within
from tests.servers.load.processes import Footprint, ServerProcess, serving, until
from tests.servers.load.writes import Write

T = TypeVar("T")
_HANDLE = re.compile(r"[0-9a-f]{32}(-\d+)?")
IDLE_CONNECTIONS = 5.0
"""Seconds after which the server drops a connection on which nothing is said."""

SLACK = 5.0
"""Seconds by which a look at a busy server may come late."""


async def burst(server: ServerProcess, count: int) -> list[Finding]:
    """Open so many sessions at once, call in each at once, close them at once; nothing may get lost."""
    async with McpRouter(server.url, deadline=PATIENCE) as router:
        begin = time.monotonic()
        opened = await _all([router.open() for _ in range(count)])
        took = time.monotonic() - begin
        handles = [handle for handle in opened if isinstance(handle, str)]
        most = server.sessions()
        answers = await _all([router.call(handle, TOOL, {}) for handle in handles])
        closed = await _all([router.close(handle) for handle in handles])
    told = [f"open: {error}" for error in opened if isinstance(error, BaseException)]
    told += [f"call: {getattr(answer, 'text', answer)}" for answer in answers if not getattr(answer, "ok", False)]
    told += [f"close: {error}" for error in closed if isinstance(error, BaseException)]
    name = f"{count:,} sessions at once over HTTP"
    return [
        equal(f"{name}: opened", len(set(handles)), count),
        equal(f"{name}: open side by side", most, count),
        equal(f"{name}: calls answered well", sum(getattr(answer, "ok", False) for answer in answers), count),
        equal(f"{name}: failures", dict(Counter(_HANDLE.sub("HANDLE", text) for text in told)), {}),
        within(f"{name}: until the last was open", took, PATIENCE),
        equal(f"{name}: left after closing", server.sessions(), 0),
    ]


async def overfull(write: Write, capacity: int, surplus: int) -> list[Finding]:
    """Open more sessions at once than fit: the surplus is refused in words, and the others keep their state."""
    with serving("--server", "banking", "--capacity", str(capacity)) as server:
        async with McpRouter(server.url, deadline=PATIENCE) as router:
            opened = await _all([router.open() for _ in range(capacity + surplus)])
            handles = [handle for handle in opened if isinstance(handle, str)]
            for handle in handles[::2]:
                assert (await router.call(handle, write.tool, write.arguments)).ok
            before = [await router.state_hash(handle) for handle in handles]
            late = await _all([router.open()])
            after = [await router.state_hash(handle) for handle in handles]
    refusals = {str(error) for error in (*opened, *late) if isinstance(error, HarnessError)}
    return [
        equal(f"{capacity + surplus} sessions at once where {capacity} fit: opened", len(handles), capacity),
        equal("sessions with their state kept", sum(a == b for a, b in zip(before, after, strict=True)), capacity),
        equal("different states among them", len(set(after)), 2),
        Finding("the surplus is told", "; ".join(refusals), f"all {capacity} sessions are in use",
                len(refusals) == 1 and f"all {capacity} sessions are in use" in refusals.pop()),
    ]  # fmt: skip


async def named_failures(write: Write) -> list[Finding]:
    """What a failed call and a failed opening say of themselves once the server is gone."""
    with serving("--server", "banking") as server:
        async with McpRouter(server.url, deadline=10.0) as router:
            handle = await router.open()
            server.kill()
            answer = await router.call(handle, write.tool, write.arguments)
            (refused,) = await _all([router.open()])
    parts = {"server": server.url, "tool": write.tool, "session": handle[:8], "attempt": "attempt"}
    named = [part for part, text in parts.items() if text in answer.text]
    return [
        Finding(f"a call to a lost server is told {answer.text!r}, which names", ", ".join(named), ", ".join(parts),
                named == list(parts)),
        Finding("opening a session at a lost server", f"{type(refused).__name__}: {refused}", "names the server",
                isinstance(refused, HarnessError) and server.url in str(refused)),
    ]  # fmt: skip


async def churn(server: ServerProcess, count: int, width: int = 8) -> list[Finding]:
    """Open, call and close so many sessions after a warm-up, a few at a time."""

    async def worker(times: int) -> None:
        for _ in range(times):
            handle = await router.open()
            assert (await router.call(handle, TOOL, {})).ok
            await router.close(handle)

    async with McpRouter(server.url, deadline=PATIENCE) as router:
        await asyncio.gather(*(worker(max(count // 4, 200) // width) for _ in range(width)))
        before = server.footprint().resident
        await asyncio.gather(*(worker(count // width) for _ in range(width)))
        after = server.footprint().resident
    name = f"{count // width * width:,} opened and closed over HTTP"
    return [
        equal(f"{name}: sessions left", server.sessions(), 0),
        growth(f"{name}: memory growth", before, after),
    ]


def killed_clients(server: ServerProcess, count: int, wave: int, lifetime: float) -> list[Finding]:
    """Kill so many clients with SIGKILL; what they had must be gone within the lifetime."""
    kill_clients(server.url, wave, wave, seed=0)
    at_rest = _at_rest(server, lifetime)
    killed = kill_clients(server.url, count, wave)
    took = until(lambda: server.sessions() == 0, lifetime + PATIENCE, "sessions of killed clients are still open")
    return [
        equal("clients killed with SIGKILL", killed, count),
        within(f"{count:,} clients killed: sessions gone after the last kill", took, lifetime + SLACK),
        *_nothing_kept(f"{count:,} clients killed", server, at_rest),
    ]


async def left_open(server: ServerProcess, count: int, lifetime: float) -> list[Finding]:
    """Open so many sessions and never come back."""
    async with McpRouter(server.url, deadline=PATIENCE) as router:
        await router.close(await router.open())
    at_rest = _at_rest(server, lifetime)
    async with McpRouter(server.url, deadline=PATIENCE) as router:
        for _ in range(count):
            await router.open()
    took = until(lambda: server.sessions() == 0, lifetime + PATIENCE, "sessions left open are still there")
    return [
        within(f"{count:,} sessions left open: gone after the last was opened", took, lifetime + SLACK),
        *_nothing_kept(f"{count:,} sessions left open", server, at_rest),
    ]


def _at_rest(server: ServerProcess, lifetime: float) -> Footprint:
    until(lambda: server.sessions() == 0, lifetime + PATIENCE, "the warm-up's sessions are still open")
    time.sleep(IDLE_CONNECTIONS + 1)
    return server.footprint()


def _nothing_kept(name: str, server: ServerProcess, at_rest: Footprint) -> list[Finding]:
    now = server.settled(at_rest)
    return [
        Finding(f"{name}: file descriptors", str(now.descriptors), f"at most {at_rest.descriptors}",
                now.descriptors <= at_rest.descriptors),
        Finding(f"{name}: tasks", str(now.tasks), f"at most {at_rest.tasks}", now.tasks <= at_rest.tasks),
        growth(f"{name}: memory growth", at_rest.resident, now.resident),
    ]  # fmt: skip


async def _all(works: Sequence[Awaitable[T]]) -> list[T | BaseException]:
    return await asyncio.gather(*works, return_exceptions=True)
