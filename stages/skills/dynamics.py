"""What changes over training: the entropy of subgoal completion, and how separable plans are (SCRIBE, 2601.03555).

A subgoal is completed if it scores 2 or 3. Its entropy is that of the share of completed ones, in bits, for each
prototype, weighted by how many there are: low where a kind of subgoal always works, or never does. A plan's embedding
is the mean of its subgoals' description vectors; separability is the AUROC of a logistic regression on them that
predicts the right outcome, on folds that share no row. The definitions are [D]. The paper reports that entropy falls
first and separability rises after.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from stages.episodes import ScoredEpisode
from stages.skills.embed import Embedder
from stages.skills.judge import ProgramJudge, Verdict
from stages.skills.scoring import process_score
from stages.skills.trajectories import episode_turn

WINDOWS = 10
"""Groups of steps, at most, into which a run is divided."""

FOLDS = 5
LEAST_SUBGOALS = 30
LEAST_EPISODES = 50
LEAST_OF_EACH = 10
"""Solved episodes, and unsolved ones, below which nothing is said of separability."""

COMPLETED = 2
"""The score from which on a subgoal counts as completed."""

OWN = frozenset({"train", "sampled"})
"""Names under which episodes of the policy itself are stored; hinted and demonstrated ones are another's."""


@dataclass(frozen=True, slots=True)
class Window:
    """Consecutive training steps, counted from 1; None where there is too little data."""

    first: int
    last: int
    episodes: int
    subgoals: int
    process: float | None
    solved: float | None
    entropy: float | None
    separability: float | None


def by_step(episodes: Iterable[ScoredEpisode]) -> list[list[ScoredEpisode]]:
    """The policy's own episodes of each step: samples are numbered from 0 in each, and steps follow one another."""
    steps: list[list[ScoredEpisode]] = []
    last = math.inf
    for episode in episodes:
        if episode.sample <= last:
            steps.append([])
        last = episode.sample
        if episode.policy in OWN and not episode.reward.masked:
            steps[-1].append(episode)
    return steps


def dynamics(steps: Sequence[Sequence[ScoredEpisode]], judge: ProgramJudge, embed: Embedder, seed: int) -> list[Window]:
    """The windows of a run; none without a step."""
    size = math.ceil(len(steps) / WINDOWS)
    return [
        _window(first + 1, min(first + size, len(steps)), steps[first : first + size], judge, embed, seed)
        for first in range(0, len(steps), size or 1)
    ]


def completion_entropy(verdicts: Sequence[Verdict]) -> float | None:
    """Mean entropy of completion over prototypes, in bits; None of fewer than 30 subgoals."""
    if len(verdicts) < LEAST_SUBGOALS:
        return None
    kinds: Mapping[str, Counter[bool]] = defaultdict(Counter)
    for verdict in verdicts:
        kinds[verdict.prototype or verdict.subgoal.skill][verdict.score >= COMPLETED] += 1
    return sum(_bits(count[True] / count.total()) * count.total() for count in kinds.values()) / len(verdicts)


def separability(plans: np.ndarray[Any, Any], solved: Sequence[bool], rows: Sequence[str], seed: int) -> float | None:
    """AUROC of a linear probe, the mean over 5 folds.

    None of fewer than 50 episodes, of fewer than 10 of either outcome, or where a fold lacks one.

    Args:
        plans: shape (episodes, dimensions).
        solved: whether each episode had the right outcome.
        rows: the dataset's row of each; a row is in one fold only.
        seed: of the folds.
    """
    outcomes = Counter(solved)
    if len(solved) < LEAST_EPISODES or min(outcomes[True], outcomes[False]) < LEAST_OF_EACH:
        return None
    if len(set(rows)) < FOLDS:
        return None
    selection: Any = import_module("sklearn.model_selection")
    linear: Any = import_module("sklearn.linear_model")
    metrics: Any = import_module("sklearn.metrics")
    target = np.array(solved)
    folds = selection.StratifiedGroupKFold(n_splits=FOLDS, shuffle=True, random_state=seed % 2**32)
    scores = []
    for train, test in folds.split(plans, target, rows):
        if len(set(target[train])) < 2 or len(set(target[test])) < 2:
            return None
        probe = linear.LogisticRegression(max_iter=1000).fit(plans[train], target[train])
        scores.append(float(metrics.roc_auc_score(target[test], probe.decision_function(plans[test]))))
    return round(sum(scores) / FOLDS, 6)


def _window(
    first: int, last: int, steps: Sequence[Sequence[ScoredEpisode]], judge: ProgramJudge, embed: Embedder, seed: int
) -> Window:
    episodes = [episode for step in steps for episode in step]
    judged = [judge.verdicts(episode_turn(episode)) for episode in episodes]
    verdicts = [verdict for turn in judged for verdict in turn]
    solved = [bool(episode.reward.outcome) for episode in episodes]
    plans = _plans(judged, embed)
    processes = [process_score([verdict.score for verdict in turn]) for turn in judged]
    return Window(
        first,
        last,
        len(episodes),
        len(verdicts),
        sum(processes) / len(episodes) if episodes else None,
        sum(solved) / len(episodes) if episodes else None,
        completion_entropy(verdicts),
        separability(plans, solved, [episode.row for episode in episodes], seed),
    )


def _plans(judged: Sequence[Sequence[Verdict]], embed: Embedder) -> np.ndarray[Any, Any]:
    """The mean description vector of each turn, shape (turns, dimensions)."""
    texts = sorted({verdict.subgoal.text for turn in judged for verdict in turn})
    if not texts:
        return np.zeros((0, 1))
    vectors = dict(zip(texts, embed(texts), strict=True))
    return np.stack([np.mean([vectors[v.subgoal.text] for v in turn], axis=0) for turn in judged])


def _bits(share: float) -> float:
    return -sum(p * math.log2(p) for p in (share, 1 - share) if p > 0)
