"""Packs give every sequence the log-probabilities it has alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from stages.train.forward import score_pack
from stages.train.packing import Row, pack_sequences
from stages.train.policy import Policy

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
    assert torch.allclose(packed, parameter.grad, atol=1e-4)


def test_rows_are_checked() -> None:
    with pytest.raises(ValueError, match="prompt"):
        Row((), (1,), (True,))
    with pytest.raises(ValueError, match="mask"):
        Row((1,), (1, 2), (True,))
