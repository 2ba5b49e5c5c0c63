"""The formulas against independent float64 loops."""

from __future__ import annotations

import math
import random
import statistics

import pytest
import torch

import stages.train  # noqa: F401
from stages.train.losses import entropy, group_advantages, low_var_kl, policy_loss, token_weights


def numbers(n: int, scale: float = 1.0, seed: int = 0) -> list[float]:
    source = random.Random(seed)
    return [source.gauss(0, scale) for _ in range(n)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("low", "high"), [(0.2, 0.2), (0.2, 0.28)])
def test_policy_loss(dtype: torch.dtype, low: float, high: float) -> None:
    new, old, adv = numbers(200, 0.4, 1), numbers(200, 0.4, 2), numbers(200, 1, 3)
    loss, clipped = policy_loss(*(torch.tensor(v, dtype=dtype) for v in (new, old, adv)), low, high)
    for i, (n, o, a) in enumerate(zip(new, old, adv, strict=True)):
        ratio = math.exp(n - o)
        bounded = min(max(ratio, 1 - low), 1 + high)
        assert float(loss[i]) == pytest.approx(-min(ratio * a, bounded * a), rel=1e-6, abs=1e-6)
        outside = (a > 0 and ratio > 1 + high) or (a < 0 and ratio < 1 - low)
        assert bool(clipped[i]) == outside


def test_policy_gradient_at_ratio_one_is_minus_the_advantage() -> None:
    logprobs = torch.tensor(numbers(5), requires_grad=True)
    advantages = torch.tensor(numbers(5, seed=1))
    policy_loss(logprobs, logprobs.detach(), advantages)[0].sum().backward()
    assert torch.allclose(logprobs.grad, -advantages)


def test_low_var_kl() -> None:
    new, ref = numbers(200, 0.5, 4), numbers(200, 0.5, 5)
    found = low_var_kl(torch.tensor(new), torch.tensor(ref))
    for f, n, r in zip(found.tolist(), new, ref, strict=True):
        assert f == pytest.approx(math.exp(r - n) - (r - n) - 1, abs=1e-6)
        assert f >= 0
    assert torch.isfinite(low_var_kl(torch.tensor([-1e4, 0.0]), torch.tensor([0.0, -1e4]))).all()


def test_entropy() -> None:
    rows = [numbers(7, 2, s) for s in range(5)]
    for found, row in zip(entropy(torch.log_softmax(torch.tensor(rows), -1)).tolist(), rows, strict=True):
        total = sum(map(math.exp, row))
        assert found == pytest.approx(-sum(math.exp(x) / total * math.log(math.exp(x) / total) for x in row), abs=1e-6)


@pytest.mark.parametrize("kind", ["std", "dr_grpo"])
def test_group_advantages(kind: str) -> None:
    rewards, groups = numbers(12, 1, 6), [0, 1, 2] * 4
    found = group_advantages(rewards, groups, kind)  # type: ignore[arg-type]
    for f, r, g in zip(found, rewards, groups, strict=True):
        values = [x for x, h in zip(rewards, groups, strict=True) if h == g]
        scale = statistics.stdev(values) + 1e-6 if kind == "std" else 1.0
        assert f == pytest.approx((r - statistics.mean(values)) / scale, abs=1e-6)


def test_groups_without_spread_or_company_have_no_advantage() -> None:
    assert group_advantages([1.0, 1.0, 0.7], [0, 0, 1]) == [0, 0, 0]


def test_token_weights() -> None:
    lengths = [4, 0, 2]
    per_token = [1.0, 2.0, 3.0, 4.0], [], [5.0, 6.0]

    def loss(kind: str, full: int = 0) -> float:
        weights = token_weights(lengths, kind, full)  # type: ignore[arg-type]
        return sum(w * sum(t) for w, t in zip(weights, per_token, strict=True))

    assert loss("token_mean") == pytest.approx(21 / 6)
    assert loss("sequence_mean") == pytest.approx((2.5 + 5.5) / 3)
    assert loss("sequence_sum", 10) == pytest.approx(21 / 30)
    with pytest.raises(ValueError, match="full_length"):
        loss("sequence_sum")
