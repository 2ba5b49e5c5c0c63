"""The `train` block of `params.yaml`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from stages.train.config import GrpoConfig, PolicyConfig, SftConfig


class TrainParams(BaseModel):
    """Which engine trains, on which rows, and with which settings.

    `max_prompt` (tokens) leaves out RL rows whose prompt is longer, `sft.max_length` does so for SFT rows;
    how many were left out is reported. `max_rounds` bounds the replies with calls in an episode.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    engine: Literal["local"] = "local"
    max_prompt: Annotated[int, Field(ge=16)] = 12_384
    policy: PolicyConfig = PolicyConfig(base="data/policy_base")
    sft: SftConfig = SftConfig()
    grpo: GrpoConfig = GrpoConfig()
