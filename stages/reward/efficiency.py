"""R_efficiency: a penalty for calls beyond the budget, unbounded below."""

from __future__ import annotations

import math


def budget(n_truth: int, beta: float) -> int:
    """B = n + ⌈n·β⌉ calls; the hair's breadth keeps 10·0.3 from rounding up to 4."""
    return n_truth + math.ceil(n_truth * beta - 1e-9)


def efficiency(n_calls: int, budget: int, alpha: float) -> float:
    """−α · max(0, n − B) / B, parallel calls counted each; `budget` is at least 1."""
    over = max(0, n_calls - budget)
    return -alpha * over / budget if over else 0.0
