"""Limits on the rate of requests, under a clock of the test's own."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from stages.teacher.limits import WINDOW, Limits


class Clock:
    """Time that passes only in sleep."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds
        await asyncio.sleep(0)


def sent(limits: Limits, clock: Clock, tokens: list[int], actual: int | None = None, pace: float = 0.25) -> list[float]:
    """When each request was let through, if one takes `pace` seconds."""
    times: list[float] = []

    async def one(size: int) -> None:
        async with limits.slot(size) as ticket:
            times.append(clock())
            clock.now += pace
            if actual is not None:
                ticket.tokens = actual

    async def everything() -> None:
        for size in tokens:
            await one(size)

    asyncio.run(everything())
    return times


@pytest.mark.parametrize("pace", [0.25, 11.0])
@pytest.mark.parametrize("limit", [1, 3, 7])
def test_no_minute_holds_more_requests_than_allowed(limit: int, pace: float) -> None:
    clock = Clock()
    times = sent(Limits(5, limit, None, clock=clock, sleep=clock.sleep), clock, [1] * 25, pace=pace)
    assert all(sum(start <= t < start + WINDOW for t in times) <= limit for start in times)
    assert times[-1] - times[0] <= WINDOW * (25 // limit) + 25 * pace


def test_no_minute_holds_more_tokens_than_allowed() -> None:
    clock, sizes = Clock(), [40, 30, 30, 1, 99, 5, 60, 60, 20]
    times = sent(Limits(5, None, 100, clock=clock, sleep=clock.sleep), clock, sizes)
    for start in times:
        assert sum(size for t, size in zip(times, sizes, strict=True) if start <= t < start + WINDOW) <= 100


def test_tokens_count_as_they_turned_out() -> None:
    clock = Clock()
    cheap = sent(Limits(1, None, 100, clock=clock, sleep=clock.sleep), clock, [50] * 10, actual=5)
    assert cheap[-1] - cheap[0] < WINDOW
    dear = sent(Limits(1, None, 100, clock=clock, sleep=clock.sleep), clock, [1] * 4, actual=100)
    assert all(b - a >= WINDOW for a, b in pairwise(dear))


def test_a_request_larger_than_the_limit_waits_for_an_empty_minute_and_passes() -> None:
    clock = Clock()
    times = sent(Limits(1, None, 100, clock=clock, sleep=clock.sleep), clock, [10, 500, 10])
    assert times[1] - times[0] >= WINDOW and times[2] - times[1] >= WINDOW


def test_without_limits_nobody_waits() -> None:
    clock = Clock()
    assert sent(Limits(1, clock=clock, sleep=clock.sleep), clock, [10**9] * 50)[-1] < 1000 + 50
