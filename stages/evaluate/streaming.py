"""The run loop for agents behind a network: no conversation waits for another's answer.

Each open task has one request under way. Whichever answer comes first is handed to its episode, which
runs here, one at a time; so a benchmark needs no locks. A task that is not over in time is masked, not
failed: how fast an endpoint is says nothing about the model behind it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Generic

from stages.evaluate.benchmark import Benchmark, InfrastructureError, StreamingAgent, TaskResult, TaskT
from stages.evaluate.seat import MAX_REPLIES, Seat, step, take
from stages.records import Message


@dataclass(slots=True)
class _Open(Generic[TaskT]):
    seat: Seat[TaskT]
    deadline: float


def run_streaming(
    benchmark: Benchmark[TaskT],
    tasks: Iterable[TaskT],
    agent: StreamingAgent,
    *,
    width: int,
    seconds: float,
    max_replies: int = MAX_REPLIES,
    on_result: Callable[[TaskResult], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> list[TaskResult]:
    """Play and score every task, up to `width` at once; one row each, in the order of `tasks`.

    `seconds` is what one task may take, its environment included.

    Raises:
        ValueError: `width` leaves no seat.
    """
    if width < 1:
        raise ValueError(f"width {width} leaves no seat: give at least 1")
    rows: dict[int, TaskResult] = {}
    waiting = enumerate(tasks)
    under_way: dict[Future[Message], _Open[TaskT]] = {}

    def go_on(place: _Open[TaskT], reply: Message | Exception | None) -> None:
        row = step(benchmark, place.seat, reply, max_replies)
        if row is None and clock() >= place.deadline:
            row = step(benchmark, place.seat, _late(seconds), max_replies)
        if row is None:
            under_way[agent.submit(place.seat.request)] = place
            return
        rows[place.seat.index] = row
        if on_result is not None:
            on_result(row)

    while True:
        while len(under_way) < width and (entry := next(waiting, None)) is not None:
            go_on(_Open(take(benchmark, *entry), clock() + seconds), None)
        if not under_way:
            return [rows[index] for index in sorted(rows)]
        nearest = min(place.deadline for place in under_way.values())
        done, _ = wait(under_way, timeout=max(0.0, nearest - clock()), return_when=FIRST_COMPLETED)
        for future in [f for f, place in under_way.items() if f in done or place.deadline <= clock()]:
            place = under_way.pop(future)
            go_on(place, _answer(future) if future in done else _given_up(future, seconds))


def _answer(future: Future[Message]) -> Message | Exception:
    problem = InfrastructureError("the request was cancelled") if future.cancelled() else future.exception()
    if problem is None:
        return future.result()
    return problem if isinstance(problem, Exception) else InfrastructureError(f"{type(problem).__name__}: {problem}")


def _given_up(future: Future[Message], seconds: float) -> InfrastructureError:
    future.cancel()
    return _late(seconds)


def _late(seconds: float) -> InfrastructureError:
    return InfrastructureError(f"deadline: not over after {seconds:g} seconds")
