"""The section on collapse: forms, divergence and alarms, where they were measured."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from stages.report.blocks import Block, Facts, Figure, Note, Table
from stages.report.inputs import Inputs
from stages.report.plots import Plotter
from stages.report.sections.collapse import build
from tests.stages.report.conftest import HOSTILE


def line(step: int, polluted: float = 0.0, **more: float) -> dict[str, float]:
    forms = {"forms/call": 0.7 - polluted, "forms/response": 0.3, "forms/polluted": polluted, "forms/collapsed": 0.0}
    return {"step": step, "reward": 0.5, **forms, **more}


LINES = [
    line(1, control_kl=0.001, text_kl=0.002),
    {"step": 2, "reward": 0.0},
    line(3, 0.5, text_kl=0.003),
    line(4, 0.1),
]
ALARM = {"step": 3, "reason": HOSTILE, "since": 1, "action": "rollback", "restored": 1, "lr": 5e-7}


@pytest.fixture
def drawn(inputs: Inputs, tmp_path: Path) -> Any:
    def draw(lines: Sequence[dict[str, Any]], alarms: Sequence[dict[str, Any]] = ()) -> list[Block]:
        for name, rows in {"grpo_log.jsonl": lines, "collapse_log.jsonl": alarms}.items():
            (inputs.data / "policy" / name).write_text("\n".join(map(json.dumps, rows)))
        return list(build(inputs, Plotter(tmp_path / "plots")))

    return draw


def test_the_worst_step_both_pictures_and_the_alarms_are_shown(drawn: Any, tmp_path: Path) -> None:
    facts, forms, divergence, alarms = drawn(LINES, [ALARM, {**ALARM, "action": "log", "restored": None, "lr": 1e-6}])
    assert isinstance(facts, Facts) and isinstance(alarms, Table)
    assert [value for _, value in facts.pairs] == ["0.0%", "10.0%", "50.0% in step 3"]
    assert [figure.source for figure in (forms, divergence)] == [
        "plots/collapse-forms.svg",
        "plots/collapse-divergence.svg",
    ]
    assert all("dashed lines are alarms" in figure.caption for figure in (forms, divergence))
    assert alarms.rows == [
        (3, 1, HOSTILE, "rollback", 1, "5e-07"),
        (3, 1, HOSTILE, "log", None, "1e-06"),
    ]


def test_an_alarm_is_a_line_in_every_picture(drawn: Any, tmp_path: Path) -> None:
    def dashes(alarms: Sequence[dict[str, Any]]) -> list[int]:
        drawn(LINES, alarms)
        names = ("collapse-forms", "collapse-divergence")
        return [(tmp_path / "plots" / f"{name}.svg").read_text().count("stroke-dasharray") for name in names]

    assert dashes([]) == [0, 0]
    assert dashes([ALARM]) == [1, 3]  # one in each panel


def test_without_a_reference_there_is_no_divergence_to_draw(drawn: Any) -> None:
    blocks = drawn([line(1), line(2)])
    assert [block.source for block in blocks if isinstance(block, Figure)] == ["plots/collapse-forms.svg"]
    assert blocks[-1] == Note("No alarm.")


def test_one_step_makes_no_area(drawn: Any) -> None:
    assert [type(block) for block in drawn([line(1)])] == [Facts, Note]


@pytest.mark.parametrize("lines", [[], [{"step": 1, "reward": 0.5}]])
def test_an_older_log_has_a_sentence(drawn: Any, lines: list[dict[str, Any]]) -> None:
    (note,) = drawn(lines)
    assert isinstance(note, Note) and "was not measured" in note.text
