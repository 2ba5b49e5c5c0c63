"""The `train.verl` block of `params.yaml`: the cluster, what verl may use of it, and how long things may take.

What both engines share (rows, steps, group size, learning rate, clip range, KL, sampling) stays where it is, in
`train.grpo` and `train.max_prompt`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0)]


class VerlSettings(BaseModel):
    """One cluster run; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    device: Literal["cuda", "cpu"] = Field(
        "cuda", description="cpu is a test device: it shows that a run holds together"
    )
    cpu_sampler: Literal["local", "vllm"] = Field(
        "local", description="who samples on the CPU: the local engine's sampler, or vLLM's build for CPUs"
    )
    nodes: Count = Field(1, description="machines")
    gpus: Count = Field(8, description="GPUs of each machine")
    tensor_parallel: Count = Field(2, description="GPUs that share one copy of the sampling model")
    ray_cpus: Count | None = Field(None, description="logical CPUs of Ray; null takes the machine's")
    workers: Count = Field(8, description="processes that play episodes")
    threads: Count = Field(4, description="sessions that a worker runs calls in at once")
    response: Count = Field(16_384, description="tokens after the prompt: all replies and results of an episode")
    tool_response: Count = Field(8_192, description="tokens of one tool's result; the rest is left out, and said so")
    call_seconds: Seconds = Field(30.0, description="deadline of one call; later, the episode is masked")
    episode_seconds: Seconds = Field(1_800.0, description="deadline of one episode; later, it is masked")
    step_seconds: Seconds = Field(7_200.0, description="time without a finished step after which a run is stopped")
    gpu_memory: Annotated[float, Field(gt=0, lt=1)] = Field(0.6, description="share of a GPU that vLLM takes to sample")
    offload: bool = Field(False, description="weights and optimiser to host memory while vLLM samples")
    checkpoints: Count = Field(2, description="newest checkpoints that are kept")
    gpu_gigabytes: Annotated[float, Field(gt=0)] = Field(80.0, description="memory of a GPU, for `plan`")
    gpu_teraflops: Annotated[float, Field(gt=0)] = Field(400.0, description="what it sustains in bf16, for `plan`")
    gpu_terabytes: Annotated[float, Field(gt=0)] = Field(3.35, description="memory bandwidth a second, for `plan`")
    overrides: tuple[str, ...] = Field(
        (), description="more of verl's own settings, KEY=VALUE; they win and are checked"
    )
