"""Signals inside a GRPO step: what is sampled under a hint, what is demonstrated, and what the loss sees."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

import stages.train.grpo as grpo_module
from stages.records import Message
from stages.train.batched_rollout import rollout
from stages.train.checkpoint import latest_checkpoint
from stages.train.collect import Rollout
from stages.train.config import GrpoConfig, OptimConfig, SamplingConfig
from stages.train.grpo import Span, train_grpo
from stages.train.packing import Pack, Row, pack_sequences
from stages.train.policy import Policy
from stages.train.sampling import Sampler
from stages.train.supervision.signal import SAMPLED, Member

HINT_DIGIT = 19  # the token of 9, which no prompt and no demonstration has
HINTED = Member(hint="999")
SHOWN = Member(replies=(Message("assistant", "12"), Message("assistant", "3")))
SAMPLING = SamplingConfig(max_new_tokens=3, max_context=64, max_rounds=2)


def config(steps: int = 1, **changes: Any) -> GrpoConfig:
    settings: dict[str, Any] = {
        "steps": steps, "batch_size": 2, "group_size": 4, "seed": 1, "kl": 0.0,
        "sampling": SAMPLING, "optim": OptimConfig(lr=2e-3, micro_tokens=512),
    }  # fmt: skip
    return GrpoConfig(**(settings | changes))


@pytest.fixture
def two_rounds(make_episode: Any) -> Callable[[int], Any]:
    return lambda digit: make_episode(digit, rounds=2)


def test_a_hint_is_sampled_under_and_no_token_of_it_reaches_the_trajectory(
    make_policy: Callable[..., Policy], two_rounds: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, start = make_policy(), Sampler.start
    prompts: list[Sequence[int]] = []

    def spy(self: Sampler, given: Sequence[Sequence[int]]) -> None:
        prompts.extend(given)
        start(self, given)

    monkeypatch.setattr(Sampler, "start", spy)
    plain, hinted = rollout(
        policy.network, policy.chat, [two_rounds(1), two_rounds(1)], SAMPLING, seed=3, hints=["", "999"]
    )
    assert HINT_DIGIT not in prompts[0] and list(prompts[1]).count(HINT_DIGIT) == 3
    assert hinted.origin == "hinted" and hinted.prompt == plain.prompt
    assert hinted.logprobs == () and len(plain.logprobs) == len(plain.ids)
    assert plain.origin == "sampled"


def test_the_loss_never_sees_a_hint(
    make_policy: Callable[..., Policy], two_rounds: Any, toy_reward: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    learnt: list[Row] = []

    def spy(rows: Sequence[Row], *rest: Any) -> list[Pack]:
        learnt.extend(rows)
        return pack_sequences(rows, *rest)

    monkeypatch.setattr(grpo_module, "pack_sequences", spy)
    found: list[Rollout[int]] = []
    train_grpo(
        make_policy(), range(3), two_rounds, toy_reward, config(6, kl=0.01),
        groups=lambda rows, size: [[HINTED] * 2 + [SAMPLED] * (size - 2) for _ in rows],
        on_step=lambda step, metrics, rollouts: found.extend(rollouts),
    )  # fmt: skip
    assert sum(r.trajectory.origin == "hinted" for r in found) == 6 * 2 * 2
    assert len(learnt) == 6 * 2 * 4
    assert not any(HINT_DIGIT in row.prompt for row in learnt)


def test_a_demonstration_takes_a_seat_and_its_advantage_is_over_the_whole_group(
    make_policy: Callable[..., Policy], two_rounds: Any, toy_reward: Any
) -> None:
    found: list[Rollout[int]] = []
    metrics: dict[str, float] = {}

    def on_step(step: int, values: dict[str, float], rollouts: list[Rollout[int]]) -> None:
        found.extend(rollouts)
        metrics.update(values)

    train_grpo(
        make_policy(), range(1, 4), two_rounds, toy_reward, config(),
        groups=lambda rows, size: [[SHOWN] + [SAMPLED] * (size - 1) for _ in rows], on_step=on_step,
    )  # fmt: skip
    for group in {r.group for r in found}:
        members = [r for r in found if r.group == group]
        assert [r.trajectory.origin for r in members] == ["demonstrated", *["sampled"] * 3]
        rewards = [r.reward for r in members]
        spread = statistics.stdev(rewards)
        wanted = [(r - statistics.mean(rewards)) / (spread + 1e-6) if spread else 0.0 for r in rewards]
        assert [r.advantage for r in members] == pytest.approx(wanted)
        own = [i for i, mine in zip(members[0].trajectory.ids, members[0].trajectory.mask, strict=True) if mine]
        assert own == [11, 12, 1, 13, 1], "the tokens of both replies and nothing else"
    sampled = [r.reward for r in found if r.trajectory.origin == "sampled"]
    assert metrics["reward"] == pytest.approx(statistics.mean(sampled))
    assert metrics["reward_demonstrated"] == pytest.approx(
        statistics.mean(r.reward for r in found if r.trajectory.origin == "demonstrated")
    )


def test_a_demonstration_has_the_same_ratio_as_a_sample(
    make_policy: Callable[..., Policy], two_rounds: Any, toy_reward: Any
) -> None:
    """Denominator recorded or recomputed: before the first update the policy is its own old policy on all tokens."""

    def loss(kind: str) -> float:
        found: list[float] = []
        train_grpo(
            make_policy(), range(1, 4), two_rounds, toy_reward, config(old_logprobs=kind),
            groups=lambda rows, size: [[SHOWN] + [SAMPLED] * (size - 1) for _ in rows],
            on_step=lambda step, metrics, _: found.append(metrics["policy_loss"]),
        )  # fmt: skip
        return found[0]

    assert loss("sampled") == pytest.approx(loss("recomputed"), abs=1e-4)


def test_a_demonstration_alone_teaches(make_policy: Callable[..., Policy], make_episode: Any) -> None:
    """Where no sample ever succeeds, the demonstrated reply becomes likely; without it nothing moves."""

    class Verdict:
        masked = False

        def __init__(self, total: float) -> None:
            self.total = total

    def reward(digit: int, trajectory: Any) -> Verdict:
        return Verdict(float(trajectory.origin == "demonstrated"))

    shown = Member(replies=(Message("assistant", "77"),))
    policy = make_policy()
    before = {n: p.clone() for n, p in policy.trainable().items()}
    train_grpo(policy, range(3), make_episode, reward, config(3))
    assert all(torch.equal(p, before[n]) for n, p in policy.trainable().items())
    found: list[str] = []
    train_grpo(
        policy, range(3), make_episode, reward, config(25),
        groups=lambda rows, size: [[shown] + [SAMPLED] * (size - 1) for _ in rows],
        on_step=lambda step, metrics, rollouts: found.extend(
            r.trajectory.record.messages[-1].content for r in rollouts if step > 20 and r.trajectory.origin == "sampled"
        ),
    )  # fmt: skip
    assert found.count("77") > len(found) / 2


def test_unhealthy_steps_leave_no_checkpoint_and_an_exception_ends_the_run(
    make_policy: Callable[..., Policy], make_episode: Any, toy_reward: Any, tmp_path: Path
) -> None:
    def healthy(step: int, metrics: Any) -> bool:
        if step == 4:
            raise RuntimeError("collapsed")
        return step < 3

    with pytest.raises(RuntimeError, match="collapsed"):
        train_grpo(
            make_policy(), range(3), make_episode, toy_reward, config(6, checkpoint_every=1),
            healthy=healthy, directory=tmp_path,
        )  # fmt: skip
    found = latest_checkpoint(tmp_path)
    assert found is not None and found.name == "step-000002"


def test_a_span_goes_on_where_the_last_one_ended(
    make_policy: Callable[..., Policy], make_episode: Any, toy_reward: Any
) -> None:
    def steps(spans: Sequence[Span]) -> list[tuple[int, list[int]]]:
        policy, seen = make_policy(), []
        for span in spans:
            train_grpo(
                policy, range(5), make_episode, toy_reward, config(4), span=span,
                on_step=lambda step, metrics, rollouts: seen.append((step, [r.row for r in rollouts])),
            )  # fmt: skip
        return seen

    assert steps([Span(0, 2, 0), Span(2, 4, 4)]) == [(step, rows) for step, rows in steps([Span(0, 4, 0)])], (
        "the same rows in the same order"
    )
