"""Layout of the graph and drawing of the state machine."""

from __future__ import annotations

from stages.conversations import Transition
from stages.report.pages.layout import TALLEST, layered
from stages.report.pages.traffic import PLACES, arcs, boxes
from stages.synthesize.machine import TABLE, State


def test_what_depends_stands_right_of_what_it_depends_on() -> None:
    edges = [("a", "b"), ("b", "c"), ("a", "c"), ("x", "c")]
    cells = layered("abcxz", edges)
    assert all(cells[first][0] < cells[second][0] for first, second in edges)
    assert cells["z"][0] == 3  # without edges: after all others
    assert len(set(cells.values())) == 5


def test_tools_that_need_each_other_share_a_column() -> None:
    cells = layered("abcd", [("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")])
    assert cells["b"][0] == cells["c"][0] == 1 and cells["d"][0] == 2


def test_order_follows_neighbours_and_not_the_order_of_the_input() -> None:
    edges = [("a1", "z"), ("a2", "y"), ("a3", "x")]
    cells = layered(["a1", "a2", "a3", "x", "y", "z"], edges)
    assert [cells[first][1] for first, _ in edges] == [cells[second][1] for _, second in edges]
    assert cells == layered(["z", "y", "x", "a3", "a2", "a1"], reversed(edges))


def test_long_columns_are_broken() -> None:
    cells = layered([f"t{n:02}" for n in range(TALLEST + 5)], [])
    assert max(y for _, y in cells.values()) == TALLEST - 1 and {x for x, _ in cells.values()} == {0, 1}


def test_every_state_has_a_place_and_every_step_its_count() -> None:
    assert set(PLACES) == set(State) and len(boxes()) == len(State)
    made = arcs({Transition("LLM_PROCESSING", "calls", "TOOL_EXECUTION"): 1234})
    steps = {step.key: step for arc in made for step in arc.steps}
    assert set(steps) == {f"{state}: {event}" for state, event in TABLE}
    assert steps["LLM_PROCESSING: calls"].text == "calls 1,234" and steps["LLM_PROCESSING: calls"].taken
    assert not steps["RECOVERY: retry"].taken
    widths = {arc.width for arc in made}
    assert widths == {1.0, 5.0}
