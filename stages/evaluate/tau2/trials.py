"""Figures of a track over repeated trials of the same tasks.

pass^k is the chance that k trials of a task, drawn from those made, all pass, averaged over tasks: C(c, k) /
C(n, k) with c passes in n trials (Yao, Shinn, Razavi and Narasimhan 2024, arXiv 2406.12045). It says how
reliable a policy is, where the mean alone says how good. Tasks are the unit of every interval: trials of one
task are not independent.

The user model's faults stand beside the score. A masked trial leaves its task's n; a task with fewer than k
trials left is not in pass^k, which says over how many tasks it was taken.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from stages.evaluate.benchmark import TaskResult
from stages.evaluate.statistics import Interval, bootstrap_mean, wilson


@dataclass(frozen=True, slots=True)
class PassHat:
    """pass^k, over the tasks that have k trials."""

    k: int
    rate: float
    tasks: int


@dataclass(frozen=True, slots=True)
class UserFaults:
    """How often the user model was asked, gave no usable answer, or broke its format."""

    requests: int
    failures: int
    format_breaks: int

    @property
    def error_rate(self) -> float | None:
        """Faulty answers over all that were asked for; an answer can be faulty in two ways and counts twice."""
        return (self.failures + self.format_breaks) / self.requests if self.requests else None


@dataclass(frozen=True, slots=True)
class TrackScore:
    """A track: mean rate over its tasks, pass^k, and the rate of doing nothing on the same tasks.

    `scored`, `errors` and `masked` count episodes. Rate and interval are None if none was scored, and the rate of
    doing nothing is if there are no tasks.
    """

    track: str
    tasks: int
    scored: int
    errors: int
    masked: int
    rate: float | None
    interval: Interval | None
    pass_hat: tuple[PassHat, ...]
    do_nothing: float | None
    user: UserFaults


def pass_hat_k(passed: int, trials: int, k: int) -> float:
    """Chance that `k` of `trials` trials, drawn without return, are all among the `passed` ones.

    Raises:
        ValueError: there are fewer trials than `k`, or more passes than trials.
    """
    if not 1 <= k <= trials or not 0 <= passed <= trials:
        raise ValueError(f"pass^{k} of {passed} passes in {trials} trials is not defined: make at least k trials")
    return math.comb(passed, k) / math.comb(trials, k)


def score_track(track: str, rows: Mapping[str, Sequence[TaskResult]], idle: Sequence[bool], seed: int) -> TrackScore:
    """Figures of a track.

    Args:
        track: its name.
        rows: the trials of each task, by the task's name.
        idle: for each task, whether doing nothing passes it.
        seed: draws the bootstrap.
    """
    kept = {name: [row for row in trials if row.status != "infrastructure"] for name, trials in rows.items()}
    tallies = [(sum(row.score.passed for row in trials), len(trials)) for trials in kept.values() if trials]
    rates = [passed / count for passed, count in tallies]
    every = [row for trials in rows.values() for row in trials]
    return TrackScore(
        track=track,
        tasks=len(rows),
        scored=sum(count for _, count in tallies),
        errors=sum(row.status == "error" for row in every),
        masked=sum(row.status == "infrastructure" for row in every),
        rate=fmean(rates) if rates else None,
        interval=_interval(rates, seed) if rates else None,
        pass_hat=_pass_hats(tallies, max(map(len, rows.values()), default=0)),
        do_nothing=fmean(idle) if idle else None,
        user=_faults(every),
    )


def _pass_hats(tallies: Sequence[tuple[int, int]], most: int) -> tuple[PassHat, ...]:
    made = []
    for k in range(1, most + 1):
        rates = [pass_hat_k(passed, count, k) for passed, count in tallies if count >= k]
        if rates:
            made.append(PassHat(k, fmean(rates), len(rates)))
    return tuple(made)


def _interval(rates: Sequence[float], seed: int) -> Interval:
    if all(rate in (0, 1) for rate in rates):
        return wilson(round(sum(rates)), len(rates))
    return bootstrap_mean(rates, seed=seed)


def _faults(rows: Sequence[TaskResult]) -> UserFaults:
    def total(name: str) -> int:
        extras = (row.episode.extra.get(name, 0) for row in rows if row.episode is not None)
        return sum(value for value in extras if isinstance(value, int))

    return UserFaults(total("user_requests"), total("user_failures"), total("user_format_breaks"))
