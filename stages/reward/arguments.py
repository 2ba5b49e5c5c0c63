"""R_arg: how many argument values of the matched calls are right."""

from __future__ import annotations

from collections.abc import Sequence

from stages.records import ExecutedCall, TruthCall
from stages.reward.equality import equal_keys
from stages.reward.matching import Assignment


def argument_share(
    truth: Sequence[TruthCall], calls: Sequence[ExecutedCall], matching: Assignment, *, strict: bool
) -> float:
    """Mean over matched pairs of the share of equal values.

    A matched call without arguments counts 1; no match at all gives 0.
    """
    shares = []
    for step, matched in zip(truth, matching, strict=True):
        if matched is None:
            continue
        equal = len(equal_keys(calls[matched].arguments, step.arguments, strict=strict))
        shares.append(equal / len(step.arguments) if step.arguments else 1.0)
    return sum(shares) / len(shares) if shares else 0.0
