"""The whole stage with a teacher that is wrong: what it costs, and what it cannot spoil."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from servers.kernel.catalog import Catalog
from stages import sampling
from stages.artifacts import ArtifactError, read_json, read_table
from stages.discover import __main__ as stage
from stages.discover.__main__ import main
from stages.discover.agreement import DISAGREEMENTS
from stages.discover.edges import CHAINS, EDGES, Pair, chain_from
from stages.params import DiscoverParams
from stages.stage import StageContext
from stages.teacher.errors import Failure, TeacherError
from stages.teacher.team import Teachers
from tests.stages.discover.asking import Answer, Asked, Voice, by_reading, everything_is, provider, verdict
from tests.stages.discover.house import REQUESTS, house

GRAPH = ("data/graph/chains.parquet", "data/graph/graph.graphml")
PROVED: set[Pair] = {
    ("list_doors", "open_door"),
    ("list_doors", "paint_door"),
    ("list_rooms", "describe_room"),
    ("list_rooms", "look_around"),
    ("cut_key", "try_key"),
    ("open_door", "enter_room"),
}


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sampling, "load_requests", lambda _: REQUESTS)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    yield


def discover(trust: str = "executed", **teacher: Any) -> dict[str, Any]:
    """Run the stage over the house and return its metrics."""
    params = DiscoverParams(trust=trust, bindings=4)  # type: ignore[arg-type]
    ctx = StageContext("discover", params, 0, {"teacher": teacher})
    ctx.__dict__["catalog"] = Catalog([house()])
    main(ctx)
    found: dict[str, Any] = read_json(Path("reports/metrics/discover.json"))
    return found


def believing(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> Voice:
    voice = Voice(answer)
    monkeypatch.setattr(Teachers, "of", lambda teachers, role: voice)
    monkeypatch.setattr(stage, "is_scripted", lambda model: False)
    return voice


def chained() -> set[Pair]:
    """The pairs that the chains use."""
    chains = [chain_from(row) for row in read_table(Path("data/graph/chains.parquet"), CHAINS, None)]
    return {pair for chain in chains for pair in zip(chain.tools, chain.tools[1:], strict=False)}


def test_a_wrong_teacher_over_http_loses_precision_and_changes_no_executed_graph() -> None:
    good = discover()
    before = [Path(name).read_bytes() for name in GRAPH]
    with provider(everything_is("explicit")) as (url, requests):
        bad = discover(model="openai/tester", api_base=url, attempts=1)
        assert len(requests) == 2 and "explicit" in requests[0]["messages"][0]["content"]
        assert discover(model="openai/tester", api_base=url, attempts=1) == bad and len(requests) == 2
    assert [Path(name).read_bytes() for name in GRAPH] == before
    assert bad["edges"] == good["edges"] == len(PROVED)
    assert bad["teacher_precision"] < good["teacher_precision"] / 2
    house_row = bad["per_server"]["house"]["teacher"]
    assert (house_row["explicit"]["claimed"], house_row["implicit"]["claimed"]) == (36, 0)
    assert house_row["implicit"]["recall"] == 0.0 and house_row["implicit"]["precision"] is None
    assert bad["disagreements"]["kinds"]["explicit, executed implicit"] == 1


def test_without_a_hosted_teacher_no_claims_are_kept() -> None:
    discover()
    assert not Path(".cache").exists()


def test_the_disagreements_are_written_with_what_ran_and_why_the_teacher_thought_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    believing(monkeypatch, lambda pairs: json.dumps([verdict(p, "none", reason="strangers") for p in pairs]))
    metrics = discover()
    rows = read_table(Path("data/graph/disagreements.parquet"), DISAGREEMENTS, None)
    assert {(row["first"], row["second"]) for row in rows} == PROVED
    (implicit,) = (row for row in rows if row["executed"] == "implicit")
    assert implicit["evidence"].endswith("writes discover.Door DOR-23451, then it works")
    assert {(row["teacher"], row["reason"]) for row in rows} == {("none", "strangers")}
    assert metrics["disagreements"]["count"] == len(rows) and implicit in metrics["disagreements"]["foremost"]
    edges = read_table(Path("data/graph/edges.parquet"), EDGES, None)
    assert {edge["prompt"] for edge in edges} == {metrics["teacher"]["prompt"]}


def false_and_true(pairs: Asked) -> str:
    """One claim that execution refutes, one that it proves, one with the other label."""
    said = {
        frozenset(("list_rooms", "list_doors")): "explicit",
        frozenset(("list_rooms", "look_around")): "explicit",
        frozenset(("cut_key", "try_key")): "implicit",
    }
    return json.dumps(
        [verdict(p, said.get(frozenset((p["first"]["name"], p["second"]["name"])), "none")) for p in pairs]
    )


@pytest.mark.parametrize(
    ("trust", "expected"),
    [
        ("executed", PROVED),
        ("teacher", {("list_doors", "list_rooms"), ("list_rooms", "look_around")}),
        ("both", {("list_rooms", "look_around")}),
    ],
)
def test_trust_decides_which_edges_the_chains_use(
    monkeypatch: pytest.MonkeyPatch, trust: str, expected: set[Pair]
) -> None:
    believing(monkeypatch, false_and_true)
    metrics = discover(trust)
    assert chained() == expected
    assert metrics["edges"] == len(expected) + (trust == "teacher")  # an implicit edge alone makes no chain
    edges = read_table(Path("data/graph/edges.parquet"), EDGES, None)
    verdicts = {(e["first"], e["second"]): e["verdict"] for e in edges if e["verdict"] != "none"}
    assert expected <= set(verdicts) and len(verdicts) == metrics["edges"]
    if trust == "teacher":
        assert verdicts["cut_key", "try_key"] == "implicit"


@pytest.mark.parametrize("trust", ["teacher", "both"])
def test_a_teacher_that_counts_has_to_answer(monkeypatch: pytest.MonkeyPatch, trust: str) -> None:
    def down(pairs: Asked) -> str:
        raise TeacherError("test/voice", Failure.CONNECTION, "no route")

    believing(monkeypatch, down)
    with pytest.raises(ArtifactError, match=r"answered on none of 36 tool pairs \(test/voice: connection: no route\)"):
        discover(trust)
    assert not Path("data/graph").exists()


def test_a_teacher_that_is_down_is_masked_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def half_down(pairs: Asked) -> str:
        if len(pairs) == 20:
            raise TeacherError("test/voice", Failure.SERVER_ERROR, "down")
        return by_reading(pairs)

    believing(monkeypatch, half_down)
    metrics = discover()
    assert metrics["teacher"]["unanswered"] == 20 and metrics["edges"] == len(PROVED)
    assert metrics["teacher"]["both"]["proved"] < len(PROVED)
    voice = believing(monkeypatch, by_reading)
    assert discover()["teacher"]["unanswered"] == 0 and [len(pairs) for pairs in voice.asked] == [20]


def test_a_budget_that_is_spent_ends_the_stage_and_keeps_what_was_paid_for() -> None:
    dear = {"price": {"prompt": 0.0, "completion": 1_000_000.0}, "budget": 1.0, "concurrency": 1}
    with provider(everything_is("none")) as (url, requests):
        hosted = {"model": "openai/tester", "api_base": url, "attempts": 1}
        with pytest.raises(ArtifactError, match="budget is reached"):
            discover(**hosted, **dear)
        assert len(requests) == 1 and not Path("data/graph").exists()
        discover(**hosted)
        assert len(requests) == 2
