"""How much faster two processes are than one: synthesis and replay, beside a loop that only counts.

On a machine whose two processors share a core even a loop that only counts gets little from the second one. Its
efficiency, measured in the same minutes, is the ceiling; the ratio of a figure is its efficiency over that of the loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import cache, partial
from multiprocessing import get_context

from stages.synthesize.writer import Writer
from tests.bench.speed.figures import Figure, at_least
from tests.bench.speed.material import chains, context, conversations, jobs
from tests.bench.speed.replay import replay
from tests.bench.speed.timing import Load, Scale, in_turn, middle

WORKERS = 2
TASKS = 4
"""Equal parts of the work; one worker does them all, two do half each."""

_TITLES = {
    "spin": "a loop that only counts",
    "replay": "replay of trajectories",
    "synthesis": "scripted synthesis",
}


def measure(scale: Scale) -> list[Figure]:
    """The figures of the family."""
    with ExitStack() as stack:
        pools = {count: stack.enter_context(ProcessPoolExecutor(count, get_context("spawn"))) for count in (1, WORKERS)}
        for pool in pools.values():
            _run(pool, _warm, 2 * WORKERS)  # each worker loads its servers and teachers
        loads = {
            f"{name} {count}": Load(partial(_run, pool, task, TASKS))
            for name, task in (("spin", _spin), ("replay", _replay), ("synthesis", _synthesize))
            for count, pool in pools.items()
        }
        seconds = in_turn(loads, min(5, scale.repeats), time.perf_counter)
    found = {name: _efficiencies(seconds[f"{name} 1"], seconds[f"{name} {WORKERS}"]) for name in _TITLES}
    figures = []
    for name, title in _TITLES.items():
        value, spread = middle(found[name])
        beside = middle([mine / loop for mine, loop in zip(found[name], found["spin"], strict=True)])[0]
        figures.append(
            Figure(
                name=f"parallel {name}",
                family="parallel",
                title=f"efficiency of {WORKERS} processes over one: {title}",
                value=value,
                unit="of ideal",
                spread=spread,
                reference="" if name == "spin" else "the loop that only counts, in the same minutes",
                ratio=None if name == "spin" else beside,
                targets=() if name == "spin" else (at_least(0.8, "ratio"),),
            )
        )
    return figures


def _efficiencies(one: Sequence[float], more: Sequence[float]) -> list[float]:
    return [alone / (WORKERS * together) for alone, together in zip(one, more, strict=True)]


def _run(pool: ProcessPoolExecutor, task: Callable[[int], object], count: int) -> None:
    list(pool.map(task, range(count)))


def _warm(number: int) -> None:
    _spin(number)
    _replay(number)
    _synthesize(number)
    time.sleep(1)  # so that the other worker takes the next one


def _spin(_: int) -> int:
    count = 0
    for number in range(4_000_000):
        count += number & 1
    return count


def _replay(number: int) -> None:
    replay(conversations()[number % TASKS :: TASKS])


def _synthesize(number: int) -> None:
    writer, loop = _writer()
    loop.run(writer.shard(jobs(25 * TASKS)[number % TASKS :: TASKS]))


@cache
def _writer() -> tuple[Writer, asyncio.Runner]:
    return Writer(context(), chains()), asyncio.Runner()
