"""The drawing of the state machine against the table that runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stages.artifacts import ArtifactError
from stages.synthesize.diagram import BEGIN, END, PAGE, drawn, mermaid, redraw
from stages.synthesize.machine import TABLE

ROOT = Path(__file__).parents[3]


def test_the_committed_drawing_is_current() -> None:
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    assert drawn(page) == page, "run `python -m stages.synthesize draw`"


def test_every_step_is_drawn_once() -> None:
    lines = mermaid().splitlines()
    for (state, event), target in TABLE.items():
        (line,) = [line for line in lines if line.startswith(f"    {state} --> {target}:")]
        assert event in line.partition(": ")[2].split(", ")
    assert sum(len(line.partition(": ")[2].split(", ")) for line in lines if ": " in line) == len(TABLE)


def test_only_what_stands_between_the_markers_changes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    redraw(page)
    text = page.read_text()
    assert text.startswith(f"before\n{BEGIN}\n```mermaid\n") and text.endswith(f"```\n{END}\nafter\n")
    assert "old" not in text and drawn(text) == text


def test_a_page_without_markers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="lacks the lines"):
        drawn("nothing here")
    with pytest.raises(ArtifactError, match="missing"):
        redraw(tmp_path / "none.md")
