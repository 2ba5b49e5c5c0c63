"""Intervals for what an evaluation reports: rates, means and paired differences.

A rate of passed tasks gets a Wilson score interval, which stays honest at 0 and at 100 %, where a
bootstrap collapses to a point. A mean of anything else gets a percentile bootstrap over tasks. Two
policies tried on the same tasks are compared by resampling tasks, not the two sets apart: most of
the spread between tasks is shared, and pairing removes it. Tasks are the unit throughout: average
over seeds first, then come here.

Every bootstrap is seeded and rounded to twelve decimals, so that the last bit of a sum, which may
differ between machines, never shows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist, fmean
from typing import NamedTuple

import numpy as np

_DIGITS = 12
_CELLS = 2_000_000  # index cells drawn at once: bounds memory at 16 MB


class Interval(NamedTuple):
    """A confidence interval, both ends included."""

    low: float
    high: float


class Difference(NamedTuple):
    """A mean paired difference (first minus second) with its interval over `tasks` tasks."""

    mean: float
    low: float
    high: float
    tasks: int


def wilson(successes: int, total: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval for a rate (Wilson 1927; without continuity correction).

    Raises:
        ValueError: nothing was counted, or more successes than trials.
    """
    if total <= 0 or not 0 <= successes <= total:
        raise ValueError(f"{successes} of {total} is not a rate: count at least one trial")
    z = _quantile(confidence)
    rate = successes / total
    spread = z * math.sqrt(rate * (1 - rate) / total + (z / (2 * total)) ** 2)
    centre, scale = rate + z * z / (2 * total), 1 + z * z / total
    low = 0.0 if successes == 0 else (centre - spread) / scale
    high = 1.0 if successes == total else (centre + spread) / scale
    return Interval(round(low, _DIGITS), round(high, _DIGITS))


def wilson_mean(counts: Sequence[tuple[int, int]], confidence: float = 0.95) -> Interval:
    """Interval for the unweighted mean of independent rates, given as (successes, total) pairs.

    Raises:
        ValueError: there are no rates, or nothing was counted in one.
    """
    ends = [wilson(successes, total, confidence) for successes, total in counts]
    return interval_of_mean([successes / total for successes, total in counts], ends)


def interval_of_mean(rates: Sequence[float], ends: Sequence[Interval]) -> Interval:
    """Interval for the unweighted mean of independent rates between 0 and 1, from each one's own interval.

    Combines the ends by the method of variance estimates recovery (Zou, Huang and Zhang 2009, "A note
    on confidence interval estimation for a linear function of binomial proportions", equation 4, with
    equal weights).

    Raises:
        ValueError: there are no rates.
    """
    if not rates:
        raise ValueError("no rates to average")
    mean = fmean(rates)
    below = math.sqrt(math.fsum((r - e.low) ** 2 for r, e in zip(rates, ends, strict=True))) / len(rates)
    above = math.sqrt(math.fsum((e.high - r) ** 2 for r, e in zip(rates, ends, strict=True))) / len(rates)
    return Interval(round(max(0.0, mean - below), _DIGITS), round(min(1.0, mean + above), _DIGITS))


def bootstrap_mean(
    values: Sequence[float], *, seed: int, confidence: float = 0.95, resamples: int = 10_000
) -> Interval:
    """Percentile bootstrap interval of the mean of `values`, one value a task.

    Raises:
        ValueError: no values, or a value that is not finite.
    """
    _quantile(confidence)
    data = np.asarray(values, dtype=np.float64)
    if data.size == 0 or not np.isfinite(data).all():
        raise ValueError("a bootstrap needs at least one value, and only finite ones")
    random = np.random.Generator(np.random.PCG64(seed))
    rows = max(1, _CELLS // data.size)
    means = [
        data[random.integers(0, data.size, size=(min(rows, resamples - start), data.size))].mean(axis=1)
        for start in range(0, resamples, rows)
    ]
    tail = (1 - confidence) / 2
    low, high = np.quantile(np.concatenate(means), (tail, 1 - tail))
    return Interval(round(float(low), _DIGITS), round(float(high), _DIGITS))


def paired_difference(
    first: Mapping[str, float],
    second: Mapping[str, float],
    *,
    seed: int,
    confidence: float = 0.95,
    resamples: int = 10_000,
) -> Difference:
    """Mean of first minus second over the same tasks, with a paired bootstrap interval.

    Both map a task's id to its value, in any order.

    Raises:
        ValueError: the two don't cover exactly the same tasks.
    """
    if first.keys() != second.keys():
        apart = sorted(first.keys() ^ second.keys())
        raise ValueError(
            f"a paired comparison needs the same tasks on both sides; {len(apart)} stand on one side "
            f"only, such as {apart[:3]}: drop them from both, or run them on both"
        )
    gaps = [first[task] - second[task] for task in sorted(first)]
    interval = bootstrap_mean(gaps, seed=seed, confidence=confidence, resamples=resamples)
    return Difference(round(fmean(gaps), _DIGITS), interval.low, interval.high, len(gaps))


def mcnemar(gained: int, lost: int) -> float:
    """Exact two-sided p-value of McNemar's test on paired verdicts (McNemar 1947; binomial, not chi-squared).

    Args:
        gained: tasks that only the first side passed.
        lost: tasks that only the second side passed.

    Raises:
        ValueError: a count is negative.
    """
    if gained < 0 or lost < 0:
        raise ValueError(f"{gained} and {lost} are not counts of tasks")
    flips = gained + lost
    tail = sum(math.comb(flips, k) for k in range(min(gained, lost) + 1))
    return min(1.0, float(2 * tail / 2**flips))


def verdict(low: float, high: float) -> str:
    """What an interval of a difference allows to be said: "higher", "lower", or "no clear difference"."""
    if low > 0:
        return "higher"
    return "lower" if high < 0 else "no clear difference"


def _quantile(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence} is not between 0 and 1")
    return NormalDist().inv_cdf((1 + confidence) / 2)
