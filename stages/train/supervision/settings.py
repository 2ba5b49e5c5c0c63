"""The `train.signal` block: the numbers of the supervisory signals, arXiv 2606.26027; [D] is our default."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from stages.train.config import OptimConfig, SftConfig

SignalName: TypeAlias = Literal["none", "sft_then_rl", "ops", "hint", "ets", "prs"]


def _rising(steps: tuple[int, ...]) -> tuple[int, ...]:
    if list(steps) != sorted(set(steps)) or (steps and steps[0] < 1):
        raise ValueError("must be rising step numbers from 1 on, such as [50, 150]")
    return steps


class SignalConfig(BaseModel):
    """How strong each signal is, and when the interleaved ones act."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    demonstrations: float = Field(1 / 8, gt=0, lt=1, description="ops: share of a group that is demonstrated")
    hinted: float = Field(2 / 8, gt=0, lt=1, description="hint: share of a group that is sampled under a hint")
    hint_words: int = Field(300, ge=1, description="hint: words of a hint at most")
    schedule: Annotated[tuple[int, ...], AfterValidator(_rising)] = Field(
        (50, 150), description="ets, prs: GRPO steps after which lessons are learnt"
    )
    window: int = Field(10, ge=1, description="ets, prs: last steps of a phase whose failures are collected")
    failing: Literal["all", "any"] = Field("all", description="ets, prs: which rollouts of a query must have failed")
    scenarios: int = Field(3, ge=0, le=5, description="prs: similar requests in the reflection (published: 3 to 5)")
    lessons: SftConfig = Field(
        SftConfig(
            epochs=2.0,
            batch_size=128,
            max_length=16_384,
            optim=OptimConfig(lr=1e-5, warmup_ratio=0.3, schedule="cosine"),
        ),
        description="how lessons are learnt; the decay after the warm-up is ours [D]",
    )
