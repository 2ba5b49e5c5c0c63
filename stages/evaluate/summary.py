"""From the rows of a run to what a report prints: a rate with its interval for each category.

The overall score is the unweighted mean of the category rates, and the score of doing nothing on the
very same tasks stands beside it. Masked rows leave the denominators and are counted in the open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from stages.evaluate.benchmark import BatchedAgent, Benchmark, TaskResult, TaskT
from stages.evaluate.loop import OneByOne, Silent, run_tasks
from stages.evaluate.statistics import Interval, wilson, wilson_mean


@dataclass(frozen=True, slots=True)
class CategoryScore:
    """One category: how many of the scored tasks passed; rate and interval are None if none was."""

    category: str
    passed: int
    scored: int
    errors: int
    masked: int
    rate: float | None
    interval: Interval | None
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Summary:
    """A run in numbers; `overall` is None unless every category has a rate."""

    categories: tuple[CategoryScore, ...]
    overall: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Measurement:
    """A run of one agent on one benchmark, its floor, and every row behind it."""

    benchmark: str
    version: str
    sample: int | None
    seed: int
    summary: Summary
    do_nothing: Summary
    rows: tuple[TaskResult, ...]


def summarise(rows: Sequence[TaskResult]) -> Summary:
    """Rates by category, in order of first appearance, and their unweighted mean."""
    groups: dict[str, list[TaskResult]] = {}
    for row in rows:
        groups.setdefault(row.category, []).append(row)
    categories = tuple(_category(name, group) for name, group in groups.items())
    rates = [category.rate for category in categories if category.rate is not None]
    if not rates or len(rates) < len(categories):
        return Summary(categories, None, None)
    interval = wilson_mean([(category.passed, category.scored) for category in categories])
    return Summary(categories, sum(rates) / len(rates), interval)


def sample_tasks(tasks: Sequence[TaskT], sample: int | None, seed: int) -> list[TaskT]:
    """Up to `sample` tasks of each category, drawn by `seed`, in the tasks' own order; None takes all.

    Raises:
        ValueError: `sample` is below 1.
    """
    if sample is None:
        return list(tasks)
    if sample < 1:
        raise ValueError(f"a sample of {sample} tasks a category scores nothing: give at least 1")
    groups: dict[str, list[int]] = {}
    for index, task in enumerate(tasks):
        groups.setdefault(task.category, []).append(index)
    chosen: set[int] = set()
    for name, indices in groups.items():
        chosen.update(Random(f"{seed}:{name}").sample(indices, min(sample, len(indices))))
    return [tasks[index] for index in sorted(chosen)]


def measure(
    benchmark: Benchmark[TaskT],
    agent: BatchedAgent,
    *,
    sample: int | None = None,
    seed: int = 0,
    width: int = 16,
    on_result: Callable[[TaskResult], None] | None = None,
) -> Measurement:
    """Run an agent and the do-nothing floor over the same tasks.

    `sample` is a number of tasks per category, drawn by `seed`; None runs all.
    """
    tasks = sample_tasks(benchmark.tasks(), sample, seed)
    rows = run_tasks(benchmark, tasks, agent, width=width, on_result=on_result)
    floor = run_tasks(benchmark, tasks, OneByOne(Silent()), width=width)
    return Measurement(benchmark.name, benchmark.version, sample, seed, summarise(rows), summarise(floor), tuple(rows))


def _category(name: str, rows: Sequence[TaskResult]) -> CategoryScore:
    kept = [row for row in rows if row.status != "infrastructure"]
    passed = sum(row.score.passed for row in kept)
    errors = sum(row.status == "error" for row in kept)
    counts: Counter[str] = Counter()
    for row in kept:
        counts.update(row.score.counts)
    return CategoryScore(
        category=name,
        passed=passed,
        scored=len(kept),
        errors=errors,
        masked=len(rows) - len(kept),
        rate=passed / len(kept) if kept else None,
        interval=wilson(passed, len(kept)) if kept else None,
        counts=dict(counts),
    )
