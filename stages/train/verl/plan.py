"""What a run will need, on paper: memory of a GPU and seconds of a step, each with its arithmetic.

The formulas are the usual ones: 2 floating-point operations for a weight and a token forward, 4 more backward
(arXiv 2001.08361), decoding bound by reading weights and cache. They know no communication, no padding and no
stragglers: take them for a lower bound on time and a first check on memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from stages.train.params import TrainParams
from stages.train.verl.shapes import Shape

GIGA = 10**9
PROMPT_SHARE, RESPONSE_SHARE = 0.4, 0.1
"""How much of their budgets a typical prompt and response fill; budgets are for the longest."""

ENVIRONMENT_SECONDS = 0.005
"""CPU seconds of an episode: session opened, replayed and called, tokens made, reward scored (docs/verl.md)."""

VLLM_OVERHEAD = 4 * GIGA
"""Bytes that vLLM and CUDA keep beside weights and cache."""


@dataclass(frozen=True, slots=True)
class Line:
    """One figure: what it is, how it comes about, how much it is."""

    name: str
    arithmetic: str
    amount: float


def training_memory(params: TrainParams, shape: Shape) -> list[Line]:
    """Bytes of one GPU while it trains."""
    gpus = params.verl.nodes * params.verl.gpus
    n, rank = shape.parameters, params.policy.lora_rank
    if rank:
        trained = rank * shape.linear_width
        weights = Line("weights, fp32 and frozen", f"4 B × {n:,} / {gpus} GPUs", 4 * n / gpus)
        state = Line("adapters, fp32 with Adam and gradient", f"16 B × {trained:,} / {gpus}", 16 * trained / gpus)
    else:
        weights = Line("weights, fp32", f"4 B × {n:,} / {gpus} GPUs", 4 * n / gpus)
        state = Line("gradient and Adam, fp32", f"12 B × {n:,} / {gpus}", 12 * n / gpus)
    longest = max(params.grpo.optim.micro_tokens, params.max_prompt + params.verl.response)
    gathered = Line("one layer gathered, bf16", f"2 B × {n:,} / {shape.layers} layers", 2 * n / shape.layers)
    kept = Line(
        "activations, recomputed by layer",
        f"2 B × {longest:,} tokens × {shape.width} × {shape.layers}",
        2.0 * longest * shape.width * shape.layers,
    )
    logits = Line(
        "logits and their gradient, fp32",
        f"8 B × {longest:,} tokens × {shape.vocabulary:,}",
        8.0 * longest * shape.vocabulary,
    )
    lines = [weights, state, gathered, kept, logits]
    if params.grpo.kl and not rank:
        lines.append(Line("reference, on the host between uses", f"2 B × {n:,} / {shape.layers}", 2 * n / shape.layers))
    return lines


def sampling_memory(params: TrainParams, shape: Shape) -> list[Line]:
    """Bytes of one GPU while it samples; the last line is what remains for keys and values."""
    parallel = params.verl.tensor_parallel
    whole = params.verl.gpu_memory * params.verl.gpu_gigabytes * GIGA
    weights = 2.0 * shape.parameters / parallel
    return [
        Line("vLLM's share", f"{params.verl.gpu_memory} × {params.verl.gpu_gigabytes:g} GB", whole),
        Line("weights, bf16", f"2 B × {shape.parameters:,} / {parallel}", weights),
        Line("CUDA graphs and buffers", "assumed", VLLM_OVERHEAD),
        Line("left for keys and values", "the first less the other two", whole - weights - VLLM_OVERHEAD),
    ]


def episodes_at_once(params: TrainParams, shape: Shape) -> int:
    """Episodes of the longest kind whose keys and values fit on one copy of the model."""
    room = sampling_memory(params, shape)[-1].amount * params.verl.tensor_parallel
    longest = params.max_prompt + params.verl.response
    return max(0, int(room // (shape.cache_bytes * longest)))


def step_seconds(params: TrainParams, shape: Shape) -> list[Line]:
    """Seconds of one step at typical lengths."""
    settings, grpo = params.verl, params.grpo
    gpus = settings.nodes * settings.gpus
    episodes = grpo.batch_size * grpo.group_size
    prompt, response = int(PROMPT_SHARE * params.max_prompt), int(RESPONSE_SHARE * settings.response)
    copies = max(1, gpus // settings.tensor_parallel)
    together = max(1, min(math.ceil(episodes / copies), 4 * max(1, episodes_at_once(params, shape))))
    waves = math.ceil(episodes / copies / together)
    read = 2.0 * shape.parameters + together * shape.cache_bytes * (prompt + response)
    bandwidth = settings.gpu_terabytes * 1e12 * settings.tensor_parallel
    passes = 6 + 2 + (2 if grpo.kl else 0)
    flops = passes * float(shape.parameters) * episodes * (prompt + response)
    environment = episodes * ENVIRONMENT_SECONDS / settings.workers
    return [
        Line(
            "sampling",
            f"{waves} × {response:,} tokens × {read / GIGA:.1f} GB read / {bandwidth / 1e12:.1f} TB/s, half reached",
            2 * waves * response * read / bandwidth,
        ),
        Line(
            "update",
            f"{passes} × {shape.parameters:,} × {episodes} × {prompt + response:,} tokens "
            f"/ ({gpus} × {settings.gpu_teraflops:g} TFLOP/s)",
            flops / (gpus * settings.gpu_teraflops * 1e12),
        ),
        Line("environment", f"{episodes} × {ENVIRONMENT_SECONDS} s / {settings.workers} workers", environment),
        Line(
            "weights to vLLM",
            f"2 B × {shape.parameters:,} / {settings.gpu_terabytes:g} TB/s, at a tenth of it",
            20.0 * shape.parameters / (settings.gpu_terabytes * 1e12),
        ),
    ]


def told(params: TrainParams, shape: Shape) -> str:
    """The whole plan as text."""
    settings, gpus = params.verl, params.verl.nodes * params.verl.gpus
    training, sampling, step = (
        training_memory(params, shape),
        sampling_memory(params, shape),
        step_seconds(params, shape),
    )
    need, have = sum(line.amount for line in training), settings.gpu_gigabytes * GIGA
    seconds = sum(line.amount for line in step)
    together = episodes_at_once(params, shape)
    copies = max(1, gpus // settings.tensor_parallel)
    fits = "fits" if need < 0.9 * have else "does NOT fit: lower train.verl.response or max_prompt, or set offload"
    hours = seconds * params.grpo.steps / 3600
    lines = [
        f"{shape.name}: {shape.parameters / GIGA:.2f} billion weights on {gpus} GPUs of {settings.gpu_gigabytes:g} GB",
        f"memory of a GPU while training (vLLM has given its own back): {need / GIGA:.1f} GB, {fits}",
        *_table(training, GIGA, "GB"),
        f"memory of a GPU while sampling: {together * copies} of the longest episodes at once on {copies} copies",
        *_table(sampling, GIGA, "GB"),
        f"seconds of a step, at {PROMPT_SHARE:.0%} and {RESPONSE_SHARE:.0%} of the token budgets: {seconds:.0f}",
        *_table(step, 1.0, "s"),
        f"{params.grpo.steps} steps: {hours:.1f} hours, {hours * gpus:.0f} GPU hours, without start-up and validation",
    ]
    return "\n".join(lines)


def _table(lines: list[Line], unit: float, name: str) -> list[str]:
    return [f"  {line.amount / unit:10.2f} {name}  {line.name}: {line.arithmetic}" for line in lines]
