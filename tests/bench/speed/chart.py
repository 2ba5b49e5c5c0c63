"""Small charts of figures over the runs of the history, one panel each, as a picture inside the page."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stages.report.blocks import Figure as Picture
from stages.report.plots import COLOURS

_COLUMNS = 3
_BAD = "#b42318"


@dataclass(frozen=True, slots=True)
class Panel:
    """One number over the runs, a gap where a run did not measure it; `limit` is drawn as a line."""

    title: str
    values: Sequence[float | None]
    limit: float | None = None


def chart(panels: Sequence[Panel], caption: str) -> Picture:
    """The panels side by side; the same numbers give the same bytes."""
    import matplotlib
    from matplotlib.figure import Figure as Canvas

    matplotlib.use("Agg")
    rows = -(-len(panels) // _COLUMNS)
    plain = {"svg.hashsalt": "prove", "svg.fonttype": "path", "font.size": 9, "text.parse_math": False}
    with matplotlib.rc_context(plain):
        figure = Canvas(figsize=(3 * _COLUMNS, 1.9 * rows), layout="constrained")
        grid = list(figure.subplots(rows, _COLUMNS, squeeze=False).flat)
        for axes, panel in zip(grid, panels, strict=False):
            _draw(axes, panel)
        for axes in grid[len(panels) :]:
            axes.set_visible(False)
        out = io.BytesIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return Picture(f"data:image/svg+xml;base64,{base64.b64encode(out.getvalue()).decode()}", caption)


def _draw(axes: Any, panel: Panel) -> None:
    runs = range(1, len(panel.values) + 1)
    axes.plot(
        runs, [float("nan") if v is None else v for v in panel.values], color=COLOURS[1], marker="o", ms=3, lw=1.4
    )
    if panel.limit is not None:
        axes.axhline(panel.limit, color=_BAD, lw=1, ls="--")
    axes.set_ylim(bottom=0)
    axes.set_xlim(0.5, len(panel.values) + 0.5)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#e4e7eb")
    axes.set_axisbelow(True)
    axes.set_title(panel.title, fontsize=9, loc="left")
