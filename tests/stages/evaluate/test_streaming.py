"""The loop for agents behind a network, with futures that the tests complete, and a clock of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

import pytest

from stages.evaluate.benchmark import Request
from stages.evaluate.streaming import run_streaming
from stages.records import Message
from tests.stages.evaluate.counting import Count, Counting

TICK = Message("assistant", "tick")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Desk:
    """Answers each request by `how`, at once."""

    def __init__(self, how: Callable[[Request, Future[Message]], None]) -> None:
        self.how = how
        self.asked: list[str] = []

    def submit(self, request: Request) -> Future[Message]:
        self.asked.append(request.task)
        future: Future[Message] = Future()
        self.how(request, future)
        return future


def tick(request: Request, future: Future[Message]) -> None:
    future.set_result(TICK)


def test_rows_keep_the_order_of_tasks_whoever_answers_first() -> None:
    tasks = [Count("slow", 1), Count("fast", 3), Count("none", 0)]
    held: list[Future[Message]] = []

    def how(request: Request, future: Future[Message]) -> None:
        if request.task == "slow":
            held.append(future)
        else:
            future.set_result(TICK)

    agent, heard = Desk(how), []
    timer = threading.Timer(0.2, lambda: held[0].set_result(TICK))
    timer.start()
    rows = run_streaming(
        Counting(tasks), tasks, agent, width=2, seconds=30, on_result=lambda r: heard.append(r.task_id)
    )
    assert [row.task_id for row in rows] == ["slow", "fast", "none"]
    assert all(row.score.passed for row in rows)
    assert heard == ["fast", "none", "slow"]
    assert agent.asked == ["slow", "fast", "fast", "fast"]


def test_no_more_tasks_are_open_than_the_width_allows() -> None:
    tasks = [Count(f"t{n}", 2) for n in range(5)]
    open_now: set[str] = set()
    most = 0

    def how(request: Request, future: Future[Message]) -> None:
        nonlocal most
        open_now.add(request.task)
        most = max(most, len(open_now))
        future.set_result(TICK)

    run_streaming(
        Counting(tasks), tasks, Desk(how), width=2, seconds=30, on_result=lambda row: open_now.discard(row.task_id)
    )
    assert most == 2


def test_a_task_that_is_not_over_in_time_is_masked_with_what_was_said() -> None:
    clock = Clock()
    tasks = [Count("late", 3), Count("good", 1)]

    def how(request: Request, future: Future[Message]) -> None:
        if request.task == "late":
            clock.now += 6
        future.set_result(TICK)

    late, good = run_streaming(Counting(tasks), tasks, Desk(how), width=1, seconds=10, clock=clock)
    assert (late.status, late.score.reason) == (
        "infrastructure",
        "InfrastructureError: deadline: not over after 10 seconds",
    )
    assert [m.content for m in late.partial if m.role == "assistant"] == ["tick", "tick"]
    assert good.score.passed


def test_an_answer_that_never_comes_is_given_up_at_the_deadline() -> None:
    asked: list[Future[Message]] = []
    task = Count("hangs", 1)
    row = run_streaming(Counting([task]), [task], Desk(lambda r, f: asked.append(f)), width=1, seconds=0.05)[0]
    assert row.status == "infrastructure"
    assert asked[0].cancelled()


@pytest.mark.parametrize(("problem", "status"), [(ConnectionError("gone"), "infrastructure"), (KeyError("x"), "error")])
def test_a_failing_request_costs_its_task_alone(problem: Exception, status: str) -> None:
    tasks = [Count("bad", 1), Count("good", 1)]

    def how(request: Request, future: Future[Message]) -> None:
        if request.task == "bad":
            future.set_exception(problem)
        else:
            future.set_result(TICK)

    rows = run_streaming(Counting(tasks), tasks, Desk(how), width=2, seconds=30)
    assert [row.status for row in rows] == [status, "scored"]


def test_a_task_without_end_is_stopped_after_its_replies() -> None:
    task = Count("endless", 10**6)
    row = run_streaming(Counting([task]), [task], Desk(tick), width=1, seconds=30, max_replies=5)[0]
    assert (row.status, row.score.passed) == ("error", False)
    assert "no end after 5 replies" in row.score.reason
    assert sum(message.role == "assistant" for message in row.partial) == 5
