"""verl's settings: what is written from the parameters, and what is refused before a run can be ruined by it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from servers.kernel.catalog import Catalog
from stages.params import ParamsError, check_block
from stages.profile import merged
from stages.rollout import MAX_PARALLEL_CALLS
from stages.train.params import TrainParams
from stages.train.verl.checks import check_overrides, needed_cpus
from stages.train.verl.data import write_rows
from stages.train.verl.overrides import arguments, parsed, verl_overrides
from stages.train.verl.phase import Phase
from stages.train.verl.plan import episodes_at_once, told, training_memory
from stages.train.verl.shapes import KNOWN, shape_of
from tests.stages.train.verl.small import rl_rows

ROOT = Path(__file__).parents[4]
PROFILES = sorted([*(ROOT / "profiles").glob("prove-*.yaml"), *(ROOT / "profiles").glob("one-gpu-*.yaml")])
PAPER = {"batch_size": 16, "group_size": 16, "steps": 350, "kl": 0.01}


def params(**changes: Any) -> TrainParams:
    base = {"grpo": {**PAPER, "sampling": {"max_context": 28_768}}, "verl": {"ray_cpus": 96}}
    found: TrainParams = check_block(TrainParams, merged(base, changes), "train")
    return found


def written(chosen: TrainParams | None = None) -> dict[str, Any]:
    chosen = chosen or params()
    phase = Phase(
        root=Path("/w"), work=Path("/w"), directory=Path("/w"), first=0, last=chosen.grpo.steps,
        seed=7, params=chosen, document={},
    )  # fmt: skip
    return verl_overrides(chosen, "weights", phase, rows=1000, seed=7)


def test_the_papers_numbers_reach_verl() -> None:
    found = written(params(grpo={"optim": {"lr": 1e-6}}))
    assert found["data.train_batch_size"] == 16 and found["actor_rollout_ref.rollout.n"] == 16
    assert found["data.max_prompt_length"] == 12_384 and found["data.max_response_length"] == 16_384
    assert found["actor_rollout_ref.actor.use_kl_loss"] is True
    assert found["actor_rollout_ref.actor.kl_loss_coef"] == 0.01
    assert found["actor_rollout_ref.actor.optim.lr"] == 1e-6
    assert found["actor_rollout_ref.rollout.multi_turn.max_parallel_calls"] == MAX_PARALLEL_CALLS
    assert found["actor_rollout_ref.rollout.multi_turn.max_tool_response_length"] == 8_192
    assert found["trainer.total_training_steps"] == 350
    assert found["trainer.total_epochs"] >= 350 * 16 / 1000
    assert found["actor_rollout_ref.actor.ppo_max_token_len_per_gpu"] >= 12_384 + 16_384


@pytest.mark.parametrize(
    ("override", "told_of"),
    [
        ("actor_rollout_ref.rollout.multi_turn.max_tool_response_length=256", "256 characters"),
        ("actor_rollout_ref.rollout.multi_turn.max_parallel_calls=1", "max_parallel_calls is 1"),
        ("data.truncation=left", "system prompt"),
        ("ray_kwargs.ray_init.num_cpus=12", "wait for ever"),
        ("data.max_prompt_length=400", "a row has 500 tokens"),
        ("actor_rollout_ref.rollout.max_model_len=1000", "max_model_len"),
        ("actor_rollout_ref.rollout.tensor_model_parallel_size=3", "does not divide the 8 GPUs"),
        ("data.train_batch_size=2000", "a step takes 2000"),
        ("actor_rollout_ref.actor.ppo_mini_batch_size=5", "does not divide"),
    ],
)
def test_what_would_ruin_a_run_is_refused(override: str, told_of: str) -> None:
    check_overrides(written(), rows=1000, longest_prompt=500)
    with pytest.raises(ParamsError, match=told_of):
        check_overrides(written(params(verl={"overrides": [override]})), rows=1000, longest_prompt=500)


def test_leaving_verls_defaults_in_place_is_refused_too() -> None:
    found = written()
    for key in ("max_tool_response_length", "max_parallel_calls"):
        del found[f"actor_rollout_ref.rollout.multi_turn.{key}"]
    with pytest.raises(ParamsError) as caught:
        check_overrides(found, rows=1000, longest_prompt=500)
    assert "max_tool_response_length is 256" in str(caught.value) and "max_parallel_calls" in str(caught.value)


def test_a_machine_without_enough_cpus_is_told_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stages.train.verl.checks.os.cpu_count", lambda: 4)
    found = written(params(verl={"ray_cpus": None}))
    with pytest.raises(ParamsError, match=f"Ray would have 4 CPUs and the run reserves {needed_cpus(found)}"):
        check_overrides(found, rows=1000, longest_prompt=500)


@pytest.mark.parametrize(
    ("change", "told_of"),
    [
        ({"grpo": {"dynamic_sampling": True}}, "dynamic_sampling"),
        ({"grpo": {"optim": {"schedule": "linear"}}}, "schedule"),
        ({"policy": {"base": "x", "frozen_layers": 2}}, "frozen_layers"),
        ({"verl": {"overrides": ["nonsense"]}}, "KEY=VALUE"),
        ({"sft": {"optim": {"schedule": "linear"}}}, "train.sft.optim.schedule"),
        ({"supervision": "hint", "grpo": {"old_logprobs": "sampled"}}, "hint has episodes without"),
        (
            {"supervision": "ets", "signal": {"lessons": {"optim": {"schedule": "linear"}}}},
            "train.signal.lessons.optim.schedule",
        ),
    ],
)
def test_what_the_engine_lacks_is_refused_by_name(change: dict[str, Any], told_of: str) -> None:
    with pytest.raises(ParamsError, match=told_of):
        written(params(**change))


def test_unknown_keys_of_the_block_are_refused() -> None:
    with pytest.raises(ParamsError, match="tensor_parallel"):
        params(verl={"tensor_paralel": 2})


def test_values_survive_the_command_line() -> None:
    given = {"a": None, "b": True, "c": 0.5, "d": "x y,[z]'", "e": ["console", "a b"], "f": "/plain/path-1.0", "g": "1"}
    assert arguments(given) == [
        "a=null",
        "b=true",
        "c=0.5",
        "d='x y,[z]\\''",
        "e=[console,'a b']",
        "f=/plain/path-1.0",
        "g='1'",
    ]
    assert parsed("a.b=[1, 2]") == ("a.b", [1, 2]) and parsed("a=text=1") == ("a", "text=1")


def test_rows_travel_whole_and_the_file_is_the_same_every_time(tmp_path: Path, catalog: Catalog) -> None:
    import pyarrow.parquet as pq

    from stages.dataset import rl_row

    rows = rl_rows(catalog, 3)
    for name in ("one", "two"):
        write_rows(tmp_path / f"{name}.parquet", rows, "train")
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.parquet", "two.parquet"]
    found = pq.read_table(tmp_path / "one.parquet").to_pylist()
    assert [rl_row(json.loads(item["extra_info"]["row"])) for item in found] == rows
    assert [item["extra_info"]["index"] for item in found] == [0, 1, 2]
    assert {item["agent_name"] for item in found} == {"prove_episode"}
    assert found[1]["prompt"][-1] == {"role": "user", "content": rows[1].messages[-1].content}


def test_known_shapes_have_the_published_sizes() -> None:
    billions = {name: shape.parameters / 1e9 for name, shape in KNOWN.items()}
    assert billions == pytest.approx(
        {"qwen3-0.6b": 0.596, "qwen3-1.7b": 1.72, "qwen3-4b": 4.02, "qwen3-8b": 8.19, "qwen2.5-7b": 7.62}, rel=0.01
    )
    assert shape_of("nowhere", "Qwen/Qwen3-4B-Instruct-2507").name == "Qwen3-4B"


def test_the_plan_shows_its_arithmetic() -> None:
    chosen, shape = params(), KNOWN["qwen3-4b"]
    text = told(chosen, shape)
    assert "350 steps" in text and f"{shape.parameters:,}" in text
    weights = training_memory(chosen, shape)[0]
    assert weights.amount == 4 * shape.parameters / 8
    assert episodes_at_once(chosen, shape) > episodes_at_once(params(verl={"gpu_memory": 0.3}), shape)


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_profiles_are_accepted(path: Path) -> None:
    document = merged(yaml.safe_load((ROOT / "params.yaml").read_text()), yaml.safe_load(path.read_text()))
    chosen = check_block(TrainParams, document["train"], "train")
    check_overrides(written(chosen), rows=10_000, longest_prompt=500)
    assert told(chosen, shape_of(document["bootstrap"]["policy"])) if "granite" not in path.stem else True
