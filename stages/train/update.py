"""One optimiser step over packs: accumulate, clip, step; stop with the batch saved if a number breaks."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from torch import Tensor

from stages.train.forward import Entropy, Scores, score_pack, score_without_gradient
from stages.train.losses import low_var_kl, policy_loss
from stages.train.optimizer import Optimizer
from stages.train.packing import Pack

Metrics: TypeAlias = dict[str, float]
# From a pack's number, the pack and its scores to a loss and sums to be added up over the packs.
Objective: TypeAlias = Callable[[int, Pack, Scores], tuple[Tensor, Metrics]]


PER_TOKEN = ("entropy", "clipped", "kl", "sampler_gap")


class NonFiniteError(RuntimeError):
    """A loss or gradient became NaN or infinite; the message names the file with the batch."""


def optimise(
    model: Any,
    optimizer: Optimizer,
    packs: Sequence[Pack],
    objective: Objective,
    *,
    evidence: Path | None = None,
    entropies: Entropy = "none",
) -> Metrics:
    """Sum the objective over the packs, then take one step.

    Returns the summed metrics with `loss`, `grad_norm` (before clipping), `lr` and `tokens`. Raises
    NonFiniteError, weights unchanged, with the packs written to `evidence`.
    """
    model.train()
    totals: Metrics = {"loss": 0.0, "lr": optimizer.rate(), "tokens": 0.0}
    for number, pack in enumerate(packs):
        scores = score_pack(model, pack, entropies=entropies)
        loss, sums = objective(number, pack, scores)
        value = float(loss.detach())
        if not math.isfinite(value):
            raise NonFiniteError(f"loss is {value} at step {optimizer.steps}; {_keep(packs, evidence)}")
        loss.backward()
        totals["loss"] += value
        totals["tokens"] += len(pack.ids)
        for key, amount in sums.items():
            totals[key] = totals.get(key, 0.0) + amount
    norm = optimizer.step()
    if not math.isfinite(norm):
        raise NonFiniteError(f"gradient norm is {norm} at step {optimizer.steps}; {_keep(packs, evidence)}")
    return totals | {"grad_norm": norm}


def sft_objective(_: int, pack: Pack, scores: Scores) -> tuple[Tensor, Metrics]:
    """Weighted negative log-likelihood of the own tokens."""
    loss = -(pack.per_token([s.weight for s in pack.sequences]) * scores.logprobs).sum()
    return loss, {"own_tokens": float(len(pack.target))}


def grpo_objective(
    old: Sequence[Tensor] | None,
    reference: Sequence[Tensor] | None,
    *,
    clip_low: float,
    clip_high: float,
    kl: float,
    entropy: float,
) -> Objective:
    """The clipped surrogate with its penalties, per pack.

    `old` and `reference` hold log-probabilities [N] per pack; `old` None means that the policy has not
    moved since: the ratio is 1, with the right gradient. `sampler_gap` tells how far the sampler's record
    is from the trainer's own numbers. Those of `PER_TOKEN` are sums over own tokens, to be divided by their
    number.
    """

    def objective(number: int, pack: Pack, scores: Scores) -> tuple[Tensor, Metrics]:
        weight = pack.per_token([s.weight for s in pack.sequences])
        advantage = pack.per_token([s.advantage for s in pack.sequences])
        before = scores.logprobs.detach() if old is None else old[number]
        loss, clipped = policy_loss(scores.logprobs, before, advantage, clip_low, clip_high)
        total = (weight * loss).sum()
        sums = {
            "policy_loss": float(total.detach()),
            "entropy": float(scores.entropy.detach().sum()),
            "clipped": float(clipped.sum()),
            "own_tokens": float(len(pack.target)),
        }
        if all(s.logprobs for s in pack.sequences):
            gap = (pack.sampled_logprobs() - scores.logprobs.detach()).abs()
            sums["sampler_gap"] = float(gap.sum())
        if reference is not None:
            divergence = low_var_kl(scores.logprobs, reference[number])
            total = total + kl * (weight * divergence).sum()
            sums["kl"] = float(divergence.detach().sum())
        if entropy:
            total = total - entropy * (weight * scores.entropy).sum()
        return total, sums

    return objective


def reference_logprobs(model: Any, packs: Sequence[Pack]) -> list[Tensor]:
    """Log-probabilities per pack [N] under a model that is not being trained here."""
    return [s.logprobs for s in score_without_gradient(model, list(packs))]


def _keep(packs: Sequence[Pack], evidence: Path | None) -> str:
    """Write what was being learnt from; returns where, in words."""
    if evidence is None:
        return "no directory was given to keep the batch in"
    evidence.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {"prompt": s.prompt, "ids": s.ids, "mask": s.mask, "weight": s.weight, "advantage": repr(s.advantage)}
        for pack in packs
        for s in pack.sequences
    ]
    evidence.write_text(json.dumps(rows), encoding="utf-8")
    return f"its batch is in {evidence}"
