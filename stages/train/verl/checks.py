"""Settings that ruin a run without an error: each is refused with the reason and the cure.

The checks look at what verl is really given, so they hold for `train.verl.overrides` too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from stages.params import ParamsError
from stages.train.verl.overrides import REWARD_WORKERS, Value

_ROLLOUT = "actor_rollout_ref.rollout"
_TURNS = f"{_ROLLOUT}.multi_turn"
VERL_TOOL_CHARACTERS = 256
"""verl's default cap of a tool's result: it cuts a list of accounts in the middle."""

CPUS_PER_GPU = 3
"""What verl's resource pool reserves beside each GPU."""

CPUS_BESIDE = 4
"""Driver, queue controller, and room for one of each kind to restart."""


def check_overrides(overrides: Mapping[str, Value], rows: int, longest_prompt: int) -> None:
    """Refuse what would not raise an error and yet train nothing useful.

    Args:
        overrides: what verl is given.
        rows: training rows that fit.
        longest_prompt: tokens of the longest prompt among them.

    Raises:
        ParamsError: names every setting at fault.
    """
    found = [*_tools(overrides), *_prompts(overrides, longest_prompt), *_batches(overrides, rows), *_cpus(overrides)]
    if found:
        raise ParamsError("\n".join(found))


def needed_cpus(overrides: Mapping[str, Value]) -> int:
    """Logical CPUs that the processes of a run reserve in Ray."""
    gpus = _number(overrides, "trainer.nnodes", 1) * _number(overrides, "trainer.n_gpus_per_node", 8)
    workers = _number(overrides, f"{_ROLLOUT}.agent.num_workers", 8)
    reward = _number(overrides, "reward.num_workers", REWARD_WORKERS)
    storage = _number(overrides, "transfer_queue.backend.SimpleStorage.num_data_storage_units", 8)
    return gpus * CPUS_PER_GPU + workers + reward + storage + CPUS_BESIDE


def _tools(overrides: Mapping[str, Value]) -> Iterator[str]:
    cap = _number(overrides, f"{_TURNS}.max_tool_response_length", VERL_TOOL_CHARACTERS)
    if cap <= VERL_TOOL_CHARACTERS:
        yield (
            f"{_TURNS}.max_tool_response_length is {cap}, verl's default is {VERL_TOOL_CHARACTERS} characters: results "
            "would be cut in the middle; set train.verl.tool_response to some thousands"
        )
    if _number(overrides, f"{_TURNS}.max_parallel_calls", 1) <= 1:
        yield (
            f"{_TURNS}.max_parallel_calls is 1, verl's default: all but the first call of a reply would be dropped in "
            "silence; leave it out of train.verl.overrides"
        )


def _prompts(overrides: Mapping[str, Value], longest: int) -> Iterator[str]:
    if overrides.get("data.truncation", "error") != "error":
        yield (
            f"data.truncation is {overrides['data.truncation']!r}: a long prompt would lose its system prompt and "
            "tools first; leave it at 'error' and raise train.max_prompt"
        )
    budget = _number(overrides, "data.max_prompt_length", 512)
    if longest > budget:
        yield f"data.max_prompt_length is {budget} and a row has {longest} tokens: raise train.max_prompt to {longest}"
    whole = budget + _number(overrides, "data.max_response_length", 512)
    length = _number(overrides, f"{_ROLLOUT}.max_model_len", whole)
    if length < whole:
        yield f"{_ROLLOUT}.max_model_len is {length}, prompt and response may have {whole} tokens: raise it"


def _batches(overrides: Mapping[str, Value], rows: int) -> Iterator[str]:
    batch = _number(overrides, "data.train_batch_size", 1024)
    if rows < batch:
        yield f"{rows} training rows fit and a step takes {batch}: lower it or raise train.max_prompt"
    mini = _number(overrides, "actor_rollout_ref.actor.ppo_mini_batch_size", 256)
    if batch % mini:
        yield f"train.grpo.mini_batch is {mini} and does not divide train.grpo.batch_size, {batch}"
    gpus = _number(overrides, "trainer.nnodes", 1) * _number(overrides, "trainer.n_gpus_per_node", 8)
    parallel = _number(overrides, f"{_ROLLOUT}.tensor_model_parallel_size", 2)
    if gpus % parallel:
        yield f"train.verl.tensor_parallel is {parallel} and does not divide the {gpus} GPUs"


def _cpus(overrides: Mapping[str, Value]) -> Iterator[str]:
    needed, given = needed_cpus(overrides), overrides.get("ray_kwargs.ray_init.num_cpus")
    if given is None and _number(overrides, "trainer.nnodes", 1) > 1:
        return  # the cluster is there already, and this machine is but a part of it
    found = given if isinstance(given, int) else os.cpu_count() or 1
    if found < needed:
        yield (
            f"Ray would have {found} CPUs and the run reserves {needed}: it would wait for ever without a message; "
            f"set train.verl.ray_cpus to {needed} (a count, not real cores) or lower train.verl.workers"
        )


def _number(overrides: Mapping[str, Value], key: str, default: int) -> int:
    value = overrides.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ParamsError(f"{key} must be a whole number, found {str(value)[:80]!r}")
    return value
