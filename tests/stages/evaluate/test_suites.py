"""Sizes and agents: what a suite plays, what `params.yaml` changes of it, and what it must not say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stages.evaluate.benchmark import BenchmarkUnavailableError
from stages.evaluate.registry import BENCHMARKS
from stages.evaluate.roster import LOCAL, entrants
from stages.evaluate.suites import SUITES, Assignment, assignments, row_sizes
from stages.params import BenchmarkParams, EvaluateParams, ParamsError, check_block, load_params

ROOT = Path(__file__).parents[3]


def block(**values: Any) -> EvaluateParams:
    made: EvaluateParams = check_block(EvaluateParams, values, "evaluate")
    return made


def planned(**values: Any) -> dict[str, Assignment]:
    return {one.name: one for one in assignments(block(**values), tuple(LOCAL))}


def test_the_default_run_is_the_smoke_suite_and_stays_small() -> None:
    document = load_params(ROOT / "params.yaml")
    params: EvaluateParams = check_block(EvaluateParams, document["evaluate"], "evaluate")
    (bfcl,) = assignments(params, tuple(LOCAL))
    assert (bfcl.name, bfcl.sample, bfcl.agents) == ("bfcl", 1, ("policy",))
    sizes = row_sizes(params)
    assert (sizes.chains, sizes.worlds) == (48, 0)


def test_larger_suites_play_every_benchmark_with_every_agent() -> None:
    agents = ["base", "policy", "gpt"]
    for suite, sample in (("standard", 25), ("full", "all")):
        plan = planned(suite=suite, agents=agents, hosted={"gpt": {"model": "openai/x"}})
        assert list(plan) == list(BENCHMARKS)
        assert all((one.sample, one.agents) == (sample, tuple(agents)) for one in plan.values())
        assert not any(one.required for one in plan.values())
    assert row_sizes(block(suite="full")).chains >= 10**6
    assert set(SUITES) == {"smoke", "standard", "full"}


def test_smoke_lets_hosted_and_scripted_agents_play_beside_the_trained_policy() -> None:
    plan = planned(suite="smoke", agents=["base", "policy", "oracle", "gpt"], hosted={"gpt": {"model": "openai/x"}})
    assert plan["bfcl"].agents == ("policy", "oracle", "gpt")


def test_single_values_are_changed_and_what_is_named_is_required() -> None:
    plan = planned(
        suite="smoke",
        heldout={"worlds": 9},
        benchmarks={"bfcl": {"sample": {"base": 3}}, "nestful": {"agents": ["sft"]}},
    )
    assert plan["bfcl"].sample == {"base": 3} and plan["bfcl"].agents == ("policy",) and plan["bfcl"].required
    assert plan["nestful"].sample == "all" and plan["nestful"].agents == ("sft",)
    sizes = row_sizes(block(suite="smoke", heldout={"worlds": 9}))
    assert (sizes.chains, sizes.worlds, sizes.servers) == (48, 9, 48)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"benchmarks": {"bflc": {}}}, "unknown benchmark 'bflc'; did you mean 'bfcl'"),
        ({"benchmarks": {"bfcl": {"smple": 1}}}, r"benchmarks\.bfcl\.smple: unknown key; did you mean 'sample'"),
        ({"benchmarks": {"bfcl": {"sample": -1}}}, "greater than or equal to 0"),
        ({"benchmarks": {"tooltalk": {"agents": ["oracle"]}}}, "oracle replays reference calls, and tooltalk has none"),
        ({"hosted": {"GPT 4": {"model": "x"}}}, "should match pattern"),
        ({"hosted": {"gpt": {"modl": "x"}}}, r"hosted\.gpt\.modl: unknown key; did you mean 'model'"),
        ({"suite": "smok"}, "'smoke', 'standard' or 'full'"),
        ({"agents": []}, "at least 1"),
        ({"bfcl_sample": 1}, "unknown key"),
    ],
)
def test_a_wrong_block_is_refused_with_the_place_and_the_cure(values: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ParamsError, match=complaint):
        planned(**values)


def test_agents_are_known_by_name() -> None:
    params = block(agents=["policy", "oracle", "gpt"], hosted={"gpt": {"model": "openai/x"}})
    policy, oracle, gpt, sft = entrants(params, ["sft", "gpt"])
    assert policy.weights == LOCAL["policy"] and sft.weights == LOCAL["sft"]
    assert gpt.hosted is not None and (oracle.weights, oracle.hosted) == (None, None)
    with pytest.raises(ParamsError, match="unknown agent 'polcy'; did you mean 'policy'"):
        entrants(block(agents=["polcy"]))
    with pytest.raises(ParamsError, match=r"evaluate\.hosted\.base: this name is taken"):
        entrants(block(hosted={"base": {"model": "x"}}))


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_is_there_or_says_how_to_get_it(name: str) -> None:
    try:
        benchmark = BENCHMARKS[name].load(None, 0)
    except BenchmarkUnavailableError as error:
        assert any(word in str(error) for word in ("install", "clone", "directory"))
    else:
        assert benchmark.version and len(benchmark.tasks()) > 50


def test_directories_reach_their_benchmark(tmp_path: Path) -> None:
    for name in ("acebench_en", "acebench_zh_training", "teval", "tau2"):
        with pytest.raises(BenchmarkUnavailableError, match=str(tmp_path)):
            BENCHMARKS[name].load(BenchmarkParams(data=str(tmp_path)), 0)


def test_tau2_with_a_user_needs_trials_enough_for_pass_hat_k() -> None:
    own = BenchmarkParams.model_validate({"user": {"model": "openai/x"}})
    with pytest.raises(ParamsError, match=r"tau2\.trials is 1: with a user model each task needs at least 4"):
        BENCHMARKS["tau2"].load(own, 7)
