"""How far program and teacher agree: exact agreement, and Cohen's kappa, which takes off what chance would give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeAlias

from stages.skills.checks import RIGOROUS

Pair: TypeAlias = tuple[int, int]
"""The program's score and the teacher's."""


def exact_agreement(pairs: Sequence[Pair]) -> float | None:
    """The share of equal scores; None without a pair."""
    return sum(a == b for a, b in pairs) / len(pairs) if pairs else None


def cohens_kappa(pairs: Sequence[Pair]) -> float | None:
    """κ = (p_o − p_e) / (1 − p_e) (Cohen 1960); None without a pair, or where chance alone agrees fully."""
    observed = exact_agreement(pairs)
    if observed is None:
        return None
    ours, theirs = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    expected = sum(ours[score] * theirs[score] for score in ours) / len(pairs) ** 2
    return (observed - expected) / (1 - expected) if expected < 1 else None


def agreement(pairs: Sequence[Pair], unanswered: int) -> dict[str, Any]:
    """The figures of a sample; `table[a][b]` counts subgoals that the program scores a and the teacher b."""
    counts = Counter(pairs)
    scores = range(RIGOROUS + 1)
    return {
        "subgoals": len(pairs),
        "unanswered": unanswered,
        "exact": exact_agreement(pairs),
        "kappa": cohens_kappa(pairs),
        "table": [[counts[a, b] for b in scores] for a in scores],
    }
