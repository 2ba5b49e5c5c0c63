"""From the items of a checklist to a score of 0 to 3, and from scores to the process score of a turn."""

from __future__ import annotations

from collections.abc import Sequence

from stages.skills.checks import CHECKS, RIGOROUS
from stages.skills.decompose import Subgoal
from stages.skills.scene import Scene


def judge_subgoal(scene: Scene, subgoal: Subgoal, checklist: Sequence[str]) -> tuple[int, tuple[str, ...]]:
    """The score of one subgoal, and the items of the checklist that it fails."""
    failed = tuple(name for name in checklist if CHECKS[name].question(scene, subgoal) is False)
    return min((CHECKS[name].cap for name in failed), default=RIGOROUS), failed


def process_score(scores: Sequence[int]) -> float:
    """mean(score) / 3, in [0, 1]; 0 without a subgoal, as an agent that did nothing earned nothing."""
    return sum(scores) / (RIGOROUS * len(scores)) if scores else 0.0
