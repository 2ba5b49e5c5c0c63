"""verl's settings, written from `params.yaml`: one flat mapping of its own dotted keys.

A key that is missing here has verl's default. Everything that the two engines share is translated, and what this
engine has no counterpart for is refused by name rather than dropped.
"""

from __future__ import annotations

import json
import math
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from stages.params import ParamsError
from stages.rollout import MAX_PARALLEL_CALLS
from stages.train.params import TrainParams
from stages.train.verl.cpu.forks import WORKER
from stages.train.verl.merge import last_step
from stages.train.verl.phase import FILE, Phase

Value: TypeAlias = "str | int | float | bool | list[str] | None"
Overrides: TypeAlias = dict[str, Value]

AGENT = "prove_episode"
"""Name of our agent loop in the data's `agent_name` column."""

REWARD_WORKERS = 1
STORAGE_UNITS = 8
CPU_RAY_CPUS = 64
"""Logical CPUs of Ray on the test device: nothing has to exist, and with a dozen a run waits for ever."""

CPU_CACHE_GIGABYTES = 1
"""Keys and values of vLLM on the test device."""

CPU_OBJECT_STORE = 256 * 2**20
"""Bytes of Ray's object store on the test device."""

_AGGREGATION = {
    "token_mean": "token-mean",
    "sequence_mean": "seq-mean-token-mean",
    "sequence_sum": "seq-mean-token-sum-norm",
}
_ROLLOUT, _ACTOR, _MODEL = "actor_rollout_ref.rollout", "actor_rollout_ref.actor", "actor_rollout_ref.model"
_PLAIN = re.compile(r"[\w./-]+")
_NUMBER = re.compile(r"[+-]?[\d._]+(e[+-]?\d+)?", re.IGNORECASE)
_ENVIRONMENT = "+ray_kwargs.ray_init.runtime_env.env_vars"


def unsupported(params: TrainParams) -> list[str]:
    """What `params.yaml` asks for and this engine does not have, in words."""
    found = []
    if params.grpo.dynamic_sampling:
        found.append("train.grpo.dynamic_sampling: only the local engine replaces groups without spread")
    if params.grpo.optim.schedule == "linear":
        found.append("train.grpo.optim.schedule: verl has constant and cosine, found 'linear'")
    if params.policy.frozen_layers:
        found.append("train.policy.frozen_layers: only the local engine freezes layers; set it to 0")
    if params.policy.lora_rank and params.verl.device == "cpu":
        found.append("train.policy.lora_rank: the CPU test device has no adapters; set it to 0")
    if params.supervision in ("ops", "hint") and params.grpo.old_logprobs == "sampled":
        lacking = f"{params.supervision} has episodes without a sampler's record"
        found.append(f"train.grpo.old_logprobs: {lacking}; set it to recomputed")
    if "sft" in params.phases and params.sft.optim.schedule == "linear":
        found.append("train.sft.optim.schedule: verl has constant and cosine, found 'linear'")
    if params.supervision in ("ets", "prs", "sft_then_rl") and params.signal.lessons.optim.schedule == "linear":
        found.append("train.signal.lessons.optim.schedule: verl has constant and cosine, found 'linear'")
    return found


def verl_overrides(params: TrainParams, model: Path | str, phase: Phase, rows: int, seed: int) -> Overrides:
    """All settings of a phase over `rows` training rows that starts from `model`; `params` are those of its steps.

    Raises:
        ParamsError: the parameters ask for what this engine does not have.
    """
    missing = unsupported(params)
    if missing:
        raise ParamsError("\n".join(missing))
    written: Overrides = {
        **_data(params, phase.directory, seed),
        **_model(params, model),
        **_actor(params),
        **_rollout(params, phase.directory),
        **_trainer(params, phase, rows),
        **(_cpu(params.verl.cpu_sampler) if params.verl.device == "cpu" else _gpu(params)),
    }
    for name, value in environment(params).items():
        written[f"{_ENVIRONMENT}.{name}"] = value
    return written | dict(parsed(item) for item in params.verl.overrides)


def forks_workers(params: TrainParams) -> bool:
    """Whether the run's processes are forks of one: on the test device, unless vLLM starts processes of its own."""
    return params.verl.device == "cpu" and params.verl.cpu_sampler == "local"


def environment(params: TrainParams) -> dict[str, str]:
    """Environment variables that every process of the run needs."""
    modules = ["stages.train.verl.plugin"]
    device = {}
    if params.verl.device == "cpu":
        modules.append("stages.train.verl.cpu.plugin")
        device = {"VERL_PLATFORM": "cpu", "VERL_ENGINE_DEVICE": "cuda"}
        if params.verl.cpu_sampler == "vllm":
            device |= {"VLLM_CPU_KVCACHE_SPACE": str(CPU_CACHE_GIGABYTES), "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
    return {"VERL_USE_EXTERNAL_MODULES": ",".join(modules), **device}


def parsed(item: str) -> tuple[str, Value]:
    """One `KEY=VALUE`; the value is read as JSON where it is JSON, else as text.

    Raises:
        ParamsError: there is no equals sign.
    """
    key, sign, text = item.partition("=")
    if not sign or not key:
        raise ParamsError(f"train.verl.overrides: {item[:80]!r} is not KEY=VALUE")
    try:
        return key, json.loads(text)
    except ValueError:
        return key, text


def arguments(overrides: Mapping[str, Value]) -> list[str]:
    """The settings as command-line arguments in Hydra's grammar."""
    return [f"{key}={_text(value)}" for key, value in overrides.items()]


def _text(value: Value) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{','.join(_text(item) for item in value)}]"
    if isinstance(value, str) and (not _PLAIN.fullmatch(value) or _reads_otherwise(value)):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    return str(value)


def _reads_otherwise(text: str) -> bool:
    """Whether Hydra would take the bare text for a number or a constant."""
    return text.lower() in ("true", "false", "null", "nan", "inf") or _NUMBER.fullmatch(text) is not None


def _data(params: TrainParams, work: Path, seed: int) -> Overrides:
    return {
        "data.train_files": str(work / "data" / "train.parquet"),
        "data.val_files": str(work / "data" / "val.parquet"),
        "data.train_batch_size": params.grpo.batch_size,
        "data.max_prompt_length": params.max_prompt,
        "data.max_response_length": params.verl.response,
        "data.truncation": "error",
        "data.shuffle": True,
        "data.seed": seed % 2**31,
        "data.dataloader_num_workers": 0,
        "+data.cache_dir": str(work / "cache"),
    }


def _model(params: TrainParams, model: Path | str) -> Overrides:
    lora: Overrides = {}
    if params.policy.lora_rank:
        lora = {
            f"{_MODEL}.lora_rank": params.policy.lora_rank,
            f"{_MODEL}.lora_alpha": round(params.policy.lora_alpha),
            f"{_MODEL}.target_modules": "all-linear",
        }
    return {f"{_MODEL}.path": str(model), f"{_MODEL}.enable_gradient_checkpointing": True, **lora}


def _actor(params: TrainParams) -> Overrides:
    grpo, optim = params.grpo, params.grpo.optim
    sampled = {"algorithm.rollout_correction.bypass_mode": True} if grpo.old_logprobs == "sampled" else {}
    updates = grpo.steps * math.ceil(grpo.batch_size / (grpo.mini_batch or grpo.batch_size))
    scaled = {f"{_ACTOR}.loss_scale_factor": grpo.sampling.max_context} if grpo.aggregation == "sequence_sum" else {}
    return {
        "algorithm.adv_estimator": "prove_group",
        "algorithm.norm_adv_by_std_in_grpo": grpo.advantage == "std",
        "algorithm.use_kl_in_reward": False,
        **sampled,
        f"{_ACTOR}.policy_loss.loss_mode": "prove_clip",
        f"{_ACTOR}.strategy": "fsdp2",
        "actor_rollout_ref.ref.strategy": "fsdp2",
        f"{_ACTOR}.ppo_mini_batch_size": grpo.mini_batch or grpo.batch_size,
        f"{_ACTOR}.clip_ratio": grpo.clip_low,
        f"{_ACTOR}.clip_ratio_low": grpo.clip_low,
        f"{_ACTOR}.clip_ratio_high": grpo.clip_high,
        f"{_ACTOR}.loss_agg_mode": _AGGREGATION[grpo.aggregation],
        **scaled,
        f"{_ACTOR}.use_kl_loss": grpo.kl > 0,
        f"{_ACTOR}.kl_loss_coef": grpo.kl,
        f"{_ACTOR}.kl_loss_type": "low_var_kl",
        f"{_ACTOR}.entropy_coeff": grpo.entropy,
        f"{_ACTOR}.optim.lr": optim.lr,
        f"{_ACTOR}.optim.lr_warmup_steps": max(optim.warmup_steps, round(optim.warmup_ratio * updates)),
        f"{_ACTOR}.optim.lr_scheduler_type": optim.schedule,
        f"{_ACTOR}.optim.weight_decay": optim.weight_decay,
        f"{_ACTOR}.optim.betas": [optim.beta1, optim.beta2],  # type: ignore[list-item]
        f"{_ACTOR}.optim.clip_grad": optim.max_grad_norm,
        f"{_ACTOR}.grad_clip": optim.max_grad_norm,
    }


def _rollout(params: TrainParams, work: Path) -> Overrides:
    settings, sampling = params.verl, params.grpo.sampling
    return {
        f"{_ROLLOUT}.n": params.grpo.group_size,
        f"{_ROLLOUT}.temperature": sampling.temperature,
        f"{_ROLLOUT}.calculate_log_probs": True,
        f"{_ROLLOUT}.max_model_len": params.max_prompt + settings.response,
        f"{_ROLLOUT}.multi_turn.enable": True,
        f"{_ROLLOUT}.multi_turn.max_assistant_turns": sampling.max_rounds,
        f"{_ROLLOUT}.multi_turn.max_parallel_calls": MAX_PARALLEL_CALLS,
        f"{_ROLLOUT}.multi_turn.max_tool_response_length": settings.tool_response,
        f"{_ROLLOUT}.agent.num_workers": settings.workers,
        f"{_ROLLOUT}.agent.default_agent_loop": AGENT,
        f"{_ROLLOUT}.agent.agent_loop_config_path": str(work / "agent_loop.yaml"),
        "reward.num_workers": REWARD_WORKERS,
    }


def _trainer(params: TrainParams, phase: Phase, rows: int) -> Overrides:
    grpo, settings = params.grpo, params.verl
    every = params.validation.every or -1
    return {
        "trainer.nnodes": settings.nodes,
        "trainer.n_gpus_per_node": settings.gpus,
        "trainer.total_training_steps": grpo.steps,
        "trainer.total_epochs": math.ceil(grpo.steps / max(1, rows // grpo.batch_size)) + 1,
        "trainer.save_freq": grpo.checkpoint_every or grpo.steps,
        "trainer.test_freq": every,
        "trainer.val_before_train": phase.unvalidated(last_step(phase.checkpoints)),
        "trainer.logger": ["console"],
        "trainer.project_name": "prove",
        "trainer.experiment_name": "train",
        "trainer.default_local_dir": str(phase.checkpoints),
        "trainer.resume_mode": "auto",
        "trainer.max_actor_ckpt_to_keep": settings.checkpoints,
        "+prove.phase": str(phase.directory / FILE),
        "transfer_queue.backend.SimpleStorage.num_data_storage_units": STORAGE_UNITS,
        "ray_kwargs.ray_init.num_cpus": settings.ray_cpus,
        "hydra.run.dir": str(phase.directory / "hydra"),
    }


def _gpu(params: TrainParams) -> Overrides:
    """Packed sequences, vLLM for sampling; a rank takes as many tokens at once as its longest sequence has."""
    settings = params.verl
    longest = max(params.grpo.optim.micro_tokens, params.max_prompt + settings.response)
    offload: Overrides = {
        f"{_ACTOR}.fsdp_config.param_offload": True,
        f"{_ACTOR}.fsdp_config.optimizer_offload": True,
        "actor_rollout_ref.ref.fsdp_config.param_offload": True,
    }
    adapters: Overrides = {f"{_ROLLOUT}.load_format": "safetensors"} if params.policy.lora_rank else {}
    return {
        f"{_ROLLOUT}.name": "vllm",
        f"{_ROLLOUT}.tensor_model_parallel_size": settings.tensor_parallel,
        f"{_ROLLOUT}.gpu_memory_utilization": settings.gpu_memory,
        f"{_MODEL}.use_remove_padding": True,
        f"{_ACTOR}.use_dynamic_bsz": True,
        f"{_ACTOR}.ppo_max_token_len_per_gpu": longest,
        **(offload if settings.offload else {}),
        **adapters,
    }


def _cpu(sampler: Literal["local", "vllm"]) -> Overrides:
    """The test device: gloo, attention with padding, one process of each kind."""
    own: Overrides = {
        f"{_ROLLOUT}.name": "prove_cpu",
        "+ray_kwargs.ray_init.runtime_env.py_executable": shlex.join([sys.executable, "-I", "-S", str(WORKER)]),
    }
    vllm: Overrides = {
        f"{_ROLLOUT}.name": "vllm",
        f"{_ROLLOUT}.enforce_eager": True,
        f"{_ROLLOUT}.free_cache_engine": False,
        f"+{_ROLLOUT}.enable_sleep_mode": False,
        f"{_ROLLOUT}.max_num_seqs": 16,
    }
    return {
        **(vllm if sampler == "vllm" else own),
        f"{_ROLLOUT}.tensor_model_parallel_size": 1,
        f"{_ROLLOUT}.dtype": "float32",
        "trainer.device": "cpu",
        "+ray_kwargs.ray_init.num_gpus": 1,
        "+ray_kwargs.ray_init.include_dashboard": False,
        "+ray_kwargs.ray_init.object_store_memory": CPU_OBJECT_STORE,
        "ray_kwargs.ray_init.num_cpus": CPU_RAY_CPUS,
        f"{_MODEL}.use_remove_padding": False,
        f"+{_MODEL}.override_config.attn_implementation": "sdpa",
        f"{_MODEL}.enable_gradient_checkpointing": False,
        f"{_ACTOR}.use_torch_compile": False,
        f"{_ACTOR}.fsdp_config.use_torch_compile": False,
        f"{_ACTOR}.fsdp_config.dtype": "float32",
        "actor_rollout_ref.ref.use_torch_compile": False,
        "actor_rollout_ref.ref.fsdp_config.use_torch_compile": False,
        "actor_rollout_ref.ref.fsdp_config.dtype": "float32",
        f"{_ACTOR}.use_dynamic_bsz": False,
        f"{_ACTOR}.ppo_micro_batch_size_per_gpu": 4,
        f"{_ROLLOUT}.log_prob_micro_batch_size_per_gpu": 4,
        "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu": 4,
        "transfer_queue.backend.SimpleStorage.num_data_storage_units": 1,
    }
