"""SFT fits, GRPO improves, interrupted runs go on as if nothing had happened."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from stages.chat import Encoded
from stages.train.checkpoint import latest_checkpoint, load_checkpoint
from stages.train.config import GrpoConfig, OptimConfig, PolicyConfig, SamplingConfig, SftConfig
from stages.train.grpo import train_grpo
from stages.train.optimizer import Optimizer
from stages.train.order import mixed_seed, row_order
from stages.train.policy import Policy, adapted, replacing
from stages.train.sft import train_sft
from stages.train.update import NonFiniteError

SHORT = OptimConfig(lr=1e-2, micro_tokens=64)
ROWS = [
    Encoded((10 + d, 10 + d, 2, 10 + (d + 3) % 10, 10 + d, 1), (False, False, False, True, True, True))
    for d in range(8)
]


def test_sft_overfits_a_tiny_set(make_policy: Callable[..., Policy]) -> None:
    losses: list[float] = []
    config = SftConfig(epochs=30, batch_size=4, optim=SHORT)
    steps = train_sft(make_policy(), ROWS, config, on_step=lambda s, m: losses.append(m["loss"]))
    assert steps == len(losses) == 60
    assert losses[0] > 2
    assert losses[-1] < 0.05


def test_sft_learns_nothing_from_masked_tokens(make_policy: Callable[..., Policy]) -> None:
    def after(prompt_token: int) -> torch.Tensor:
        policy = make_policy()
        row = Encoded((10, 2, 11, 1, prompt_token, 12), (False, False, True, True, False, False))
        train_sft(policy, [row], SftConfig(batch_size=1, optim=SHORT))
        return policy.network.model.layers[0].mlp.up_proj.weight.detach()

    assert torch.equal(after(20), after(21))


def test_sft_rows_are_checked(make_policy: Callable[..., Policy]) -> None:
    with pytest.raises(ValueError, match="row 0 has 6 tokens"):
        train_sft(make_policy(), ROWS, SftConfig(max_length=5))
    with pytest.raises(ValueError, match="row 0 has no token"):
        train_sft(make_policy(), [Encoded((1, 2), (False, False))], SftConfig())


def grpo(steps: int, **changes: Any) -> GrpoConfig:
    settings: dict[str, Any] = {
        "steps": steps,
        "batch_size": 4,
        "group_size": 12,
        "seed": 1,
        "kl": 0.0,
        "sampling": SamplingConfig(max_new_tokens=3, max_context=64, max_rounds=2),
        "optim": OptimConfig(lr=2e-3, micro_tokens=512),
    }
    return GrpoConfig(**(settings | changes))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"kl": 0.01, "advantage": "dr_grpo", "aggregation": "sequence_mean", "entropy": 0.001},
        {"mini_batch": 2, "dynamic_sampling": True, "clip_high": 0.28},
        {"old_logprobs": "sampled", "aggregation": "sequence_sum"},
    ],
)
def test_grpo_raises_the_reward(
    make_policy: Callable[..., Policy], make_episode: Any, toy_reward: Any, changes: dict[str, Any]
) -> None:
    rewards: list[float] = []
    metrics: dict[str, float] = {}

    def watch(step: int, found: dict[str, float], rollouts: list[Any]) -> None:
        rewards.append(found["reward"])
        metrics.update(found)

    config = grpo(40, **changes)
    train_grpo(make_policy(), range(3), make_episode, toy_reward, config, on_step=watch)
    assert sum(rewards[:3]) / 3 < 0.3
    assert sum(rewards[-3:]) / 3 > 0.6
    assert metrics["sampler_gap"] < 1e-3
    assert ("kl" in metrics) == bool(config.kl)


def test_masked_episodes_take_no_part(make_policy: Callable[..., Policy], make_episode: Any) -> None:
    class Masked:
        total, masked = 0.0, True

    policy = make_policy()
    before = {n: p.clone() for n, p in policy.trainable().items()}
    seen: list[dict[str, float]] = []
    train_grpo(policy, range(3), make_episode, lambda *_: Masked(), grpo(2), on_step=lambda s, m, r: seen.append(m))
    assert seen[0]["masked"] == 48
    assert all(torch.equal(p, before[n]) for n, p in policy.trainable().items())


class _StoppedError(Exception):
    pass


def _runs(tmp_path: Path, run: Callable[[Path | None, Callable[..., None]], None]) -> None:
    """A run broken off after step 3 and continued gives the metrics of an unbroken one."""
    whole: list[Any] = []
    run(None, lambda step, metrics, *_: whole.append((step, metrics["loss"], metrics["grad_norm"])))
    parts: list[Any] = []

    def record(step: int, metrics: dict[str, float], *_: Any) -> None:
        if len(parts) == 3 and step == 4:
            parts.append(None)
            raise _StoppedError
        parts.append((step, metrics["loss"], metrics["grad_norm"]))

    with pytest.raises(_StoppedError):
        run(tmp_path, record)
    parts.pop()
    run(tmp_path, record)
    # checkpoints exist for steps 2 and 4; step 3 is done again
    assert [p for p in parts if p] == [*whole[:3], *whole[2:]]


def test_sft_resumes_exactly(make_policy: Callable[..., Policy], tmp_path: Path) -> None:
    config = SftConfig(epochs=3, batch_size=4, checkpoint_every=2, optim=SHORT)
    _runs(tmp_path, lambda d, f: train_sft(make_policy(), ROWS, config, on_step=f, directory=d) and None)


def test_grpo_resumes_exactly(
    make_policy: Callable[..., Policy], make_episode: Any, toy_reward: Any, tmp_path: Path
) -> None:
    config = grpo(6, kl=0.01, checkpoint_every=2)

    def run(directory: Path | None, watch: Callable[..., None]) -> None:
        train_grpo(make_policy(), range(5), make_episode, toy_reward, config, on_step=watch, directory=directory)

    _runs(tmp_path, run)


def test_resuming_a_finished_run_does_nothing(make_policy: Callable[..., Policy], tmp_path: Path) -> None:
    config = SftConfig(epochs=1, batch_size=4, checkpoint_every=2, optim=SHORT)
    train_sft(make_policy(), ROWS, config, directory=tmp_path)
    steps: list[int] = []
    train_sft(make_policy(), ROWS, config, directory=tmp_path, on_step=lambda s, m: steps.append(s))
    assert steps == []


def test_a_checkpoint_of_another_model_is_refused(make_policy: Callable[..., Policy], tmp_path: Path) -> None:
    train_sft(make_policy(), ROWS, SftConfig(checkpoint_every=1, optim=SHORT), directory=tmp_path)
    other = make_policy()
    other.network.lm_head.bias = torch.nn.Parameter(torch.zeros(32))
    found = latest_checkpoint(tmp_path)
    assert found is not None
    with pytest.raises(ValueError, match=r"lm_head\.bias"):
        load_checkpoint(found, other, Optimizer(other.trainable().values(), SHORT, 1))


def test_only_the_newest_checkpoints_stay(make_policy: Callable[..., Policy], tmp_path: Path) -> None:
    config = SftConfig(epochs=5, batch_size=4, checkpoint_every=1, optim=SHORT)
    train_sft(make_policy(), ROWS, config, directory=tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-000009", "step-000010"]


def test_nan_stops_with_the_batch_saved(make_policy: Callable[..., Policy], tmp_path: Path) -> None:
    policy = make_policy()
    with torch.no_grad():
        policy.network.model.norm.weight[0] = float("nan")
    with pytest.raises(NonFiniteError, match="its batch is in"):
        train_sft(policy, ROWS, SftConfig(optim=SHORT), directory=tmp_path)
    assert len(json.loads((tmp_path / "nonfinite-000001.json").read_text())) == 8


def test_coarse_weights_have_master_copies() -> None:
    weight = torch.nn.Parameter(torch.ones(4, dtype=torch.bfloat16))
    optimizer = Optimizer([weight], OptimConfig(lr=1e-4), 100)
    for _ in range(60):
        weight.grad = torch.ones_like(weight)
        optimizer.step()
    assert float(weight.detach()[0]) == pytest.approx(1 - 60 * 1e-4, abs=4e-3)
    assert float(weight.detach()[0]) < 1


def test_schedules() -> None:
    def rates(**settings: Any) -> list[float]:
        weight = torch.nn.Parameter(torch.ones(1))
        optimizer = Optimizer([weight], OptimConfig(lr=1.0, warmup_steps=2, **settings), 6)
        found = []
        for _ in range(6):
            found.append(optimizer.rate())
            weight.grad = torch.ones(1)
            optimizer.step()
        return found

    assert rates() == [0.5, 1, 1, 1, 1, 1]
    assert rates(schedule="linear") == [0.5, 1, 1, 0.75, 0.5, 0.25]
    assert rates(schedule="cosine")[4] == pytest.approx(0.5)


def test_row_order_is_a_permutation_per_epoch_and_resumes() -> None:
    def take(start: int, n: int) -> list[int]:
        stream: Iterator[int] = row_order(7, 3, start)
        return [next(stream) for _ in range(n)]

    whole = take(0, 21)
    assert sorted(whole[:7]) == sorted(whole[7:14]) == list(range(7))
    assert whole[:7] != whole[7:14]
    assert take(10, 11) == whole[10:]
    assert len({mixed_seed(a, b) for a in range(30) for b in range(30)}) == 900


def test_adapters_leave_the_reference_alone(make_policy: Callable[..., Policy]) -> None:
    bare = make_policy()
    ids = torch.tensor([[10, 11, 2]])
    before = bare.network(ids).logits
    policy = Policy(adapted(bare.network, PolicyConfig(lora_rank=4)), chat=bare.chat)
    train_sft(policy, ROWS, SftConfig(epochs=2, optim=SHORT))
    assert not torch.allclose(policy.network(ids).logits, before)
    with policy.reference() as network:
        assert torch.allclose(network(ids).logits, before, atol=1e-6)
    assert all("lora" in name for name in policy.trainable())


def test_frozen_layers_stay(make_policy: Callable[..., Policy]) -> None:
    policy = make_policy()
    policy.freeze_layers(1)
    before = {n: p.detach().clone() for n, p in policy.network.named_parameters()}
    train_sft(policy, ROWS, SftConfig(optim=SHORT))
    moved = {n for n, p in policy.network.named_parameters() if not torch.equal(p, before[n])}
    assert moved == set(policy.trainable())
    assert not any("layers.0" in n or "embed" in n for n in moved)
    with pytest.raises(ValueError, match="cannot freeze 2"):
        policy.freeze_layers(2)


def test_full_weights_keep_a_frozen_reference(make_policy: Callable[..., Policy]) -> None:
    policy = make_policy()
    with pytest.raises(RuntimeError, match="freeze_reference"), policy.reference():
        pass
    policy.freeze_reference()
    before = policy.network(torch.tensor([[10, 2]])).logits
    train_sft(policy, ROWS, SftConfig(optim=SHORT))
    with policy.reference() as network:
        assert torch.equal(network(torch.tensor([[10, 2]])).logits, before)


def test_replacing_is_all_or_nothing(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with replacing(target) as temporary:
        (temporary / "a").write_text("1")
    with pytest.raises(RuntimeError), replacing(target) as temporary:
        (temporary / "a").write_text("2")
        raise RuntimeError
    assert (target / "a").read_text() == "1"
    with replacing(target) as temporary:
        (temporary / "b").write_text("3")
    assert [p.name for p in target.iterdir()] == ["b"]
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_saved_weights_load_again(make_policy: Callable[..., Policy], tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    policy = make_policy()
    policy.save(tmp_path / "policy")
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "policy")
    ids = torch.tensor([[10, 11, 2]])
    assert torch.allclose(loaded(ids).logits, policy.network(ids).logits, atol=1e-5)


def test_adapters_are_merged_into_what_is_saved(make_policy: Callable[..., Policy], tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    bare = make_policy()
    policy = Policy(adapted(bare.network, PolicyConfig(lora_rank=4)), chat=bare.chat)
    train_sft(policy, ROWS, SftConfig(epochs=2, optim=SHORT))
    policy.save(tmp_path / "policy")
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "policy")
    ids = torch.tensor([[10, 11, 2]])
    assert torch.allclose(loaded(ids).logits, policy.network(ids).logits, atol=1e-5)
    assert policy.trainable()  # and it goes on training
