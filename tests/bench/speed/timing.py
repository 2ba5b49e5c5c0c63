"""Loads that are compared take turns, so that what disturbs the machine disturbs them alike.

A figure is the median over the repetitions; its spread are the quartiles. A ratio is the median of the ratios of
neighbours in time, not the ratio of two medians.
"""

from __future__ import annotations

import asyncio
import gc
import math
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tests.bench.speed.figures import Growth

Clock: TypeAlias = Callable[[], float]
Seconds: TypeAlias = Mapping[str, Sequence[float]]
"""For each load the seconds of one unit of its work, one number for each repetition."""


@dataclass(frozen=True, slots=True)
class Load:
    """Something to be timed, and how many units of work one run of it is; `before` is not timed."""

    run: Callable[[], object]
    units: int = 1
    before: Callable[[], object] | None = None


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured: repetitions of each load, and the factors of work for growth."""

    repeats: int
    factors: tuple[int, ...]


FULL = Scale(repeats=9, factors=(1, 10, 100))
QUICK = Scale(repeats=3, factors=(1, 10))


def in_turn(loads: Mapping[str, Load], repeats: int, clock: Clock = time.process_time) -> Seconds:
    """Run every load once to warm up, then all of them in turn, so many times, each other time backwards."""
    found: dict[str, list[float]] = {name: [] for name in loads}
    for load in loads.values():
        _timed(load, clock)
    for name in _turns(list(loads), repeats):
        found[name].append(_timed(loads[name], clock) / loads[name].units)
    return found


async def in_turn_async(
    loads: Mapping[str, tuple[Callable[[], Awaitable[object]], int]], repeats: int, clock: Clock
) -> Seconds:
    """The same for coroutines, given with their units of work."""
    found: dict[str, list[float]] = {name: [] for name in loads}
    for run, _ in loads.values():
        await run()
    for name in _turns(list(loads), repeats):
        run, units = loads[name]
        gc.collect()
        begin = clock()
        await run()
        found[name].append((clock() - begin) / units)
        await asyncio.sleep(0)
    return found


def _turns(names: Sequence[str], repeats: int) -> Iterator[str]:
    for number in range(repeats):
        yield from names if number % 2 == 0 else reversed(names)


def _timed(load: Load, clock: Clock) -> float:
    if load.before:
        load.before()
    gc.collect()
    begin = clock()
    load.run()
    return clock() - begin


def middle(values: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """The median and the quartiles.

    Raises:
        ValueError: there are none.
    """
    if not values:
        raise ValueError("nothing was measured")
    if len(values) == 1:
        return values[0], (values[0], values[0])
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return median, (low, high)


def rate(seconds: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """Units of work a second: the median and the quartiles."""
    return middle([1 / value for value in seconds])


def times_faster(ours: Sequence[float], reference: Sequence[float]) -> float:
    """How many times as long the reference takes: the median over the pairs."""
    return middle([theirs / mine for mine, theirs in zip(ours, reference, strict=True)])[0]


def growth(axis: str, seconds: Mapping[int, Sequence[float]]) -> Growth:
    """From the seconds of the whole work at each size to the exponent of its growth."""
    medians = {size: middle(values)[0] for size, values in seconds.items()}
    return Growth(
        axis=axis,
        sizes=tuple(medians),
        seconds=tuple(medians.values()),
        exponent=exponent(list(medians), list(medians.values())),
    )


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The `k` of the line log(value) = k * log(size) + c through the points by least squares.

    Raises:
        ValueError: there are fewer than two sizes, or a number is not above 0.
    """
    if len(sizes) != len(values):
        raise ValueError(f"{len(sizes)} sizes and {len(values)} values: each size needs one value")
    if min((*sizes, *values), default=0) <= 0:
        raise ValueError("a growth needs sizes and values above 0")
    if len(set(sizes)) < 2:
        raise ValueError(f"a growth needs two different sizes, not {list(sizes)}")
    return statistics.linear_regression([math.log(x) for x in sizes], [math.log(y) for y in values]).slope
