"""What every verl process loads on the test device: platform, patches, and the samplers under their names."""

from __future__ import annotations

from verl.workers.rollout import base
from verl.workers.rollout.replica import RolloutReplicaRegistry

from stages.train.verl.cpu import patches, platform

__all__ = ["NAME", "patches", "platform"]

NAME = "prove_cpu"


def _own() -> type:
    from stages.train.verl.cpu.rollout import CpuReplica

    return CpuReplica


def _vllm() -> type:
    from stages.train.verl.cpu.vllm import CpuReplica

    return CpuReplica


base._ROLLOUT_REGISTRY[(NAME, "async")] = "stages.train.verl.cpu.rollout.CpuRollout"
RolloutReplicaRegistry.register(NAME, _own)
RolloutReplicaRegistry.register("vllm", _vllm)
