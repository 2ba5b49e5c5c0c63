"""Every rule of the reward that is a choice: the weights, the penalty, and what the paper leaves open."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Kind: TypeAlias = Literal["dense", "outcome", "scribe"]
Matching: TypeAlias = Literal["one_to_one", "reuse"]


class Weights(BaseModel):
    """Factor of each component in the total; the defaults give a maximum of 1.3.

    `process` adds SCRIBE's middle level to PROVE's five components; above 0 it needs a process judge.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    validity: float = Field(0.5, ge=0, description="calls that name a visible tool, fit its schema and ran")
    coverage: float = Field(0.5, ge=0, description="ground-truth calls made, in dependency order")
    efficiency: float = Field(0.15, ge=0, description="penalty for calls over the budget (at most 0)")
    name: float = Field(0.2, ge=0, description="share of calls whose tool the ground truth uses")
    arguments: float = Field(0.1, ge=0, description="share of equal argument values in matched calls")
    process: float = Field(0.0, ge=0, description="mean score of the subgoals, as a share of the best")


class ScribeWeights(BaseModel):
    """R = .7 outcome + .3 process (SCRIBE, arXiv 2601.03555; the weights are [D]), and how long a library holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    outcome: float = Field(0.7, ge=0, description="1 for the right state with all that was asked for read, else 0")
    process: float = Field(0.3, ge=0, description="mean score of the subgoals, as a share of the best")
    refresh: int = Field(1000, ge=0, description="GRPO steps after which the library takes in new episodes; 0 never")


class RewardRules(BaseModel):
    """How an episode is scored. Unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind = Field("dense", description="the weighted components, the outcome alone, or outcome and process")
    weights: Weights = Weights()
    scribe: ScribeWeights = ScribeWeights()
    alpha: float = Field(0.5, ge=0, description="slope of the efficiency penalty")
    beta: float = Field(0.5, ge=0, description="slack of the call budget, as a share of the ground-truth calls")
    strict_values: bool = Field(False, description="compare argument values as exact JSON values")
    matching: Matching = Field("one_to_one", description="whether one call may match several truth calls")

    @property
    def needs_judge(self) -> bool:
        """Whether the total rests on a process score."""
        return self.kind == "scribe" or (self.kind == "dense" and self.weights.process > 0)
