"""Benchmarks of a run, played by one agent after the other; finished tasks survive a kill.

A local policy plays fixed groups of tasks in lock-step: what a batch computes depends, in its last bits, on who
is in it, so a group that was cut off is played anew as a whole and gives the same bytes. Hosted agents answer
each in their own time and go on task by task; masked tasks are tried again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from stages.artifacts import ArtifactError
from stages.evaluate.benchmark import BatchedAgent, Benchmark, BenchmarkUnavailableError, Task, TaskResult
from stages.evaluate.journal import Journal, journal_path
from stages.evaluate.loop import OneByOne, Silent, run_tasks
from stages.evaluate.registry import Floor, Gold, entry_of
from stages.evaluate.scripted_agents import SCRIPTED, ByTask
from stages.evaluate.store import FLOOR, AgentRow, row_from_plain, row_to_plain
from stages.evaluate.streaming import run_streaming
from stages.evaluate.suites import Assignment
from stages.evaluate.summary import sample_tasks
from stages.params import EvaluateParams, HostedParams, ParamsError
from stages.progress import Bar
from stages.train.config import SamplingConfig

if TYPE_CHECKING:
    from stages.evaluate.hosted_agent import Usage


_NOTHING = {"status": "infrastructure"}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A benchmark that is there, and the tasks of it that are played."""

    assignment: Assignment
    benchmark: Benchmark[Any]
    tasks: Sequence[Task]
    gold: Gold | None
    floor: Floor | None = None

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return self.assignment.name


@dataclass(frozen=True, slots=True)
class Played:
    """One agent's rows on one benchmark, in the order of its tasks, and what they took."""

    rows: Sequence[AgentRow]
    took: Mapping[str, float]


def prepare(wanted: Sequence[Assignment], seed: int) -> tuple[list[Prepared], dict[str, str]]:
    """The benchmarks that are there, and those that are not with the cure.

    Raises:
        ArtifactError: one that `params.yaml` names itself is not there.
        ParamsError: a sample names a category that there is not.
    """
    ready: list[Prepared] = []
    unavailable: dict[str, str] = {}
    for assignment in wanted:
        entry = entry_of(assignment.name)
        try:
            benchmark = entry.load(assignment.own, seed)
        except BenchmarkUnavailableError as error:
            if assignment.required:
                raise ArtifactError(f"evaluate.benchmarks.{assignment.name}: {error}") from None
            unavailable[assignment.name] = str(error)
            continue
        try:
            tasks = _draw(benchmark, assignment, seed)
        except ValueError as error:
            raise ParamsError(f"evaluate.benchmarks.{assignment.name}.sample: {error}") from None
        ready.append(Prepared(assignment, benchmark, tasks, entry.gold, entry.floor))
    return ready, unavailable


def _draw(benchmark: Benchmark[Any], assignment: Assignment, seed: int) -> Sequence[Task]:
    tasks = benchmark.tasks()
    if assignment.sample == 0:
        return ()
    return sample_tasks(tasks, None if assignment.sample == "all" else assignment.sample, seed)


def play_local(
    prepared: Prepared,
    name: str,
    policy: Any,
    digest: str,
    params: EvaluateParams,
    sampling: SamplingConfig,
    seed: int,
    bar: Bar,
) -> Played:
    """A local policy, greedily, group by group."""
    from stages.evaluate.policy_agent import PolicyAgent

    made_from = (digest, sampling.model_dump_json(), str(params.max_replies))
    journal = _journal(prepared, name, seed, made_from)
    groups = [prepared.tasks[i : i + params.batch] for i in range(0, len(prepared.tasks), params.batch)]
    for group in groups:
        if all(task.id in journal for task in group):
            bar.advance(len(group))
            continue
        agent = PolicyAgent(policy, sampling)
        run_tasks(
            prepared.benchmark,
            group,
            agent,
            width=len(group),
            max_replies=params.max_replies,
            on_result=_adding(journal, prepared, name, bar, agent.tokens, {}),
        )
    return _in_order(prepared, journal)


def play_hosted(
    prepared: Prepared, name: str, hosted: HostedParams, params: EvaluateParams, seed: int, bar: Bar
) -> Played:
    """An agent behind an API, as many tasks at once as it may have requests."""
    from stages.evaluate.hosted_agent import HostedAgent

    made_from = (hosted.model_dump_json(), str(params.max_replies))
    journal = _journal(prepared, name, seed, made_from)
    missing = [task for task in prepared.tasks if journal.rows.get(task.id, _NOTHING)["status"] == "infrastructure"]
    bar.advance(len(prepared.tasks) - len(missing))
    if missing:
        agent = HostedAgent(hosted, seed)
        try:
            run_streaming(
                prepared.benchmark,
                missing,
                agent,
                width=agent.width,
                seconds=params.task_seconds,
                max_replies=params.max_replies,
                on_result=_adding(journal, prepared, name, bar, {}, agent.usage),
            )
        finally:
            agent.close()
    return _in_order(prepared, journal)


def play_scripted(prepared: Prepared, name: str, params: EvaluateParams) -> Played:
    """A scripted agent; None of it is kept for later, since it is done in no time.

    Raises:
        ParamsError: the agent replays reference calls, and the benchmark offers none.
    """
    start, version = time.monotonic(), prepared.benchmark.version
    if name == FLOOR and prepared.floor is not None:
        results = [prepared.floor(prepared.benchmark, task) for task in prepared.tasks]
    else:
        agent = _scripted(prepared, name)
        results = run_tasks(prepared.benchmark, prepared.tasks, agent, max_replies=params.max_replies)
    return Played([AgentRow(name, version, result) for result in results], {"seconds": time.monotonic() - start})


def _scripted(prepared: Prepared, name: str) -> BatchedAgent:
    if name == FLOOR:
        return OneByOne(Silent())
    gold = prepared.gold
    if gold is None:
        raise ParamsError(f"evaluate.agents: {prepared.name} has no reference calls that {name!r} could replay")
    return ByTask({task.id: SCRIPTED[name](gold(task)) for task in prepared.tasks})


def _journal(prepared: Prepared, name: str, seed: int, made_from: Sequence[str]) -> Journal:
    tasks = "\n".join(task.id for task in prepared.tasks)
    parts = (prepared.benchmark.version, tasks, str(seed), *made_from)
    return Journal(journal_path(prepared.name, name, parts), "task")


def _adding(
    journal: Journal,
    prepared: Prepared,
    name: str,
    bar: Bar,
    tokens: Mapping[str, Sequence[tuple[int, ...]]],
    usage: Mapping[str, Usage],
) -> Callable[[TaskResult], None]:
    """What the loop calls with each row: keep it with what its agent knows of the task, and move the bar."""
    last = time.monotonic()

    def add(result: TaskResult) -> None:
        nonlocal last
        now = time.monotonic()
        used = asdict(usage[result.task_id]) if result.task_id in usage else {}
        replies = tuple(tokens.get(result.task_id, ()))
        row = AgentRow(name, prepared.benchmark.version, result, replies, used)
        written = {"completion_tokens": sum(len(ids) for ids in replies)} if replies else {}
        journal.add(row_to_plain(row), {"seconds": now - last, **written, **used})
        last = now
        bar.advance(1, failed=int(result.status != "scored"))

    return add


def _in_order(prepared: Prepared, journal: Journal) -> Played:
    return Played([row_from_plain(journal.rows[task.id]) for task in prepared.tasks], journal.took)
