"""Against verl itself, without Ray: the agent loop's answers, one loss in both engines, settings that it accepts."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
import yaml

from servers.kernel.catalog import Catalog
from stages.chat import ChatFormat
from stages.dataset import row_to_plain
from stages.params import check_block
from stages.profile import merged
from stages.reward.rules import RewardRules
from stages.train.config import GrpoConfig
from stages.train.forward import score_pack
from stages.train.losses import group_advantages, low_var_kl, token_weights
from stages.train.packing import Row, pack_sequences
from stages.train.params import TrainParams
from stages.train.policy import Policy
from stages.train.update import grpo_objective, reference_logprobs
from stages.train.verl.imitate import batch_rows, sft_overrides
from stages.train.verl.limits import Limits, LoopSettings
from stages.train.verl.overrides import arguments, verl_overrides
from stages.train.verl.phase import Phase
from tests.stages.train.verl.scripted import ScriptedModel, ScriptedServers, calling, saying
from tests.stages.train.verl.small import build_qwen, rl_rows

pytest.importorskip("verl")
pytest.importorskip("transfer_queue")
pytestmark = pytest.mark.timeout(600)  # verl's import alone takes a minute on a busy machine

ROOT = Path(__file__).parents[4]
PROFILES = sorted(path for kind in ("prove-*", "one-gpu-*") for path in (ROOT / "profiles").glob(f"{kind}.yaml"))
LONGEST = 256


@pytest.fixture
def outputs(catalog: Catalog, chat: ChatFormat, tokenizer: Any, limits: Limits) -> list[Any]:
    """Two groups of four: of the first, one trajectory loses its server, and the others earn different rewards."""
    from omegaconf import OmegaConf
    from verl.experimental.agent_loop.agent_loop import DictConfigWrap

    from stages.train.verl.agent_loop import EpisodeLoop, worker_environment

    worker_environment.cache_clear()  # it belongs to one event loop, as a worker process has
    both = [calling("list_payees"), calling("list_accounts"), saying("Done.")]
    scripts: list[list[Any]] = [
        both, [RuntimeError("the server died")], [saying("No.")], [calling("list_accounts"), saying("Done.")],
        [calling("list_payees"), saying("Done.")], both, both, [saying("No.")],
    ]  # fmt: skip
    servers = [ScriptedServers(ScriptedModel(chat, script)) for script in scripts]
    settings = LoopSettings(servers=("banking",), rules=RewardRules(), described=True, limits=limits)
    config = OmegaConf.create({"actor_rollout_ref": {"rollout": {"prompt_length": 600, "response_length": 1200}}})
    rows = rl_rows(catalog, 2)

    async def play() -> list[Any]:
        async def one(number: int) -> Any:
            loop = EpisodeLoop(
                trainer_config=DictConfigWrap(config), server_manager=servers[number], tokenizer=tokenizer,
                processor=None, dataset_cls=object, data_config=DictConfigWrap(OmegaConf.create({})),
                hf_model_type="qwen2",
                settings=settings.model_dump_json(),
            )  # fmt: skip
            row = json.dumps(row_to_plain(rows[number // 4]))
            extra = {"row": row, "split": "train", "index": number // 4}
            return await loop.run({"temperature": 1.0}, extra_info=extra, global_steps=4, session_id=number % 4)

        return list(await asyncio.gather(*(one(number) for number in range(len(scripts)))))

    found = asyncio.run(play())
    assert all(wanted["stop_token_ids"] == sorted(chat.stop_ids) for each in servers for wanted in each.wanted)
    assert all(len(each.requests) == 1 for each in servers), "one request id for an episode keeps it on one server"
    return found


def test_one_lost_server_leaves_its_group_intact(outputs: list[Any]) -> None:
    told = [output.extra_fields["reward_extra_info"] for output in outputs]
    assert len({tuple(info) for info in told}) == 1
    assert [info["masked"] for info in told] == [0, 1, 0, 0, 0, 0, 0, 0]
    assert told[1]["fault_generation"] == 1 and "the server died" in outputs[1].extra_fields["fault"]
    assert sum(outputs[1].response_mask) == 0 and len(outputs[1].response_ids) == 1
    for output in outputs:
        assert len(output.response_ids) == len(output.response_mask) == len(output.response_logprobs)
        assert isinstance(output.extra_fields["min_global_steps"], int)
        assert output.as_dict()["rm_scores"][-1] == pytest.approx(output.reward_score)
    assert [sum(o.response_mask) > 0 for o in outputs] == [True, False, True, True, True, True, True, True]
    assert outputs[3].reward_score == pytest.approx(1.3) and outputs[2].reward_score == 0


@pytest.mark.parametrize("aggregation", ["token_mean", "sequence_mean", "sequence_sum"])
@pytest.mark.parametrize("advantage", ["std", "dr_grpo"])
def test_the_same_episodes_give_the_same_advantages_and_loss(
    outputs: list[Any], tokenizer: Any, aggregation: Any, advantage: Any
) -> None:
    config = GrpoConfig(
        batch_size=2, group_size=4, kl=0.05, entropy=0.01, clip_high=0.28, aggregation=aggregation, advantage=advantage
    )
    policy = Policy(build_qwen(len(tokenizer), 0))
    old, reference = Policy(build_qwen(len(tokenizer), 1)), Policy(build_qwen(len(tokenizer), 2))
    live = [number for number, output in enumerate(outputs) if sum(output.response_mask)]
    ours = group_advantages([outputs[i].reward_score for i in live], [i // 4 for i in live], advantage)

    theirs = verl_advantages(outputs, advantage)
    for place, number in enumerate(live):
        own = torch.tensor(outputs[number].response_mask, dtype=torch.bool)
        assert theirs[number, : len(own)][own] == pytest.approx(ours[place], abs=1e-5)
    assert theirs[1].abs().sum() == 0 and len({round(value, 6) for value in ours}) > 3

    weights = token_weights([sum(outputs[i].response_mask) for i in live], aggregation, LONGEST)
    rows = [
        Row(
            tuple(outputs[i].prompt_ids), tuple(outputs[i].response_ids), tuple(map(bool, outputs[i].response_mask)),
            weight, value, tuple(outputs[i].response_logprobs),
        )
        for i, weight, value in zip(live, weights, ours, strict=True)
    ]  # fmt: skip
    packs = pack_sequences(rows, 4096)
    objective = grpo_objective(
        reference_logprobs(old.network, packs), reference_logprobs(reference.network, packs),
        clip_low=config.clip_low, clip_high=config.clip_high, kl=config.kl, entropy=config.entropy,
    )  # fmt: skip
    local = sum(
        objective(number, pack, score_pack(policy.network, pack, entropies="gradient"))[0]
        for number, pack in enumerate(packs)
    )
    masked = len(outputs) - len(live) if aggregation != "token_mean" else 0
    cluster = verl_loss(outputs, theirs, policy, old, reference, config, masked)
    assert float(cluster.detach()) == pytest.approx(float(local.detach()), abs=1e-5)
    assert abs(float(local.detach())) > 1e-3


def verl_advantages(outputs: list[Any], kind: str) -> torch.Tensor:
    from omegaconf import OmegaConf
    from verl.trainer.ppo.core_algos import get_adv_estimator_fn

    from stages.train.verl.algos import ADVANTAGE

    rewards = [output.as_dict()["rm_scores"] for output in outputs]
    masks = [torch.tensor(output.response_mask) for output in outputs]
    advantages, _ = get_adv_estimator_fn(ADVANTAGE)(
        token_level_rewards=padded(rewards),
        response_mask=padded(masks),
        index=[f"group-{number // 4}" for number in range(len(outputs))],
        config=OmegaConf.create({"norm_adv_by_std_in_grpo": kind == "std"}),
    )
    found: torch.Tensor = advantages
    return found


def verl_loss(
    outputs: list[Any],
    advantages: torch.Tensor,
    policy: Policy,
    old: Policy,
    reference: Policy,
    config: GrpoConfig,
    masked: int,
) -> torch.Tensor:
    """The loss as verl's worker computes it from nested tensors; `masked` trajectories don't count in its mean."""
    from tensordict import TensorDict
    from verl.utils import tensordict_utils
    from verl.workers.config import FSDPActorConfig, PolicyLossConfig
    from verl.workers.utils.losses import ppo_loss
    from verl.workers.utils.padding import response_to_nested

    from stages.train.verl.algos import LOSS
    from stages.train.verl.overrides import _AGGREGATION

    actor = FSDPActorConfig(
        strategy="fsdp2", rollout_n=4, ppo_mini_batch_size=2, ppo_micro_batch_size_per_gpu=8, use_kl_loss=True,
        kl_loss_coef=config.kl, kl_loss_type="low_var_kl", entropy_coeff=config.entropy, clip_ratio=config.clip_low,
        clip_ratio_low=config.clip_low, clip_ratio_high=config.clip_high,
        loss_agg_mode=_AGGREGATION[config.aggregation],
        loss_scale_factor=LONGEST, policy_loss=PolicyLossConfig(loss_mode=LOSS),
    )  # fmt: skip
    masks = nested([torch.tensor(o.response_mask) for o in outputs])
    lengths = [len(o.response_ids) for o in outputs]
    data = TensorDict(
        {
            "prompts": nested([torch.tensor(o.prompt_ids) for o in outputs]),
            "responses": nested([torch.tensor(o.response_ids) for o in outputs]),
            "response_mask": masks,
            "advantages": response_to_nested(advantages, masks),
            "old_log_probs": nested([p[-n - 1 : -1] for p, n in zip(logprobs(old, outputs)[0], lengths, strict=True)]),
            "ref_log_prob": nested(
                [p[-n - 1 : -1] for p, n in zip(logprobs(reference, outputs)[0], lengths, strict=True)]
            ),
        },
        batch_size=len(outputs),
    )
    tensordict_utils.assign_non_tensor(
        data,
        dp_size=1,
        batch_num_tokens=int(masks.values().sum()),
        global_batch_size=len(outputs) - masked,
    )
    scores, entropies = logprobs(policy, outputs)
    loss, _ = ppo_loss(actor, {"log_probs": nested(scores), "entropy": nested(entropies)}, data)
    found: torch.Tensor = loss
    return found


def logprobs(policy: Policy, outputs: list[Any]) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """At each position, the log-probability of the next token, and the entropy it was drawn from."""
    scores, entropies = [], []
    for output in outputs:
        ids = torch.tensor([[*output.prompt_ids, *output.response_ids]])
        with torch.no_grad():
            table = policy.network(ids).logits[0].float().log_softmax(-1)
        scores.append(table.gather(-1, ids[0].roll(-1)[:, None])[:, 0])
        entropies.append(-(table.exp() * table).sum(-1))
    return scores, entropies


def padded(rows: list[torch.Tensor]) -> torch.Tensor:
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)


def nested(rows: list[torch.Tensor]) -> torch.Tensor:
    return torch.nested.as_nested_tensor(rows, layout=torch.jagged)


def test_verls_kl_is_the_local_engines() -> None:
    from verl.trainer.ppo.core_algos import kl_penalty

    generator = torch.Generator().manual_seed(0)
    ours, reference = torch.randn(2, 500, generator=generator) * 12
    theirs = kl_penalty(logprob=ours, ref_logprob=reference, kl_penalty="low_var_kl")
    assert torch.equal(theirs, low_var_kl(ours, reference)) and theirs.max() == 10


@pytest.fixture
def vllm_ranks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Where vLLM is missing, verl can't ask it which ranks of adapters it takes."""
    name = "verl.workers.rollout.vllm_rollout.utils"
    if "vllm" not in sys.modules:
        stub = ModuleType(name)
        stub.get_vllm_max_lora_rank = lambda rank: rank  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, name, stub)
    yield


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_verl_accepts_the_settings_of_each_profile(path: Path, vllm_ranks: None) -> None:
    from hydra import compose, initialize_config_module
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import omega_conf_to_dataclass, validate_config

    document = merged(yaml.safe_load((ROOT / "params.yaml").read_text()), yaml.safe_load(path.read_text()))
    params: TrainParams = check_block(TrainParams, document["train"], "train")
    phase = Phase(
        root=Path("/w"), work=Path("/w"), directory=Path("/w"), first=0, last=params.grpo.steps,
        seed=7, params=params, document={},
    )  # fmt: skip
    settings = arguments(verl_overrides(params, "weights", phase, rows=10_000, seed=7))
    with initialize_config_module("verl.trainer.config", version_base=None):
        config = compose("ppo_trainer", overrides=[item for item in settings if not item.startswith("hydra.")])
    assert need_reference_policy(config) == (params.grpo.kl > 0)
    validate_config(config, need_reference_policy(config), need_critic(config))
    rollout = omega_conf_to_dataclass(config.actor_rollout_ref.rollout)
    assert (rollout.n, rollout.prompt_length) == (params.grpo.group_size, params.max_prompt)
    assert rollout.multi_turn.max_tool_response_length == params.verl.tool_response
    assert config.actor_rollout_ref.actor.optim.lr == params.grpo.optim.lr
    assert json.loads(json.dumps(dict(config.ray_kwargs.ray_init.runtime_env.env_vars)))


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_verl_accepts_the_supervised_settings_of_each_profile(path: Path) -> None:
    from hydra import compose, initialize_config_module
    from verl.utils.config import omega_conf_to_dataclass

    document = merged(yaml.safe_load((ROOT / "params.yaml").read_text()), yaml.safe_load(path.read_text()))
    params: TrainParams = check_block(TrainParams, document["train"], "train")
    decaying = params.sft.optim.model_copy(update={"schedule": "cosine"})
    for config in (params.sft.model_copy(update={"optim": decaying}), params.signal.lessons):
        batch = batch_rows(1_000, config.batch_size, params.verl.gpus)
        settings = arguments(sft_overrides(params, config, Path("weights"), Path("/w"), batch, steps=50, epochs=2))
        with initialize_config_module("verl.trainer.config", version_base=None):
            found = compose("sft_trainer_engine", overrides=[s for s in settings if not s.startswith("hydra.")])
        assert omega_conf_to_dataclass(found.optim).lr == config.optim.lr
        assert omega_conf_to_dataclass(found.engine).strategy == "fsdp2"
        assert found.data.train_batch_size % params.verl.gpus == 0
        assert found.data.max_token_len_per_gpu >= config.max_length
