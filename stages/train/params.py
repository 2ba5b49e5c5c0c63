"""The `train` block of `params.yaml`."""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from stages.train.config import GrpoConfig, PolicyConfig, SftConfig
from stages.train.monitor.alarm import MonitorConfig
from stages.train.supervision.settings import SignalConfig, SignalName
from stages.train.verl.settings import VerlSettings


def _in_order(phases: tuple[Phase, ...]) -> tuple[Phase, ...]:
    if phases not in (("sft", "grpo"), ("sft",), ("grpo",)):
        raise ValueError("must be [sft, grpo], [sft] or [grpo]")
    return phases


OnCollapse: TypeAlias = Literal["log", "stop", "rollback"]
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
    """Which engine trains (`local`, one process of plain PyTorch, or `verl`, a cluster), on what, and how.

    `max_prompt` (tokens) leaves out RL rows whose prompt is longer, `sft.max_length` does so for SFT rows;
    how many were left out is reported. `rows: acting` reinforces rows that want calls alone: where some rows want
    none, never calling anything is the first thing that a high learning rate finds. `phases` are run in this order:
    `[sft]` alone is the supervised baseline, `[grpo]` alone reinforces the base weights as they are. `supervision`
    names the signal beside GRPO, `signal` holds its numbers. On an alarm of the monitor `on_collapse` goes on (log),
    ends GRPO with the last healthy checkpoint (stop), or goes back to it with half the learning rate (rollback).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    engine: Literal["local", "verl"] = "local"
    phases: Phases = ("sft", "grpo")
    max_prompt: Annotated[int, Field(ge=16)] = 12_384
    rows: Literal["all", "acting"] = "all"
    policy: PolicyConfig = PolicyConfig(base="data/policy_base")
    sft: SftConfig = SftConfig()
    grpo: GrpoConfig = GrpoConfig()
    validation: ValidationParams = ValidationParams()
    supervision: SignalName = "none"
    signal: SignalConfig = SignalConfig()
    monitor: MonitorConfig = MonitorConfig()
    on_collapse: OnCollapse = "log"
    verl: VerlSettings = VerlSettings()

    @model_validator(mode="after")
    def _can_go_back(self) -> Self:
        if self.on_collapse == "rollback" and not self.grpo.checkpoint_every:
            raise ValueError("on_collapse: rollback needs checkpoints: set grpo.checkpoint_every to 1 or more")
        return self

    @model_validator(mode="after")
    def _lessons_come_before_the_end(self) -> Self:
        if self.supervision in ("ets", "prs") and not all(s < self.grpo.steps for s in self.signal.schedule):
            last = f"the last of the {self.grpo.steps} GRPO steps"
            raise ValueError(f"signal.schedule {list(self.signal.schedule)} must lie before {last}")
        return self


class ProfileParams(BaseModel):
    """What `python -m stages.train profile` samples: `weights` is a directory, null the warm start or else the base."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    weights: str | None = None
    rows: Annotated[int, Field(ge=1)] = 64
    group_size: Annotated[int, Field(ge=2)] = 8
