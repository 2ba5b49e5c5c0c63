"""Check values and edge cases of each reward component."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from stages.records import ExecutedCall, Json, ToolSpec, TruthCall
from stages.reward.combine import RewardRecord, score
from stages.reward.efficiency import budget, efficiency
from stages.reward.equality import values_equal
from stages.reward.matching import match
from stages.reward.outcome import outcome
from stages.reward.rules import RewardRules, Weights
from stages.reward.validity import arguments_fit

SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "n": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["id"],
}


def tool(name: str) -> ToolSpec:
    return ToolSpec(name, "A tool.", SCHEMA)


def call(name: str, position: int = 0, *, ok: bool = True, **arguments: Json) -> ExecutedCall:
    return ExecutedCall(name, arguments, position, executed=True, ok=ok)


def step(name: str, *depends_on: int, **arguments: Json) -> TruthCall:
    return TruthCall(name, arguments, depends_on)


TOOLS = [tool(n) for n in ("a", "b", "c", "d")]


@pytest.mark.parametrize(
    ("truth", "calls", "limit", "default", "tight"),
    [
        (1, 2, 2, 0, -0.5),
        (1, 3, 2, -0.25, -1),
        (2, 4, 3, -1 / 6, -0.5),
        (3, 6, 5, -0.1, -0.5),
        (4, 6, 6, 0, -0.25),
        (4, 8, 6, -1 / 6, -0.5),
        (5, 16, 8, -0.5, -1.1),
    ],
)
def test_efficiency_check_values(truth: int, calls: int, limit: int, default: float, tight: float) -> None:
    assert budget(truth, 0.5) == limit
    assert efficiency(calls, limit, 0.5) == pytest.approx(default)
    assert efficiency(calls, budget(truth, 0), 0.5) == pytest.approx(tight)


def test_budget_is_not_fooled_by_binary_fractions() -> None:
    assert budget(10, 0.1) == 11
    assert budget(30, 0.1) == 33


def test_a_perfect_episode_earns_the_maximum() -> None:
    record = score(TOOLS, [step("a", id="x"), step("b", 0, id="y")], [call("a", 0, id="x"), call("b", 2, id="y")])
    assert record.total == pytest.approx(1.3)
    assert record.matching == (0, 1)
    assert record.levels == (3, 3)


def test_abstention() -> None:
    assert score(TOOLS, [], []).total == 1
    assert score(TOOLS, [], []).abstention
    assert score(TOOLS, [], [call("a", id="x")]).total == 0


def test_no_calls_earn_nothing() -> None:
    record = score(TOOLS, [step("a", id="x")], [])
    assert record.total == 0
    assert not record.abstention


def test_infrastructure_is_masked_not_zero() -> None:
    broken = ExecutedCall("a", {"id": "x"}, 0, executed=True, ok=False, infrastructure=True)
    record = score(TOOLS, [step("a", id="x")], [call("a", id="x"), broken])
    assert record.masked
    assert record.total == 0


@pytest.mark.parametrize(
    ("made", "level"),
    [
        (call("zzz", id="x"), 0),
        (call("a"), 1),
        (call("a", id=5), 1),
        (call("a", id="x", extra=1), 1),
        (call("a", id="x", n=True), 1),
        (call("a", id="x", n=5.5), 1),
        (call("a", id="x", tags=["t", 1]), 1),
        (ExecutedCall("a", None, 0, executed=False, ok=False), 1),
        (call("a", ok=False, id="x"), 2),
        (ExecutedCall("a", {"id": "x"}, 0, executed=False, ok=True), 2),
        (call("a", id="x", n=5.0, tags=["t"]), 3),
    ],
)
def test_validity_levels_are_nested(made: ExecutedCall, level: int) -> None:
    record = score(TOOLS, [step("d", id="x")], [made])
    assert record.levels == (level,)
    assert record.validity == pytest.approx(level / 3)


def test_schema_details() -> None:
    schema: dict[str, Json] = {
        "properties": {
            "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "who": {"$ref": "#/$defs/Who"},
            "stripped": {},
        },
        "$defs": {"Who": {"type": "object", "properties": {"n": {"type": "string"}}, "required": ["n"]}},
    }
    assert arguments_fit({"maybe": None, "who": {"n": "x"}, "stripped": [1]}, schema)
    assert not arguments_fit({"maybe": "1"}, schema)
    assert not arguments_fit({"who": {}}, schema)
    deep: Json = []
    for _ in range(5000):
        deep = [deep]
    assert arguments_fit({"stripped": deep}, schema)
    assert not arguments_fit({"x": {}}, {"properties": {"x": {"$ref": "#"}}, "required": ["x"]})


@pytest.mark.parametrize(
    ("left", "right", "lenient", "strict"),
    [
        (5, 5.0, True, True),
        (5, "5", True, False),
        ("5.0", 5, True, False),
        (0.1 + 0.2, 0.3, True, False),
        (5, 5.00001, False, False),
        (" Berlin", "berlin ", True, False),
        ("007", "7", False, False),
        ("007", 7, False, False),
        (True, 1, False, False),
        (True, "true", False, False),
        (None, "null", False, False),
        (None, None, True, True),
        ([1, 2], [2, 1], False, False),
        ({"a": 1, "b": [2]}, {"b": [2.0], "a": 1}, True, True),
        ({"a": 1}, {"a": 1, "b": None}, False, False),
        ([], {}, False, False),
        ("[1]", [1], False, False),
        ("12345678901234567890", "12345678901234567891", False, False),
        (10**30, 10**30 + 1, False, False),
        ("1e999999", "1e999998", False, False),
        (float("inf"), 1e308, False, False),
        ("nan", "NaN", True, False),
    ],
)
def test_equality_of_values(left: Json, right: Json, lenient: bool, strict: bool) -> None:
    assert values_equal(left, right) is lenient
    assert values_equal(right, left) is lenient
    assert values_equal(left, right, strict=True) is strict


def test_equality_of_very_deep_values() -> None:
    left: Json = 1
    right: Json = "1"
    for _ in range(50_000):
        left, right = [left], [right]
    assert values_equal(left, right)


def test_matching_honours_order_before_values() -> None:
    truth = [step("a", id="x"), step("b", 0, id="y")]
    calls = [call("b", 0, id="y"), call("a", 1, id="x"), call("b", 2, id="wrong")]
    record = score(TOOLS, truth, calls)
    assert record.matching == (1, 2)
    assert record.in_order == (True, True)
    assert record.coverage == 1
    assert record.arguments == 0.5


def test_matching_is_maximum_and_prefers_equal_values_then_early_calls() -> None:
    truth = [step("a", id="x"), step("a", id="y")]
    calls = [call("a", 0, id="y"), call("a", 1, id="x"), call("a", 2, id="x")]
    assert match(truth, calls, mode="one_to_one", strict=False) == (1, 0)
    only = [ExecutedCall("a", {"id": "x", "n": 1}, 0, True, True), call("a", 1, id="q")]
    both = [step("a", id="x"), step("a", id="x", n=1)]
    assert match(both, only, mode="one_to_one", strict=False) == (1, 0)


def test_reuse_lets_one_call_stand_for_two() -> None:
    truth = [step("a", id="x"), step("a", id="x")]
    once = [call("a", 0, id="x")]
    assert score(TOOLS, truth, once).coverage == 0.5
    assert score(TOOLS, truth, once, RewardRules(matching="reuse")).coverage == 1


def test_a_parallel_call_does_not_come_after_its_sibling() -> None:
    truth = [step("a", id="x"), step("b", 0, id="y"), step("c", 1, id="z")]
    record = score(TOOLS, truth, [call("a", 0, id="x"), call("b", 0, id="y"), call("c", 1, id="z")])
    assert record.in_order == (True, False, True)
    assert record.coverage == pytest.approx(2 / 3)


def test_an_unmatched_dependency_costs_its_dependants() -> None:
    truth = [step("a", id="x"), step("b", 0, id="y"), step("c", 1, id="z")]
    record = score(TOOLS, truth, [call("b", 0, id="y"), call("c", 1, id="z")])
    assert record.matching == (None, 0, 1)
    assert record.in_order == (True, False, True)
    assert record.coverage == pytest.approx(1 / 3)


def test_argument_share() -> None:
    assert score(TOOLS, [step("a")], [call("a")]).arguments == 1
    assert score(TOOLS, [step("a", id="x")], [call("b", id="x")]).arguments == 0
    assert score(TOOLS, [step("a", id="x", n=1)], [call("a", id="x", n=2)]).arguments == 0.5
    assert score(TOOLS, [step("a", id="x", n=1)], [call("a", id="x")]).matching == (None,)


def test_bad_dependencies_are_refused() -> None:
    with pytest.raises(ValueError, match="depends on"):
        score(TOOLS, [step("a", 0, id="x")], [call("a", id="x")])


def test_unknown_rules_are_refused() -> None:
    with pytest.raises(ValidationError):
        RewardRules.model_validate({"gamma": 1})


def test_weights_switch_components_off() -> None:
    only_names = RewardRules(weights=Weights(validity=0, coverage=0, efficiency=0, name=1, arguments=0))
    assert score(TOOLS, [step("a", id="x")], [call("a"), call("b")], only_names).total == 0.5


def test_an_adversarial_episode_is_scored_in_bounded_time() -> None:
    truth = [step("a", *([i - 1] if i else []), id=str(i), n=i) for i in range(8)]
    calls = [call("a", i, id=str(i % 5), n=i % 3) for i in reversed(range(60))]
    assert 0 <= score(TOOLS, truth, calls).coverage <= 1


def test_the_record_survives_json() -> None:
    record = score(TOOLS, [step("a", id="x"), step("b", 0, id="y")], [call("a", id="x")])
    assert RewardRecord.model_validate(json.loads(record.model_dump_json())) == record


def test_outcome() -> None:
    assert outcome("h", "h")
    assert not outcome("h", "other")
    assert outcome("h", "h", ['{"a": 1, "b": 2}'], ['{"b":2,"a":1.0}'])
    assert not outcome("h", "h", ['{"a": 1}'], ['{"a": 2}'])
    assert outcome("h", "h", ["plain"], ["plain"])
