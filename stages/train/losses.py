"""The formulas of GRPO on flat token tensors; no model, no batching.

`[N]` is a flat axis over the policy's own tokens of a batch. Aggregation is a weight per token, computed
for the whole batch, so that a loss summed over micro-batches is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

Advantage = Literal["std", "dr_grpo"]
Aggregation = Literal["token_mean", "sequence_mean", "sequence_sum"]


def group_advantages(
    rewards: Sequence[float], groups: Sequence[int], kind: Advantage = "std", eps: float = 1e-6
) -> list[float]:
    """Each episode's reward against its group: r − mean, with `std` over (deviation + eps).

    GRPO, arXiv 2402.03300 (sample deviation, as in verl); `dr_grpo` leaves the division out,
    arXiv 2503.20783. A group of one has nothing to be compared with: 0.
    """
    members: dict[int, list[float]] = {}
    for reward, group in zip(rewards, groups, strict=True):
        members.setdefault(group, []).append(reward)
    result = []
    for reward, group in zip(rewards, groups, strict=True):
        values = members[group]
        centred = reward - sum(values) / len(values)
        if len(values) < 2:
            centred = 0.0
        elif kind == "std":
            centred /= torch.tensor(values, dtype=torch.float64).std().item() + eps
        result.append(centred)
    return result


def policy_loss(
    logprobs: Tensor, old: Tensor, advantages: Tensor, clip_low: float = 0.2, clip_high: float = 0.2
) -> tuple[Tensor, Tensor]:
    """PPO's clipped surrogate per token [N], and which tokens were clipped [N].

    −min(ρA, clip(ρ, 1 − clip_low, 1 + clip_high)·A), ρ = exp(logprobs − old); arXiv 1707.06347, with the
    asymmetric range of arXiv 2503.14476. The exponent is bounded so that a stray token cannot overflow.
    """
    ratio = (logprobs - old).clamp(-20.0, 20.0).exp()
    plain = ratio * advantages
    clipped = ratio.clamp(1.0 - clip_low, 1.0 + clip_high) * advantages
    return -torch.minimum(plain, clipped), clipped < plain


def low_var_kl(logprobs: Tensor, reference: Tensor) -> Tensor:
    """Unbiased, non-negative estimate of KL(policy ‖ reference) per token [N]: e^d − d − 1.

    d = reference − logprobs; the k3 estimator, joschu.net/blog/kl-approx.html. Bounded like verl's.
    """
    difference = (reference - logprobs).clamp(-20.0, 20.0)
    return (difference.exp() - difference - 1.0).clamp(-10.0, 10.0)


def entropy(logprobs: Tensor) -> Tensor:
    """Entropy in nats [N] of each row of log-probabilities [N, V]."""
    return -(logprobs.exp() * logprobs).sum(-1)


def token_weights(lengths: Sequence[int], kind: Aggregation, full_length: int = 0) -> list[float]:
    """Weight of each token of each sequence, from their numbers of own tokens.

    token_mean: 1 / Σn · sequence_mean: 1 / (S·n_i) · sequence_sum: 1 / (S·full_length), as Dr. GRPO asks.
    Empty sequences weigh nothing, but count in S.
    """
    total, sequences = sum(lengths), len(lengths)
    if kind == "sequence_sum" and full_length <= 0:
        raise ValueError("sequence_sum needs full_length, the number of tokens to divide by")
    if kind == "token_mean":
        return [1 / total if n else 0.0 for n in lengths]
    if kind == "sequence_mean":
        return [1 / (sequences * n) if n else 0.0 for n in lengths]
    return [1 / (sequences * full_length) if n else 0.0 for n in lengths]
