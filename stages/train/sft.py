"""Supervised warm start: maximise the likelihood of the assistant's own tokens, everything else masked."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from stages.chat import Encoded
from stages.train.checkpoint import latest_checkpoint, load_checkpoint, save_checkpoint
from stages.train.config import SftConfig
from stages.train.losses import token_weights
from stages.train.optimizer import Optimizer
from stages.train.order import row_order
from stages.train.packing import Row, pack_sequences
from stages.train.policy import Policy
from stages.train.update import Metrics, optimise, sft_objective

OnStep = Callable[[int, Metrics], None]


def sft_steps(rows: int, config: SftConfig) -> int:
    """How many optimiser steps a run takes."""
    steps = math.ceil(rows * config.epochs / config.batch_size)
    return min(steps, config.max_steps) if config.max_steps else steps


def train_sft(
    policy: Policy,
    rows: Sequence[Encoded],
    config: SftConfig,
    *,
    on_step: OnStep | None = None,
    directory: Path | None = None,
) -> int:
    """Train on the rows; returns the number of steps of the whole run.

    With a directory, checkpoints go there and a newest one found there is continued. `on_step` hears
    the finished step (from 1) and its metrics. Raises ValueError for rows that are too long or have
    nothing to learn, naming the first.
    """
    prepared = [_row(i, encoded, config.max_length) for i, encoded in enumerate(rows)]
    steps = sft_steps(len(prepared), config)
    optimizer = Optimizer(policy.trainable().values(), config.optim, steps)
    found = latest_checkpoint(directory) if directory else None
    done = int(load_checkpoint(found, policy, optimizer)["step"]) if found else 0
    order = row_order(len(prepared), config.seed, done * config.batch_size)
    for step in range(done + 1, steps + 1):
        started = time.perf_counter()
        batch = [prepared[i] for i in islice(order, config.batch_size)]
        weights = token_weights([row.own for row in batch], "token_mean")
        weighted = [row.weighted(w) for row, w in zip(batch, weights, strict=True)]
        packs = pack_sequences(weighted, config.optim.micro_tokens, policy.device)
        evidence = directory / f"nonfinite-{step:06d}.json" if directory else None
        metrics = optimise(policy.network, optimizer, packs, sft_objective, evidence=evidence)
        if on_step:
            on_step(step, metrics | {"seconds": time.perf_counter() - started})
        if directory and config.checkpoint_every and step % config.checkpoint_every == 0:
            save_checkpoint(directory, step, policy, optimizer, {"cursor": step * config.batch_size})
    return steps


def _row(index: int, encoded: Encoded, max_length: int) -> Row:
    if len(encoded.ids) > max_length:
        raise ValueError(f"row {index} has {len(encoded.ids)} tokens; max_length is {max_length}")
    if True not in encoded.mask[1:]:
        raise ValueError(f"row {index} has no token of the policy's own to learn from")
    first = max(1, encoded.mask.index(True))
    return Row(encoded.ids[:first], encoded.ids[first:], encoded.mask[first:])
