"""The page's pictures, as SVG files that are the same for the same numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stages.report.blocks import Figure

COLOURS = ("#9aa5b1", "#3f7cac", "#d1662b", "#4f9d69", "#8a5a9e")


class Plotter:
    """Draws into a directory that the page will know as `name`."""

    def __init__(self, directory: Path, name: str = "plots") -> None:
        import matplotlib

        matplotlib.use("Agg")
        matplotlib.rcParams.update(
            {
                "svg.hashsalt": "prove",
                "svg.fonttype": "path",
                "font.size": 10,
                "axes.spines.top": False,
                "axes.spines.right": False,
                "axes.grid": True,
                "grid.color": "#e4e7eb",
                "axes.axisbelow": True,
                "text.parse_math": False,
            }
        )
        directory.mkdir(parents=True, exist_ok=True)
        self._directory, self._name = directory, name

    def bars(self, name: str, caption: str, groups: Sequence[str], series: Mapping[str, Sequence[float]]) -> Figure:
        """Stacked horizontal bars of counts: one for each group, one colour for each series."""
        figure, axes = self._canvas(9, 1.1 + 0.28 * len(groups))
        left = [0.0] * len(groups)
        for colour, (label, values) in zip(_colours(len(series)), series.items(), strict=True):
            axes.barh(range(len(groups)), values, left=left, color=colour, label=label, height=0.7)
            left = [a + b for a, b in zip(left, values, strict=True)]
        axes.set_yticks(range(len(groups)), groups)
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        axes.xaxis.get_major_locator().set_params(integer=True)
        if len(series) > 1:
            figure.legend(loc="outside upper left", frameon=False, ncols=len(series))
        return self._save(figure, name, caption)

    def intervals(
        self, name: str, caption: str, groups: Sequence[str], series: Mapping[str, Sequence[tuple[float, float, float]]]
    ) -> Figure:
        """Means with their intervals (mean, low, high): a cluster for each group, a colour for each series."""
        figure, axes = self._canvas(9, 3.6)
        width = 0.8 / max(1, len(series))
        for index, (colour, (label, values)) in enumerate(zip(_colours(len(series)), series.items(), strict=True)):
            places = [group + (index - (len(series) - 1) / 2) * width for group in range(len(groups))]
            means = [mean for mean, _, _ in values]
            spread = [
                [max(0, mean - low) for mean, low, _ in values],
                [max(0, high - mean) for mean, _, high in values],
            ]
            axes.bar(places, means, width * 0.92, color=colour, label=label)
            axes.errorbar(places, means, yerr=spread, fmt="none", ecolor="#1f2933", elinewidth=1, capsize=2)
        axes.set_xticks(range(len(groups)), groups)
        axes.grid(axis="x", visible=False)
        figure.legend(loc="outside upper left", frameon=False, ncols=len(series))
        return self._save(figure, name, caption)

    def curves(
        self,
        name: str,
        caption: str,
        steps: Sequence[float],
        panels: Mapping[str, Sequence[float | None]],
        marks: Sequence[float] = (),
    ) -> Figure:
        """One small panel for each quantity over training steps; a missing value is a gap, `marks` are upright."""
        columns = min(3, len(panels))
        rows = -(-len(panels) // columns)
        figure, grid = _subplots(rows, columns, 3 * columns, 2.2 * rows)
        marker = "o" if len(steps) < 5 else ""
        for axes, (label, values) in zip(grid, panels.items(), strict=False):
            numbers = [float("nan") if value is None else value for value in values]
            axes.plot(steps, numbers, color=COLOURS[1], lw=1.4, marker=marker)
            _mark(axes, marks)
            axes.xaxis.get_major_locator().set_params(integer=True)
            axes.set_title(label, fontsize=10, loc="left")
            axes.set_xlabel("step", fontsize=8)
        for axes in grid[len(panels) :]:
            axes.set_visible(False)
        return self._save(figure, name, caption)

    def band(
        self, name: str, caption: str, steps: Sequence[float], values: Sequence[tuple[float, float, float]]
    ) -> Figure:
        """One quantity over training steps (mean, low, high), its interval as a band."""
        figure, axes = self._canvas(9, 3.2)
        means, lows, highs = zip(*values, strict=True)
        axes.fill_between(steps, lows, highs, color=COLOURS[1], alpha=0.2, lw=0)
        axes.plot(steps, means, color=COLOURS[1], lw=1.6, marker="o", markersize=4)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel("step")
        return self._save(figure, name, caption)

    def areas(
        self,
        name: str,
        caption: str,
        steps: Sequence[float],
        series: Mapping[str, Sequence[float]],
        marks: Sequence[float] = (),
    ) -> Figure:
        """Shares over training steps, one upon the other; `marks` are upright."""
        figure, axes = self._canvas(9, 3.2)
        axes.stackplot(steps, *series.values(), labels=list(series), colors=_colours(len(series)), lw=0)
        _mark(axes, marks)
        axes.margins(x=0.01, y=0)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel("step")
        figure.legend(loc="outside upper left", frameon=False, ncols=len(series))
        return self._save(figure, name, caption)

    def _canvas(self, width: float, height: float) -> tuple[Any, Any]:
        figure, grid = _subplots(1, 1, width, height)
        return figure, grid[0]

    def _save(self, figure: Any, name: str, caption: str) -> Figure:
        path = self._directory / f"{name}.svg"
        figure.savefig(path, metadata={"Date": None, "Creator": None})
        return Figure(f"{self._name}/{path.name}", caption)


def _subplots(rows: int, columns: int, width: float, height: float) -> tuple[Any, list[Any]]:
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(width, height), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False).flat)


def _mark(axes: Any, steps: Sequence[float]) -> None:
    for step in steps:
        axes.axvline(step, color="#b42318", lw=1, ls="--")


def _colours(count: int) -> list[str]:
    return [COLOURS[index % len(COLOURS)] for index in range(count)] if count > 1 else [COLOURS[1]]
