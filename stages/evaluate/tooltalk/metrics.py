"""ToolTalk's figures over a whole run, summed over conversations before they are divided, as published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from stages.evaluate.benchmark import TaskResult


@dataclass(frozen=True, slots=True)
class TooltalkFigures:
    """Figures between 0 and 1 over `conversations` conversations; masked ones are left out.

    `action_precision` and `bad_action_rate` are None where no action was taken: there is nothing to divide by.
    """

    conversations: int
    success_rate: float
    precision: float
    recall: float
    action_precision: float | None
    bad_action_rate: float | None


def figures(rows: Sequence[TaskResult]) -> TooltalkFigures:
    """The published figures of a run; a conversation that broke down counts in the success rate alone.

    Raises:
        ValueError: no row is scored.
    """
    kept = [row for row in rows if row.status != "infrastructure"]
    if not kept:
        raise ValueError(f"none of {len(rows)} rows is scored: there is nothing to average")
    sums: Counter[str] = Counter()
    for row in kept:
        sums.update(row.score.counts)
    actions = sums["actions"]
    return TooltalkFigures(
        conversations=len(kept),
        success_rate=sum(row.score.passed for row in kept) / len(kept),
        precision=sums["matches"] / sums["predictions"] if sums["predictions"] else 0.0,
        recall=sums["matches"] / sums["ground_truths"] if sums["ground_truths"] else 0.0,
        action_precision=sums["valid_actions"] / actions if actions else None,
        bad_action_rate=sums["bad_actions"] / actions if actions else None,
    )
