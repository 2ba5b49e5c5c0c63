"""The stage's metrics: figures of held-out rows and of benchmarks, from their stored rows alone.

A run and a rescoring make them the same way, so stored rows are all that a figure rests on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from stages.episodes import ScoredEpisode
from stages.evaluate.benchmark import Benchmark, unit_of
from stages.evaluate.official import Official, OfficialFigures
from stages.evaluate.row_figures import differences, summarise
from stages.evaluate.statistics import paired_difference
from stages.evaluate.store import FLOOR, AgentRow
from stages.evaluate.summary import summarise as summarise_tasks


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How intervals are drawn."""

    seed: int
    resamples: int


def row_metrics(
    sets: Mapping[str, Mapping[str, Sequence[ScoredEpisode]]], bootstrap: Bootstrap
) -> dict[str, dict[str, Any]]:
    """Each agent's figures on each set of held-out rows beside the floor, and the paired differences."""
    return {name: _set_metrics(played, bootstrap) for name, played in sets.items()}


def _set_metrics(played: Mapping[str, Sequence[ScoredEpisode]], bootstrap: Bootstrap) -> dict[str, Any]:
    seed, resamples = bootstrap.seed, bootstrap.resamples
    agents = {name: episodes for name, episodes in played.items() if name != FLOOR}
    return {
        "policies": {name: summarise(episodes, seed, resamples) for name, episodes in agents.items()},
        "differences": differences(agents, seed, resamples),
        "do_nothing": summarise(played.get(FLOOR, ()), seed, resamples),
    }


def task_metrics(
    benchmark: Benchmark[Any], official: Official | None, rows: Sequence[AgentRow], bootstrap: Bootstrap
) -> dict[str, Any]:
    """Each agent's summary on one benchmark beside the floor, and the paired differences between agents."""
    groups: dict[str, list[AgentRow]] = {}
    for row in rows:
        groups.setdefault(row.agent, []).append(row)
    agents = [name for name in groups if name != FLOOR]

    def judged(name: str) -> OfficialFigures:
        results = [row.result for row in groups.get(name, [])]
        summary = summarise_tasks(results, bootstrap.seed)
        return official(benchmark, results, summary, bootstrap.seed) if official else OfficialFigures(summary, {})

    found: dict[str, Any] = {
        "do_nothing": asdict(judged(FLOOR).summary),
        "agents": {
            name: {
                "summary": asdict(judged(name).summary),
                "official": dict(judged(name).figures),
                "prompts_too_long": sum(row.prompts_too_long for row in groups[name]),
            }
            for name in agents
        },
        "differences": {},
    }
    for index, first in enumerate(agents):
        for second in agents[:index]:
            difference = task_difference(groups[first], groups[second], bootstrap)
            if difference is not None:
                found["differences"][f"{first}-{second}"] = difference
    return found


def task_difference(
    first: Sequence[AgentRow], second: Sequence[AgentRow], bootstrap: Bootstrap
) -> dict[str, float] | None:
    """Paired difference of the mean credit over the tasks that neither side masks; None if there are none."""
    ours, theirs = credits_of(first), credits_of(second)
    shared = ours.keys() & theirs.keys()
    if not shared:
        return None
    row = paired_difference(
        {task: ours[task] for task in shared},
        {task: theirs[task] for task in shared},
        seed=bootstrap.seed,
        resamples=bootstrap.resamples,
    )
    return {"mean": row.mean, "low": row.low, "high": row.high, "tasks": row.tasks}


def credits_of(rows: Sequence[AgentRow]) -> dict[str, float]:
    """What each task earned, its trials averaged, masked ones left out."""
    trials: dict[str, list[float]] = {}
    for row in rows:
        if row.result.status != "infrastructure":
            trials.setdefault(unit_of(row.result.task_id), []).append(row.result.score.credit)
    return {task: fmean(credits) for task, credits in trials.items()}
