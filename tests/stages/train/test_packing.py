"""Packs give every sequence the log-probabilities it has alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from stages.train.forward import score_pack
from stages.train.packing import Row, pack_sequences
from stages.train.policy import Policy
from stages.train.update import grpo_objective

ROWS = [
    Row((10, 11, 12, 2), (13, 14, 1), (True, True, True)),
    Row((10, 11, 12, 2), (15, 1, 10, 2, 16, 1), (True, True, False, False, True, True)),
    Row((20, 2), (13, 14, 1, 9, 9), (True, True, True, False, False)),
    Row((10, 11, 12, 2), (13, 13, 13), (False, False, False)),
]


def alone(policy: Policy, row: Row) -> torch.Tensor:
    ids = torch.tensor([[*row.prompt, *row.ids]])
    logprobs = torch.log_softmax(policy.network(ids).logits[0, :-1], -1)
    picked = logprobs.gather(-1, ids[0, 1:, None])[len(row.prompt) - 1 :, 0]
    return picked[torch.tensor(row.mask)]


@pytest.mark.parametrize("micro_tokens", [1, 12, 1000])
def test_packed_equals_alone(make_policy: Callable[..., Policy], micro_tokens: int) -> None:
    policy = make_policy()
    seen = []
    for pack in pack_sequences(ROWS, micro_tokens):
        scores = score_pack(policy.network, pack)
        for number, row in enumerate(pack.sequences):
            own = scores.logprobs[pack.member == number]
            assert torch.allclose(own, alone(policy, row), atol=1e-5)
            seen.append(row)
    assert sorted(seen, key=ROWS.index) == ROWS[:3]


def test_a_shared_prompt_goes_in_once() -> None:
    (pack,) = pack_sequences(ROWS[:2], 1000)
    assert len(pack.ids) == 4 + 2 + 5
    assert pack.positions.tolist() == [0, 1, 2, 3, *(4, 5, 6, 7, 8), *(4, 5)]


def test_packs_respect_the_limit() -> None:
    rows = [Row((5,) * n, (6, 1), (True, True)) for n in (3, 9, 4, 8, 30)]
    packs = pack_sequences(rows, 16)
    assert sorted(len(p.ids) for p in packs) == [14, 14, 31] or all(len(p.ids) <= 16 for p in packs[1:])
    assert sum(len(p.sequences) for p in packs) == 5


def test_gradients_of_a_pack_equal_those_of_its_rows(make_policy: Callable[..., Policy]) -> None:
    policy = make_policy()
    parameter = policy.network.model.layers[0].mlp.up_proj.weight
    (pack,) = pack_sequences(ROWS, 1000)
    score_pack(policy.network, pack).logprobs.sum().backward()
    packed, parameter.grad = parameter.grad.clone(), None
    sum(alone(policy, row).sum() for row in ROWS[:3]).backward()
    assert torch.allclose(packed, parameter.grad, rtol=0, atol=1e-5 * float(parameter.grad.abs().max()))


def test_rows_are_checked() -> None:
    with pytest.raises(ValueError, match="prompt"):
        Row((), (1,), (True,))
    with pytest.raises(ValueError, match="mask"):
        Row((1,), (1, 2), (True,))


@pytest.mark.parametrize("moved", [False, True])
def test_the_objective_equals_a_loop_over_tokens(make_policy: Callable[..., Policy], moved: bool) -> None:
    """Masks, weights, clipping and KL together, in float64 loops, from the packs' own log-probabilities."""
    policy, rows = make_policy(), [replace(r, weight=0.1 * n, advantage=1.5 - n) for n, r in enumerate(ROWS[:3], 1)]
    for pack in pack_sequences(rows, 12):
        scores = score_pack(policy.network, pack, entropies="value")
        shift = torch.linspace(-0.6, 0.6, len(pack.target)) if moved else torch.zeros(len(pack.target))
        old, reference = scores.logprobs.detach() - shift, scores.logprobs.detach() + 2 * shift
        objective = grpo_objective([old], [reference], clip_low=0.2, clip_high=0.28, kl=0.05, entropy=0.0)
        loss, sums = objective(0, pack, scores)
        expected, clipped = 0.0, 0
        for i, new in enumerate(scores.logprobs.tolist()):
            row = pack.sequences[int(pack.member[i])]
            ratio = math.exp(new - float(old[i]))
            plain, bounded = ratio * row.advantage, min(max(ratio, 0.8), 1.28) * row.advantage
            difference = float(reference[i]) - new
            expected += row.weight * (-min(plain, bounded) + 0.05 * (math.exp(difference) - difference - 1))
            clipped += bounded < plain
        assert float(loss.detach()) == pytest.approx(expected, rel=1e-5, abs=1e-6)
        assert sums["clipped"] == clipped
