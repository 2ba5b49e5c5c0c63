"""The tool graph and the chains drawn from it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import networkx as nx
import pytest

from servers.kernel.catalog import load_catalog
from stages.discover.agreement import disagreements
from stages.discover.claims import Claim
from stages.discover.edges import Edge, Trust
from stages.discover.execution import Executor
from stages.discover.graph import build_graph, draw_chains, write_graphml
from stages.discover.judged import Opinion
from stages.discover.summary import summary

TRUSTS: tuple[Trust, ...] = ("executed", "teacher", "both")

CATALOG = load_catalog(("banking",))
EDGES = list(Executor(CATALOG, CATALOG.servers["banking"], 7, 6).edges())


@pytest.fixture
def graph() -> nx.DiGraph:
    return build_graph(CATALOG, EDGES, "executed")


def test_the_graph_holds_every_tool_and_the_trusted_edges(graph: nx.DiGraph) -> None:
    assert set(graph) == set(CATALOG.entries)
    assert set(graph.edges) == {(e.first, e.second) for e in EDGES if e.executed}
    assert build_graph(CATALOG, EDGES, "teacher").number_of_edges() == 0


def test_chains_are_simple_paths_with_an_explicit_edge(graph: nx.DiGraph) -> None:
    chains = draw_chains(graph, 80, (2, 5), seed=1)
    assert len({chain.tools for chain in chains}) == len(chains) >= 25
    assert len({chain.id for chain in chains}) == len(chains)
    for chain in chains:
        assert 2 <= len(chain.tools) <= 5 and len(set(chain.tools)) == len(chain.tools)
        assert chain.labels == tuple(graph.edges[pair]["label"] for pair in pairwise(chain.tools))
        assert "explicit" in chain.labels and chain.server == "banking"
    assert {len(chain.tools) for chain in chains} >= {2, 3, 4}


def test_lengths_are_kept(graph: nx.DiGraph) -> None:
    assert {len(chain.tools) for chain in draw_chains(graph, 20, (3, 3), seed=1)} == {3}


def test_implicit_edges_alone_make_no_chain() -> None:
    edges = [Edge("banking", "freeze_card", "unfreeze_card", "implicit", executed=True)]
    assert draw_chains(build_graph(CATALOG, edges, "executed"), 5, (2, 5), seed=1) == []
    assert draw_chains(build_graph(CATALOG, [], "executed"), 5, (2, 5), seed=1) == []


def test_few_chains_cover_every_connected_tool(graph: nx.DiGraph) -> None:
    connected = {name for pair in graph.edges for name in pair}
    drawn = {name for chain in draw_chains(graph, 30, (2, 5), seed=3) for name in chain.tools}
    assert drawn == connected


def test_drawing_is_deterministic_and_follows_the_seed(graph: nx.DiGraph) -> None:
    again = build_graph(CATALOG, EDGES, "executed")
    assert draw_chains(graph, 25, (2, 5), seed=1) == draw_chains(again, 25, (2, 5), seed=1)
    assert draw_chains(graph, 25, (2, 5), seed=1) != draw_chains(graph, 25, (2, 5), seed=2)


def test_other_programs_can_read_the_graph(graph: nx.DiGraph, tmp_path: Path) -> None:
    write_graphml(graph, tmp_path / "graph.graphml")
    loaded = nx.read_graphml(tmp_path / "graph.graphml")
    assert dict(loaded.nodes(data=True)) == dict(graph.nodes(data=True))
    assert {(a, b): d["label"] for a, b, d in loaded.edges(data=True)} == nx.get_edge_attributes(graph, "label")


def test_the_graph_takes_the_label_of_the_side_that_counts() -> None:
    edges = [
        Edge("banking", "list_cards", "freeze_card", "explicit", "card_id", executed=True, teacher="implicit"),
        Edge("banking", "list_cards", "unfreeze_card", "explicit", "card_id", executed=True, teacher="explicit"),
    ]
    found = {trust: dict(build_graph(CATALOG, edges, trust).edges) for trust in TRUSTS}
    freeze, unfreeze = ("list_cards", "freeze_card"), ("list_cards", "unfreeze_card")
    assert {pair: row["label"] for pair, row in found["executed"].items()} == dict.fromkeys(
        [freeze, unfreeze], "explicit"
    )
    assert {pair: row["label"] for pair, row in found["teacher"].items()} == {freeze: "implicit", unfreeze: "explicit"}
    assert set(found["both"]) == {unfreeze} and found["both"][unfreeze]["parameter"] == "card_id"


def test_the_summary_compares_the_teacher_with_execution(graph: nx.DiGraph) -> None:
    edges = [
        Edge("banking", "list_cards", "freeze_card", "explicit", executed=True, teacher="explicit"),
        Edge("banking", "list_cards", "unfreeze_card", "explicit", executed=True),
        Edge("banking", "list_payees", "list_cards", "implicit", teacher="implicit"),
        Edge("banking", "list_accounts", "list_cards", "implicit", teacher="implicit"),
    ]
    small = build_graph(CATALOG, edges, "executed")
    claims = [Claim("list_cards", "freeze_card", "explicit")]
    opinion = Opinion(claims, unanswered=[("list_accounts", "list_cards")])
    differ = disagreements(edges, {}, {}, {frozenset(pair) for pair in opinion.unanswered})
    told = summary(small, draw_chains(small, 2, (2, 2), 0), edges, {"banking": opinion}, differ)
    assert (told["tools"], told["edges"], told["explicit"], told["implicit"]) == (17, 2, 2, 0)
    assert (told["teacher_precision"], told["teacher_recall"], told["teacher_f1"]) == (0.5, 0.5, 0.5)
    assert (told["teacher"]["pairs"], told["teacher"]["unanswered"]) == (2, 1)
    bank = told["per_server"]["banking"]
    assert {key: bank[key] for key in ("explicit", "implicit", "chains")} == {"explicit": 2, "implicit": 0, "chains": 2}
    assert bank["teacher"] == {key: told["teacher"][key] for key in ("explicit", "implicit", "both")}
    assert bank["teacher"]["explicit"] == {
        "claimed": 1,
        "proved": 2,
        "agreed": 1,
        "precision": 1.0,
        "recall": 0.5,
        "f1": pytest.approx(2 / 3),
    }
    assert told["disagreements"]["kinds"] == {"implicit, executed none": 1, "none, executed explicit": 1}
    assert [item["second"] for item in told["disagreements"]["foremost"]] == ["unfreeze_card", "list_cards"]
