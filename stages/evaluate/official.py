"""The figures of a benchmark's own paper, from the rows of a run, beside the mean of its categories.

Each function takes the benchmark, one agent's rows, its summary and the run's seed. It returns the summary, its
overall score replaced where the paper defines another, and the paper's further figures by name. Where nothing
was scored there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from statistics import fmean
from typing import Any, NamedTuple, TypeAlias

from stages.evaluate.benchmark import Benchmark, TaskResult, unit_of
from stages.evaluate.statistics import interval_of_mean
from stages.evaluate.summary import Summary


class OfficialFigures(NamedTuple):
    """A summary by the paper's rule, and further figures."""

    summary: Summary
    figures: Mapping[str, float | None]


Official: TypeAlias = Callable[[Benchmark[Any], Sequence[TaskResult], Summary, int], OfficialFigures]


def acebench(benchmark: Benchmark[Any], rows: Sequence[TaskResult], summary: Summary, seed: int) -> OfficialFigures:
    """Normal, special and agent parts; the paper's overall score needs all three and is never made up."""
    from stages.evaluate.acebench import ace_scores

    return OfficialFigures(summary, asdict(ace_scores(summary.categories)))


def teval(benchmark: Benchmark[Any], rows: Sequence[TaskResult], summary: Summary, seed: int) -> OfficialFigures:
    """Overall is the mean of the six abilities, not of the categories."""
    from stages.evaluate.teval.abilities import abilities, by_ability

    scores: dict[str, float | None] = {score.ability: score.rate for score in abilities(summary)}
    return OfficialFigures(by_ability(summary), scores)


def tooltalk(benchmark: Benchmark[Any], rows: Sequence[TaskResult], summary: Summary, seed: int) -> OfficialFigures:
    """Precision, recall and the rate of bad actions."""
    from stages.evaluate.tooltalk import figures

    return OfficialFigures(summary, asdict(figures(rows)) if _any_scored(rows) else {})


def nestful(benchmark: Benchmark[Any], rows: Sequence[TaskResult], summary: Summary, seed: int) -> OfficialFigures:
    """F1 of functions and parameters, partial and full sequence accuracy."""
    from stages.evaluate.nestful import figures

    return OfficialFigures(summary, asdict(figures(benchmark.tasks(), rows)) if _any_scored(rows) else {})


def tau2(benchmark: Benchmark[Any], rows: Sequence[TaskResult], summary: Summary, seed: int) -> OfficialFigures:
    """Rates and intervals over tasks rather than episodes, pass^k of each track, and the user model's faults."""
    from stages.evaluate.tau2.trials import score_track

    tracks: dict[str, dict[str, list[TaskResult]]] = {}
    for row in rows:
        tracks.setdefault(row.category, {}).setdefault(unit_of(row.task_id), []).append(row)
    scores = [score_track(name, trials, [], seed) for name, trials in tracks.items()]
    found: dict[str, float | None] = {}
    for score in scores:
        found |= {f"{score.track} pass^{hat.k}": hat.rate for hat in score.pass_hat}
        if score.user.requests:
            found[f"{score.track} user faults"] = score.user.error_rate
    rates = [score.rate for score in scores if score.rate is not None]
    if not rates or len(rates) < len(scores):
        return OfficialFigures(replace(summary, overall=None, interval=None), found)
    ends = [score.interval for score in scores if score.interval is not None]
    return OfficialFigures(replace(summary, overall=fmean(rates), interval=interval_of_mean(rates, ends)), found)


def _any_scored(rows: Sequence[TaskResult]) -> bool:
    return any(row.status != "infrastructure" for row in rows)
