"""The `train` block of `params.yaml`."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from stages.train.config import GrpoConfig, PolicyConfig, SftConfig


def _in_order(phases: tuple[Phase, ...]) -> tuple[Phase, ...]:
    if phases not in (("sft", "grpo"), ("sft",), ("grpo",)):
        raise ValueError("must be [sft, grpo], [sft] or [grpo]")
    return phases


Phase: TypeAlias = Literal["sft", "grpo"]
Phases: TypeAlias = Annotated[tuple[Phase, ...], AfterValidator(_in_order)]


class ValidationParams(BaseModel):
    """How often the policy is measured on validation rows while it trains (in steps; 0 never), and on how many.

    `before` measures it before the first step too.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    every: Annotated[int, Field(ge=0)] = 0
    before: bool = True
    rows: Annotated[int, Field(ge=1)] = 64


class TrainParams(BaseModel):
    """Which engine trains, on which rows, and with which settings.

    `max_prompt` (tokens) leaves out RL rows whose prompt is longer, `sft.max_length` does so for SFT rows;
    how many were left out is reported. `phases` are run in this order: `[sft]` alone is the supervised
    baseline, `[grpo]` alone reinforces the base weights as they are.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    engine: Literal["local"] = "local"
    phases: Phases = ("sft", "grpo")
    max_prompt: Annotated[int, Field(ge=16)] = 12_384
    policy: PolicyConfig = PolicyConfig(base="data/policy_base")
    sft: SftConfig = SftConfig()
    grpo: GrpoConfig = GrpoConfig()
    validation: ValidationParams = ValidationParams()


class ProfileParams(BaseModel):
    """What `python -m stages.train profile` samples: `weights` is a directory, null the warm start or else the base."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    weights: str | None = None
    rows: Annotated[int, Field(ge=1)] = 64
    group_size: Annotated[int, Field(ge=2)] = 8
