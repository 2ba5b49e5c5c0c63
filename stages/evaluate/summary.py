"""From the rows of a run to what a report prints: a rate with its interval for each category.

A rate is the mean credit of its tasks. Where every credit is 0 or 1 it is a share with a Wilson
interval; with partial credit it is a mean with a bootstrap interval. The overall score is the
unweighted mean of the category rates, and the score of doing nothing on the very same tasks stands
beside it. Masked rows leave the denominators and are counted in the open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean

from stages.evaluate.benchmark import BatchedAgent, Benchmark, TaskResult, TaskT, unit_of
from stages.evaluate.loop import OneByOne, Silent, run_tasks
from stages.evaluate.statistics import Interval, bootstrap_mean, interval_of_mean, wilson


@dataclass(frozen=True, slots=True)
class CategoryScore:
    """One category: how many of the scored tasks passed, and their mean credit.

    Rate and interval are None if no task was scored.
    """

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


def summarise(rows: Sequence[TaskResult], seed: int = 0) -> Summary:
    """Rates by category, in order of first appearance, and their unweighted mean.

    `seed` draws the bootstrap of categories with partial credit.
    """
    groups: dict[str, list[TaskResult]] = {}
    for row in rows:
        groups.setdefault(row.category, []).append(row)
    categories = tuple(_category(name, group, seed) for name, group in groups.items())
    rates = [category.rate for category in categories if category.rate is not None]
    if not rates or len(rates) < len(categories):
        return Summary(categories, None, None)
    interval = interval_of_mean(rates, [category.interval for category in categories if category.interval is not None])
    return Summary(categories, sum(rates) / len(rates), interval)


def sample_tasks(tasks: Sequence[TaskT], sample: int | Mapping[str, int] | None, seed: int) -> list[TaskT]:
    """Up to `sample` tasks of each category, drawn by `seed`, in the tasks' own order; None takes all.

    All trials of a task are drawn together and count as one. A mapping gives each category a number of its own;
    categories that it leaves out are not played.

    Raises:
        ValueError: `sample` is below 1, or names a category that there is not.
    """
    if sample is None:
        return list(tasks)
    groups: dict[str, dict[str, list[int]]] = {}
    for index, task in enumerate(tasks):
        groups.setdefault(task.category, {}).setdefault(unit_of(task.id), []).append(index)
    if isinstance(sample, int):
        if sample < 1:
            raise ValueError(f"a sample of {sample} tasks a category scores nothing: give at least 1")
        sizes: Mapping[str, int] = dict.fromkeys(groups, sample)
    else:
        sizes = sample
        if strangers := [name for name in sizes if name not in groups]:
            raise ValueError(f"there is no category {strangers[0]!r}; there are {', '.join(groups)}")
    chosen: set[int] = set()
    for name, size in sizes.items():
        units = list(groups[name].values())
        for trials in Random(f"{seed}:{name}").sample(units, min(size, len(units))):
            chosen.update(trials)
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
    return Measurement(
        benchmark.name, benchmark.version, sample, seed, summarise(rows, seed), summarise(floor, seed), tuple(rows)
    )


def _category(name: str, rows: Sequence[TaskResult], seed: int) -> CategoryScore:
    kept = [row for row in rows if row.status != "infrastructure"]
    credits = [row.score.credit for row in kept]
    errors = sum(row.status == "error" for row in kept)
    counts: Counter[str] = Counter()
    for row in kept:
        counts.update(row.score.counts)
    return CategoryScore(
        category=name,
        passed=sum(row.score.passed for row in kept),
        scored=len(kept),
        errors=errors,
        masked=len(rows) - len(kept),
        rate=fmean(credits) if kept else None,
        interval=_interval(credits, seed) if kept else None,
        counts=dict(sorted(counts.items())),
    )


def _interval(credits: Sequence[float], seed: int) -> Interval:
    """Wilson's interval for a share, which a bootstrap would shrink to a point at 0 and at 1; else a bootstrap."""
    if all(credit in (0, 1) for credit in credits):
        return wilson(round(sum(credits)), len(credits))
    return bootstrap_mean(credits, seed=seed)
