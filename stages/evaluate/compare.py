"""Two agents, or two runs, task by task: the paired difference, who passes what the other doesn't, and how sure.

A side is an agent of `data/scores` (`policy`), another run's scores (`DIR`, all its agents), or one agent of
another run (`DIR:policy`). Tasks that only one side has, or that either side masks, are left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from stages.artifacts import DATA, ArtifactError
from stages.episodes import ScoredEpisode
from stages.evaluate.benchmark import unit_of
from stages.evaluate.figures import credits_of
from stages.evaluate.scores import read_sets, read_tables
from stages.evaluate.statistics import mcnemar, paired_difference, verdict
from stages.evaluate.store import FLOOR, AgentRow


@dataclass(frozen=True, slots=True)
class Mark:
    """One task of one side: its value, whether it passed, and what has to be the same on both sides."""

    value: float
    passed: bool
    of: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """First minus second over `tasks` shared tasks; `gained` and `lost` are tasks that only one side passed."""

    on: str
    measure: str
    first: str
    second: str
    tasks: int
    left_out: int
    first_mean: float
    second_mean: float
    difference: float
    low: float
    high: float
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    p: float
    verdict: str


Marks = Mapping[str, Mapping[str, Mapping[str, Mark]]]
"""Marks by what is measured, then by agent, then by task."""


def compare_sides(first: str, second: str, *, seed: int, resamples: int) -> list[Comparison]:
    """All comparisons that the two sides allow.

    Raises:
        ArtifactError: a side names no scores or no agent, or the two share no task.
    """
    (ours, our_agent), (theirs, their_agent) = _side(first), _side(second)
    left, right = _marks(ours), _marks(theirs)
    for marks, agent, source in ((left, our_agent, ours), (right, their_agent, theirs)):
        known = dict.fromkeys(name for agents in marks.values() for name in agents)
        if agent is not None and agent not in known:
            raise ArtifactError(f"{source} has no agent {agent!r}; it has {', '.join(known)}")
    found = [
        _compare(on, (a, left[on][a]), (b, right[on][b]), seed, resamples)
        for on in left
        if on in right
        for a, b in _pairs(left[on], our_agent, right[on], their_agent)
        if left[on][a].keys() & right[on][b].keys()
    ]
    if not found:
        raise ArtifactError(f"{first} and {second} share no task: evaluate both on the same rows and benchmarks")
    return found


def _pairs(
    left: Mapping[str, object], first: str | None, right: Mapping[str, object], second: str | None
) -> Iterator[tuple[str, str]]:
    """Which agent meets which: the named ones, else each the one of its name."""
    if first is None and second is None:
        yield from ((name, name) for name in left if name in right and name != FLOOR)
        return
    a, b = first or second or "", second or first or ""
    if a in left and b in right:
        yield a, b


def _side(text: str) -> tuple[Path, str | None]:
    path, colon, agent = text.rpartition(":")
    if Path(text).is_dir():
        return Path(text), None
    if colon and Path(path).is_dir():
        return Path(path), agent
    if colon or "/" in text:
        raise ArtifactError(f"{path or text} is no directory of scores: give data/scores of another run")
    return DATA / "scores", text


def _marks(source: Path) -> Marks:
    marks: dict[str, dict[str, dict[str, Mark]]] = {}
    for name, played in read_sets(source, None).items():
        marks[f"unseen {name}"] = {
            agent: {e.row: _row_mark(e) for e in episodes if not e.reward.masked} for agent, episodes in played.items()
        }
    for name, rows in read_tables(source).items():
        for agent in dict.fromkeys(row.agent for row in rows):
            marks.setdefault(name, {})[agent] = _task_marks([row for row in rows if row.agent == agent])
    if not marks:
        raise ArtifactError(f"{source} holds no scores: run `python -m stages.evaluate`")
    return marks


def _row_mark(episode: ScoredEpisode) -> Mark:
    return Mark(episode.reward.total, bool(episode.reward.outcome), episode.truth_hash)


def _task_marks(rows: Sequence[AgentRow]) -> dict[str, Mark]:
    """A mark for each task; one of several trials passes if every trial passed."""
    trials: dict[str, list[AgentRow]] = {}
    for row in rows:
        if row.result.status != "infrastructure":
            trials.setdefault(unit_of(row.result.task_id), []).append(row)
    credits = credits_of(rows)
    return {
        task: Mark(credits[task], all(row.result.score.passed for row in made), made[0].version)
        for task, made in trials.items()
    }


def _compare(
    on: str, left: tuple[str, Mapping[str, Mark]], right: tuple[str, Mapping[str, Mark]], seed: int, resamples: int
) -> Comparison:
    (first, ours), (second, theirs) = left, right
    shared = [task for task in ours if task in theirs]
    for task in shared:
        if ours[task].of != theirs[task].of:
            raise ArtifactError(
                f"{on}: task {task} is of other data on each side ({ours[task].of}; {theirs[task].of}): "
                "evaluate both with the same version"
            )
    values = {task: ours[task].value for task in shared}, {task: theirs[task].value for task in shared}
    difference = paired_difference(*values, seed=seed, resamples=resamples)
    gained = tuple(task for task in shared if ours[task].passed and not theirs[task].passed)
    lost = tuple(task for task in shared if theirs[task].passed and not ours[task].passed)
    return Comparison(
        on=on,
        measure="reward" if on.startswith("unseen ") else "score",
        first=first,
        second=second,
        tasks=len(shared),
        left_out=len(ours.keys() ^ theirs.keys()),
        first_mean=fmean(values[0].values()),
        second_mean=fmean(values[1].values()),
        difference=difference.mean,
        low=difference.low,
        high=difference.high,
        gained=gained,
        lost=lost,
        p=mcnemar(len(gained), len(lost)),
        verdict=verdict(difference.low, difference.high),
    )
