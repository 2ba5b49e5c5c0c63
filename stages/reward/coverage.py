"""R_coverage: how much of the ground truth was done, in the order its dependencies ask for."""

from __future__ import annotations

from collections.abc import Sequence

from stages.records import ExecutedCall, TruthCall
from stages.reward.matching import Assignment


def coverage(matching: Assignment, in_order: Sequence[bool]) -> float:
    """Mean over ground-truth calls of matched times in order (m(g)·o(g))."""
    done = sum(m is not None and o for m, o in zip(matching, in_order, strict=True))
    return done / len(matching) if matching else 0.0


def order_verdicts(truth: Sequence[TruthCall], matching: Assignment, calls: Sequence[ExecutedCall]) -> tuple[bool, ...]:
    """Per ground-truth call o(g): its own match comes after the match of each call it depends on.

    Order is by message, so a parallel call does not come after its sibling. An unmatched dependency
    breaks the order, and so does an unmatched call that has dependencies.
    """
    place = [None if m is None else calls[m].position for m in matching]
    return tuple(all(_before(place[d], place[g]) for d in step.depends_on) for g, step in enumerate(truth))


def _before(earlier: int | None, later: int | None) -> bool:
    return earlier is not None and later is not None and earlier < later
