"""Precision and recall of the teacher, and the list of what it got wrong."""

from __future__ import annotations

import pytest

from stages.discover.agreement import Disagreement, Score, disagreements, foremost, scores
from stages.discover.edges import Edge

EDGES = [
    Edge("s", "a", "b", "explicit", executed=True, teacher="explicit"),
    Edge("s", "a", "c", "explicit", executed=True, teacher="implicit", reason="it must run first"),
    Edge("s", "a", "d", "implicit", executed=True),
    Edge("s", "b", "c", "explicit", schema=True, teacher="explicit", reason="it takes the id"),
    Edge("s", "b", "d", "implicit", teacher="implicit"),
    Edge("s", "c", "d", "explicit", schema=True),
    Edge("s", "d", "e", "explicit", executed=True, teacher="explicit"),
]


def test_each_label_is_scored_by_itself_and_both_take_either() -> None:
    found = scores(EDGES, ())
    assert found["explicit"] == Score(claimed=3, proved=3, agreed=2)
    assert found["implicit"] == Score(claimed=2, proved=1, agreed=0)
    assert found["both"] == Score(claimed=5, proved=4, agreed=3)
    both = found["both"].row()
    assert (both["precision"], both["recall"]) == (0.6, 0.75)
    assert both["f1"] == pytest.approx(2 * 0.6 * 0.75 / 1.35)
    assert found["implicit"].f1 == 0.0


def test_pairs_without_an_answer_count_on_neither_side() -> None:
    unanswered = {frozenset("ad"), frozenset("cb")}
    assert scores(EDGES, unanswered)["both"] == Score(claimed=4, proved=3, agreed=3)
    silent = scores(EDGES, {frozenset(edge.pair) for edge in EDGES})["both"]
    assert (silent.precision, silent.recall, silent.f1) == (None, None, None)


def test_a_disagreement_says_what_either_side_saw() -> None:
    evidence = {("a", "c"): "ran a, then c", ("b", "c"): "c works anyway"}
    reasons = {frozenset("ac"): "it must run first", frozenset("ad"): "nothing in common"}
    found = disagreements(EDGES, evidence, reasons, {frozenset("bd")})
    assert [(d.first, d.second, d.teacher, d.executed, d.evidence, d.reason) for d in found] == [
        ("a", "c", "implicit", "explicit", "ran a, then c", "it must run first"),
        ("a", "d", "none", "implicit", "", "nothing in common"),
        ("b", "c", "explicit", "none", "c works anyway", ""),
    ]


def test_the_foremost_show_every_kind_of_every_server() -> None:
    def item(server: str, number: int, teacher: str, executed: str) -> Disagreement:
        return Disagreement(server, f"a{number}", "b", teacher, executed, "", "")

    many = [item("s", n, "explicit", "none") for n in range(5)]
    found = [*many, item("s", 9, "none", "implicit"), item("t", 0, "none", "explicit")]
    assert [(d.server, d.first) for d in foremost(found, 3)] == [("s", "a9"), ("s", "a0"), ("s", "a1"), ("t", "a0")]
    assert foremost([], 3) == []
