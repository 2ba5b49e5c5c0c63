"""Batched sampling says what plain decoding says, and rollouts keep what was sampled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from stages.train.batched_rollout import rollout
from stages.train.config import SamplingConfig
from stages.train.policy import Policy
from stages.train.sampling import Sampler

PROMPTS = [[10, 11, 2], [12, 4, 13, 14, 15, 2], [16, 2], [10, 11, 2]]


def naive(policy: Policy, ids: Sequence[int], count: int) -> list[int]:
    """Greedy decoding without any cache."""
    out = list(ids)
    for _ in range(count):
        out.append(int(policy.network(torch.tensor([out])).logits[0, -1].argmax()))
        if out[-1] == 1:
            break
    return out[len(ids) :]


def test_greedy_over_two_rounds_equals_decoding_without_cache(make_policy: Callable[..., Policy]) -> None:
    policy = make_policy(3)
    sampler = Sampler(policy.network, frozenset({1}), temperature=0)
    sampler.start(PROMPTS)
    limits = {0: 3, 1: 5, 2: 1, 3: 4}
    first = sampler.sample(limits)
    for row, prompt in enumerate(PROMPTS):
        assert list(first[row].ids) == naive(policy, prompt, limits[row])
    chunks = {1: [20, 21], 2: [22, 23, 24, 25], 3: [26]}
    sampler.extend(chunks)
    second = sampler.sample(dict.fromkeys(chunks, 4))
    for row, chunk in chunks.items():
        assert list(second[row].ids) == naive(policy, [*PROMPTS[row], *first[row].ids, *chunk], 4)


def test_recorded_logprobs_are_the_models_own(make_policy: Callable[..., Policy]) -> None:
    policy = make_policy(1)
    sampler = Sampler(policy.network, frozenset({1}), temperature=0.7, seed=5)
    sampler.start(PROMPTS)
    for row, reply in sampler.sample(dict.fromkeys(range(4), 6)).items():
        ids = torch.tensor([[*PROMPTS[row], *reply.ids]])
        logprobs = torch.log_softmax(policy.network(ids).logits[0, :-1], -1).gather(-1, ids[0, 1:, None])[:, 0]
        assert torch.allclose(torch.tensor(reply.logprobs), logprobs[-len(reply.ids) :], atol=1e-4)


def test_rows_of_a_group_differ_and_seeds_repeat(make_policy: Callable[..., Policy]) -> None:
    policy = make_policy()

    def draw(seed: int, rows: int) -> list[tuple[int, ...]]:
        sampler = Sampler(policy.network, frozenset({1}), seed=seed)
        sampler.start([PROMPTS[0]] * rows)
        return [r.ids for r in sampler.sample(dict.fromkeys(range(rows), 8)).values()]

    assert len(set(draw(0, 6))) > 1
    assert draw(0, 6) == draw(0, 6)
    assert draw(0, 6)[:2] == draw(0, 2)
    assert draw(0, 6) != draw(1, 6)


def test_draws_follow_the_distribution(make_policy: Callable[..., Policy]) -> None:
    policy = make_policy()
    sampler = Sampler(policy.network, frozenset({1}), seed=2)
    sampler.start([[10, 2]] * 1500)
    counts = torch.zeros(32)
    for reply in sampler.sample(dict.fromkeys(range(1500), 1)).values():
        counts[reply.ids[0]] += 1
    expected = torch.softmax(policy.network(torch.tensor([[10, 2]])).logits[0, -1], -1)
    assert (counts / 1500 - expected).abs().max() < 0.04


def test_bad_prompts_are_refused(make_policy: Callable[..., Policy]) -> None:
    sampler = Sampler(make_policy().network, frozenset({1}))
    for prompts in ([], [[]]):
        with pytest.raises(ValueError, match="prompt"):
            sampler.start(prompts)


@pytest.mark.parametrize("batch_size", [2, 8])
def test_rollout_keeps_tokens_mask_and_messages(
    make_policy: Callable[..., Policy], make_episode: Any, batch_size: int
) -> None:
    policy = make_policy()
    config = SamplingConfig(max_new_tokens=12, max_context=60, max_rounds=3, batch_size=batch_size)
    episodes = [make_episode(d, rounds=1 + d % 3) for d in range(7)]
    done: list[int] = []
    trajectories = rollout(policy.network, policy.chat, episodes, config, seed=4, on_done=done.append)
    assert sum(done) == 7
    answered = 0
    for t in trajectories:
        assert len(t.ids) == len(t.mask) == len(t.logprobs)
        assert all(p == 0 for p, own in zip(t.logprobs, t.mask, strict=True) if not own)
        assert len(t.prompt) + len(t.ids) <= 60
        if t.record.stop == "answered":
            answered += 1
            expected = list(t.prompt)
            for index, message in enumerate(t.record.messages[1:], 1):
                if message.role == "tool":
                    expected += policy.chat.continuation([t.record.messages[index]])
                    assert list(t.prompt + t.ids)[: len(expected)][-1] == expected[-1]
                else:
                    expected += t.ids[len(expected) - len(t.prompt) :][: _reply_length(t, len(expected))]
            assert expected == [*t.prompt, *t.ids]
    assert answered


def _reply_length(trajectory: Any, at: int) -> int:
    start = at - len(trajectory.prompt)
    end = start
    while end < len(trajectory.mask) and trajectory.mask[end]:
        end += 1
    return end - start


def test_rollout_ends(make_policy: Callable[..., Policy], make_episode: Any) -> None:
    policy = make_policy()

    def stops(**settings: int) -> set[str]:
        config = SamplingConfig(**{"max_new_tokens": 200, "max_context": 250, **settings})
        episodes = [make_episode(d, rounds=9) for d in range(4)]
        return {t.record.stop for t in rollout(policy.network, policy.chat, episodes, config)}

    assert stops(max_context=4) == {"length"}
    assert stops(max_rounds=1) <= {"rounds", "length"}
    assert stops(max_new_tokens=1) <= {"rounds", "length"}
