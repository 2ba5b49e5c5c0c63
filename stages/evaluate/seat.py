"""A seat: one open episode of a task, and the steps that bring it to its row.

Nothing that one task does can end a run. Whatever breaks in its set-up, in the middle or in its scoring
becomes the task's row, with what had been said until then. So does a task that does not come to an end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, Literal

from stages.evaluate.benchmark import Benchmark, Episode, InfrastructureError, Request, Score, TaskResult, TaskT
from stages.records import EpisodeRecord, Message

MAX_REPLIES = 200
"""Replies of one task, unless told otherwise."""

_REASON_LENGTH = 500
_MASKED = (InfrastructureError, ConnectionError, TimeoutError)


class TooManyRepliesError(RuntimeError):
    """The agent used up its replies before the task came to its end."""


@dataclass(slots=True)
class Seat(Generic[TaskT]):
    """An open episode and what it waits for."""

    index: int
    task: TaskT
    episode: Episode
    request: Request = field(default_factory=lambda: Request((), ()))
    replies: int = 0


def take(benchmark: Benchmark[TaskT], index: int, task: TaskT) -> Seat[TaskT]:
    """A seat for a task; its set-up begins with the first step, so that a failing one is the task's row too."""
    return Seat(index, task, _open(benchmark, task))


def step(
    benchmark: Benchmark[TaskT], seat: Seat[TaskT], reply: Message | Exception | None, max_replies: int = MAX_REPLIES
) -> TaskResult | None:
    """Hand a seat its reply, an agent's problem, or at first nothing; None while it has more to ask, else its row."""
    said = tuple(seat.request.messages)
    try:
        if isinstance(reply, Exception):
            seat.episode.close()
            raise reply
        if reply is not None:
            said = (*said, reply)
        request = next(seat.episode) if reply is None else seat.episode.send(reply)
        seat.request = request._replace(task=seat.task.id)
        seat.replies += 1
        if seat.replies > max_replies:
            said = tuple(request.messages)
            seat.episode.close()
            raise TooManyRepliesError(f"no end after {max_replies} replies")
    except StopIteration as end:
        return judge(benchmark, seat.task, end.value)
    except Exception as problem:  # noqa: BLE001 - a task's breakdown is its row, whatever it was
        return _broken(seat.task, problem, partial=said)
    return None


def judge(benchmark: Benchmark[TaskT], task: TaskT, episode: EpisodeRecord) -> TaskResult:
    """The row of a finished episode."""
    if episode.stop == "infrastructure":
        return TaskResult(task.id, task.category, "infrastructure", Score(False, "infrastructure"), episode)
    try:
        score = benchmark.score(task, episode)
    except Exception as problem:  # noqa: BLE001 - an episode that can't be scored is a row too
        return _broken(task, problem, episode=episode)
    return TaskResult(task.id, task.category, "scored", score, episode)


def _open(benchmark: Benchmark[TaskT], task: TaskT) -> Episode:
    return (yield from benchmark.play(task))


def _broken(
    task: TaskT,
    problem: Exception,
    *,
    episode: EpisodeRecord | None = None,
    partial: tuple[Message, ...] = (),
) -> TaskResult:
    reason = f"{type(problem).__name__}: {problem}"[:_REASON_LENGTH]
    status: Literal["infrastructure", "error"] = "infrastructure" if isinstance(problem, _MASKED) else "error"
    return TaskResult(task.id, task.category, status, Score(False, reason), episode, partial)
