"""The whole reward: R = .5 validity + .5 coverage + .15 efficiency + .2 name + .1 arguments, unclipped."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from stages.records import ExecutedCall, ToolSpec, TruthCall
from stages.reward.arguments import argument_share
from stages.reward.coverage import coverage, order_verdicts
from stages.reward.efficiency import budget, efficiency
from stages.reward.matching import match
from stages.reward.names import name_share
from stages.reward.rules import RewardRules
from stages.reward.validity import call_level, validity


class RewardRecord(BaseModel):
    """A scored episode: the total, its parts, and the verdicts they rest on.

    `matching` and `in_order` have one entry per ground-truth call, `levels` one per executed call.
    A `masked` record says nothing about the model: its numbers are 0 and callers must drop it. `outcome` is
    the sparse verdict, where somebody has judged the final state; None elsewhere. `process` is the score of
    a process judge; where none was asked it is None, and no part of the record as JSON.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    total: float
    validity: float = 0.0
    coverage: float = 0.0
    efficiency: float = 0.0
    name: float = 0.0
    arguments: float = 0.0
    matching: tuple[int | None, ...] = ()
    in_order: tuple[bool, ...] = ()
    levels: tuple[int, ...] = ()
    budget: int = 0
    masked: bool = False
    abstention: bool = False
    outcome: bool | None = None
    process: float | None = Field(None, exclude_if=lambda value: value is None)


def score(
    visible: Sequence[ToolSpec],
    truth: Sequence[TruthCall],
    calls: Sequence[ExecutedCall],
    rules: RewardRules | None = None,
) -> RewardRecord:
    """Score the calls of one user turn against its ground truth, given the tools the model could see.

    Without ground truth the right move is to call nothing: 1 if so, else 0. Ground truth without any call
    gives 0. A call that failed for a reason outside the model masks the episode.
    """
    rules = rules or RewardRules()
    tools = {tool.name: tool for tool in visible}
    limit = budget(len(truth), rules.beta)
    levels = tuple(call_level(call, tools) for call in calls)
    if any(call.infrastructure for call in calls):
        return RewardRecord(total=0.0, levels=levels, budget=limit, masked=True, abstention=not truth)
    if not truth:
        return RewardRecord(total=0.0 if calls else 1.0, levels=levels, abstention=True)
    matching = match(truth, calls, mode=rules.matching, strict=rules.strict_values)
    in_order = order_verdicts(truth, matching, calls)
    parts = {
        "validity": validity(levels),
        "coverage": coverage(matching, in_order),
        "efficiency": efficiency(len(calls), limit, rules.alpha),
        "name": name_share(truth, calls),
        "arguments": argument_share(truth, calls, matching, strict=rules.strict_values),
    }
    weights = rules.weights
    total = sum(getattr(weights, part) * value for part, value in parts.items())
    return RewardRecord(total=total, matching=matching, in_order=in_order, levels=levels, budget=limit, **parts)
