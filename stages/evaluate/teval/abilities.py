"""From categories to abilities: the mean of an ability's formats, and the mean of the six abilities.

Intervals are joined as if categories were independent. The JSON tasks of reason, retrieve and understand
share prompts, so that the overall interval is, if anything, a little too narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from stages.evaluate.statistics import Interval, interval_of_mean
from stages.evaluate.summary import CategoryScore, Summary
from stages.evaluate.teval.data import ABILITIES, Ability


@dataclass(frozen=True, slots=True)
class AbilityScore:
    """One ability: the mean of its formats' rates, and its interval; None where a format has no scored task."""

    ability: Ability
    rate: float | None
    interval: Interval | None


def abilities(summary: Summary) -> tuple[AbilityScore, ...]:
    """The six abilities, in the paper's order, from the categories of a run."""
    return tuple(
        _ability(name, [category for category in summary.categories if category.category.startswith(f"{name}_")])
        for name in ABILITIES
    )


def by_ability(summary: Summary) -> Summary:
    """The summary with T-Eval's overall score: the mean of the six abilities."""
    scores = abilities(summary)
    rates = [score.rate for score in scores if score.rate is not None]
    intervals = [score.interval for score in scores if score.interval is not None]
    if len(rates) < len(scores):
        return replace(summary, overall=None, interval=None)
    return replace(summary, overall=fmean(rates), interval=interval_of_mean(rates, intervals))


def _ability(name: Ability, categories: Sequence[CategoryScore]) -> AbilityScore:
    rates = [category.rate for category in categories if category.rate is not None]
    intervals = [category.interval for category in categories if category.interval is not None]
    if not rates or len(rates) < len(categories):
        return AbilityScore(name, None, None)
    return AbilityScore(name, fmean(rates), interval_of_mean(rates, intervals))
