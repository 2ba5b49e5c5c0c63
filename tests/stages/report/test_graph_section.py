"""The section on the tool graph: the teacher's scores, and where it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from stages.artifacts import ArtifactError, read_json, write_json
from stages.report.blocks import Block, Note, Table
from stages.report.inputs import Inputs
from stages.report.plots import Plotter
from stages.report.sections import build_sections
from stages.report.sections.graph import build
from tests.stages.report.conftest import HOSTILE


@pytest.fixture
def blocks(inputs: Inputs, tmp_path: Path) -> list[Block]:
    return list(build(inputs, Plotter(tmp_path / "plots")))


def table(blocks: list[Block], start: str) -> Table:
    return next(block for block in blocks if isinstance(block, Table) and block.caption.startswith(start))


def test_every_server_has_its_scores_and_so_have_all(blocks: list[Block]) -> None:
    scores = table(blocks, "Teacher against execution")
    assert [row[0] for row in scores.rows] == ["banking", "budget", "all"]
    assert scores.header[1:4] == ["explicit precision", "explicit recall", "explicit f1"]
    assert scores.rows[0][1:] == ("0.60", "0.75", "0.67", "–", "–", "–", "0.60", "0.75", "0.67", 1)
    assert scores.rows[-1][-1] == 2


def test_disagreements_show_both_sides(blocks: list[Block]) -> None:
    (row,) = table(blocks, "Foremost disagreements").rows
    assert row[3:] == ("explicit", "none", "no run of list_cards shows a card", HOSTILE)
    assert table(blocks, "Disagreements by kind").rows == [("explicit, executed none", 4)]
    (note,) = (block.text for block in blocks if isinstance(block, Note))
    assert "9 pairs (prompt 0f) and left 2 unanswered" in note and "wrong on 4 ordered pairs" in note


def test_metrics_of_an_older_run_say_what_to_run(inputs: Inputs, tmp_path: Path) -> None:
    path = inputs.reports / "metrics" / "discover.json"
    write_json(path, {key: value for key, value in read_json(path).items() if key != "teacher"})
    with pytest.raises(ArtifactError, match=r"section 'graph'.*'teacher'.*run its stage again"):
        build_sections(inputs, Plotter(tmp_path / "plots"))
