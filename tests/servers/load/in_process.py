"""Load on a pool in this process: bursts, churn, handles."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import psutil

from servers.kernel.catalog import Catalog
from servers.kernel.errors import CapacityError, HarnessError
from servers.kernel.pool import SessionPool
from tests.servers.load.finding import Finding, equal, growth, within
from tests.servers.load.writes import Write


def burst(catalog: Catalog, count: int) -> list[Finding]:
    """Open so many sessions at once; each must be a state of its own."""
    catalog.world(0)
    pool = SessionPool(catalog, capacity=count)
    begin = time.process_time()  # what a neighbour takes of the core is not the pool's
    handles = [pool.open() for _ in range(count)]
    took = time.process_time() - begin
    return [
        within(f"{count:,} sessions opened at once in process", took, 1.0),
        equal(f"{count:,} sessions opened at once in process: different handles", len(set(handles)), count),
        equal("all of them open", len(pool), count),
    ]


def churn(catalog: Catalog, write: Write, count: int) -> list[Finding]:
    """Open, write and close so many sessions after a warm-up of a tenth."""
    pool = SessionPool(catalog)

    def one() -> None:
        handle = pool.open()
        assert pool.call(handle, write.tool, write.arguments).ok
        pool.close(handle)

    before = _resident_after(one, count // 10)
    after = _resident_after(one, count)
    return [
        equal(f"{count:,} opened and closed in process: sessions left", len(pool), 0),
        growth(f"{count:,} opened and closed in process: memory growth", before, after),
    ]


def left_open(catalog: Catalog, write: Write, count: int) -> list[Finding]:
    """Leave so many sessions open, again and again; their lifetime frees them all."""
    now = [0.0]
    pool = SessionPool(catalog, capacity=count, lifetime=60.0, timer=lambda: now[0])

    def fill() -> None:
        for _ in range(count):
            assert pool.call(pool.open(), write.tool, write.arguments).ok
        now[0] += 60.0

    before = _resident_after(fill, 12)
    after = _resident_after(fill, 5)
    return [
        equal(f"{count:,} left open in process: sessions left after the lifetime", len(pool), 0),
        growth(f"5 × {count:,} left open in process: memory growth", before, after),
    ]


def full(catalog: Catalog, write: Write, capacity: int) -> list[Finding]:
    """One session more than fits is refused, and no other one loses its state."""
    pool = SessionPool(catalog, capacity=capacity)
    handles = [pool.open() for _ in range(capacity)]
    for handle in handles[::2]:
        assert pool.call(handle, write.tool, write.arguments).ok
    before = [pool.session(handle).state_hash for handle in handles]
    try:
        pool.open()
        refusal = "none"
    except CapacityError as error:
        refusal = str(error)
    after = [pool.session(handle).state_hash for handle in handles]
    return [
        Finding(f"session {capacity + 1:,} of {capacity:,}", refusal, "refused", f"all {capacity} sessions" in refusal),
        equal("sessions with their state kept", sum(a == b for a, b in zip(before, after, strict=True)), capacity),
        equal("different states among them", len(set(after)), 2),
    ]


def handles(catalog: Catalog, count: int) -> list[Finding]:
    """Handles of two pools never meet, and a foreign one looks like one that nobody minted."""
    one, other = SessionPool(catalog), SessionPool(catalog)
    minted: set[str] = set()
    for _ in range(count // 2):
        for pool in (one, other):
            handle = pool.open()
            minted.add(handle)
            pool.close(handle)
    mine, unknown = one.open(), "0" * 32
    told = [_refusal(other, handle).replace(handle, "HANDLE") for handle in (mine, unknown)]
    bits = min(len(handle) for handle in minted) * 4
    return [
        equal(f"handles minted by two pools, {count:,}: different ones", len(minted), count),
        Finding("bits of a handle", str(bits), "at least 128", bits >= 128),
        equal("a foreign handle is told what an unknown one is", told[0], told[1]),
    ]


def _refusal(pool: SessionPool, handle: str) -> str:
    try:
        pool.call(handle, "list_accounts", {})
    except HarnessError as error:
        return f"{type(error).__name__}: {error}"
    return f"the pool let {handle} in"


def _resident_after(act: Callable[[], None], times: int) -> int:
    for _ in range(times):
        act()
    gc.collect()
    return int(psutil.Process().memory_info().rss)
