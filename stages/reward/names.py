"""R_name: the share of calls whose tool the ground truth uses at all."""

from __future__ import annotations

from collections.abc import Sequence

from stages.records import ExecutedCall, TruthCall


def name_share(truth: Sequence[TruthCall], calls: Sequence[ExecutedCall]) -> float:
    """|{c : c.name ∈ names(G)}| / |C|; 0 without calls."""
    wanted = {step.name for step in truth}
    return sum(call.name in wanted for call in calls) / len(calls) if calls else 0.0
