"""From category rates to ACEBench's own figures: normal, special, agent, and their weighted sum.

Each part is the unweighted mean of its categories; a multi-turn conversation counts as one task. The sum
needs all three parts: without agent tasks there is no overall score, and none is made up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from stages.evaluate.acebench.data import AGENT, NORMAL, SPECIAL
from stages.evaluate.summary import CategoryScore

WEIGHTS = {"normal": 0.578, "special": 0.2676, "agent": 0.1545}
"""What each part contributes to the overall score, as published; they add up to 1.0001."""


@dataclass(frozen=True, slots=True)
class AceScores:
    """ACEBench's figures, from 0 to 1; None where a category of the part was not scored.

    `published_normal` and `published_special` are the same by the published text path. `agent_process` is
    the mean share of milestones.
    """

    normal: float | None
    special: float | None
    agent: float | None
    overall: float | None
    published_normal: float | None
    published_special: float | None
    agent_process: float | None


def ace_scores(categories: Sequence[CategoryScore]) -> AceScores:
    """The figures of a run, of one or several benchmarks' categories."""
    rates = {category.category: category.rate for category in categories}
    published = {category.category: _per_task(category, "published_tasks") for category in categories}
    process = {category.category: _per_task(category, "process_thousandths") for category in categories}
    normal, special, agent = _mean(rates, NORMAL), _mean(rates, SPECIAL), _mean(rates, AGENT)
    milestones = _mean(process, AGENT)
    return AceScores(
        normal=normal,
        special=special,
        agent=agent,
        overall=_weighted(normal, special, agent),
        published_normal=_mean(published, NORMAL),
        published_special=_mean(published, SPECIAL),
        agent_process=None if milestones is None else milestones / 1000,
    )


def _mean(rates: dict[str, float | None], names: Sequence[str]) -> float | None:
    found = [rate for name in names if (rate := rates.get(name)) is not None]
    return fmean(found) if len(found) == len(names) else None


def _weighted(normal: float | None, special: float | None, agent: float | None) -> float | None:
    if normal is None or special is None or agent is None:
        return None
    return WEIGHTS["normal"] * normal + WEIGHTS["special"] * special + WEIGHTS["agent"] * agent


def _per_task(category: CategoryScore, count: str) -> float | None:
    return category.counts.get(count, 0) / category.scored if category.scored else None
