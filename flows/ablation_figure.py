"""One figure for a grid: where its cells ended, and how their training went."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flows.ablation_results import CellResult
from flows.grid import Run


def draw(path: Path, found: Sequence[CellResult], every: Sequence[Run]) -> None:
    """Three panels: reward of each cell and seed, reward while training, and malformed replies while training.

    Lines are means over the seeds of a cell. Malformed are replies whose form is polluted or collapsed.
    """
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "prove"
    from matplotlib.figure import Figure

    height = max(3.2, 0.3 * len(found) + 1.2)
    figure = Figure(figsize=(13, height), layout="constrained")
    ends, rewards, forms = figure.subplots(1, 3)
    colours = matplotlib.color_sequences["tab20"]
    for place, cell in enumerate(found):
        colour = colours[place % len(colours)]
        ends.plot(cell.rewards, [place] * cell.seeds, "o", color=colour, alpha=0.5)
        ends.plot(cell.reward, place, "|", color=colour, markersize=16, markeredgewidth=3)
        logs = [run.log("grpo_log") for run in every if run.cell == cell.cell]
        for axis, keys in ((rewards, ("solved",)), (forms, ("forms/polluted", "forms/collapsed"))):
            axis.plot(*_mean(logs, keys), color=colour, label=cell.cell, lw=1.4)
    ends.set_yticks(range(len(found)), [cell.cell for cell in found])
    ends.invert_yaxis()
    ends.set(title="validation reward: seeds and their mean", xlabel="whole reward")
    rewards.set(title="solved while training", xlabel="GRPO step", ylim=(0, None))
    forms.set(title="malformed replies while training", xlabel="GRPO step", ylabel="share of replies", ylim=(0, None))
    rewards.legend(fontsize=7, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def _mean(logs: Sequence[Sequence[dict[str, float]]], keys: Sequence[str]) -> tuple[list[int], list[float]]:
    """Steps, and the mean over the runs of the summed keys at each."""
    values: dict[int, list[float]] = {}
    for lines in logs:
        for line in lines:
            if any(key in line for key in keys):
                values.setdefault(int(line["step"]), []).append(sum(line.get(key, 0.0) for key in keys))
    steps = sorted(values)
    return steps, [sum(values[step]) / len(values[step]) for step in steps]
