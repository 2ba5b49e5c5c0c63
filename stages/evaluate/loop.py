"""The run loop: many tasks in lock-step against one agent that answers in batches.

Up to `width` episodes are open at a time. Each round asks the agent once for all of them, hands every
answer to its own episode, and fills the seats of those that finished. A batch that fails as a whole is
asked again one by one, so a single impossible prompt costs only its own task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from stages.evaluate.benchmark import Agent, BatchedAgent, Benchmark, Request, TaskResult, TaskT
from stages.evaluate.seat import MAX_REPLIES, Seat, judge, step, take
from stages.records import Message, ToolSpec


@dataclass(frozen=True, slots=True)
class OneByOne:
    """Lets an agent that answers one conversation at a time take a batch."""

    agent: Agent

    def reply_many(self, requests: Sequence[Request]) -> Sequence[Message]:
        """Answer each request in turn."""
        return [self.agent.reply(request.messages, request.tools) for request in requests]


@dataclass(frozen=True, slots=True)
class Silent:
    """The agent that does nothing: the floor beside which every score is printed."""

    def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
        """An empty answer, without a call."""
        return Message("assistant", "")


def run_tasks(
    benchmark: Benchmark[TaskT],
    tasks: Iterable[TaskT],
    agent: BatchedAgent,
    *,
    width: int = 16,
    max_replies: int = MAX_REPLIES,
    on_result: Callable[[TaskResult], None] | None = None,
) -> list[TaskResult]:
    """Play and score every task; one row each, in the order of `tasks`.

    `on_result` hears of each row as it is made (progress bars, files that survive a crash).

    Raises:
        ValueError: `width` leaves no seat.
    """
    if width < 1:
        raise ValueError(f"width {width} leaves no seat: give at least 1")
    rows: dict[int, TaskResult] = {}
    waiting = enumerate(tasks)
    seats: list[Seat[TaskT]] = []

    def keep(seat: Seat[TaskT], reply: Message | Exception | None) -> bool:
        row = step(benchmark, seat, reply, max_replies)
        if row is None:
            return True
        rows[seat.index] = row
        if on_result is not None:
            on_result(row)
        return False

    while True:
        while len(seats) < width and (entry := next(waiting, None)) is not None:
            seat = take(benchmark, *entry)
            if keep(seat, None):
                seats.append(seat)
        if not seats:
            return [rows[index] for index in sorted(rows)]
        replies = _ask(agent, [seat.request for seat in seats])
        seats = [seat for seat, reply in zip(seats, replies, strict=True) if keep(seat, reply)]


def rescore(benchmark: Benchmark[TaskT], rows: Sequence[TaskResult]) -> list[TaskResult]:
    """Score kept episodes again, without the model; rows that never finished stay as they are.

    Raises:
        ValueError: a row is of a task that the benchmark doesn't have.
    """
    tasks = {task.id: task for task in benchmark.tasks()}
    if strangers := [row.task_id for row in rows if row.task_id not in tasks]:
        raise ValueError(
            f"{len(strangers)} rows, such as {strangers[0]!r}, are of tasks that {benchmark.name} "
            f"({benchmark.version}) doesn't have: score them with the version that made them"
        )
    return [row if row.episode is None else judge(benchmark, tasks[row.task_id], row.episode) for row in rows]


def _ask(agent: BatchedAgent, requests: Sequence[Request]) -> list[Message | Exception]:
    """One reply or one problem for each request."""
    try:
        replies = list(agent.reply_many(requests))
        if len(replies) != len(requests):
            raise RuntimeError(f"the agent gave {len(replies)} replies to {len(requests)} requests")
    except Exception as problem:  # noqa: BLE001 - the agent is a stranger; its problem becomes rows
        if len(requests) == 1:
            return [problem]
        return [answer for request in requests for answer in _ask(agent, [request])]
    return list(replies)
