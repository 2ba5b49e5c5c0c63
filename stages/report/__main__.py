"""`python -m stages.report`: draw `reports/index.html` with its pictures, and `reports/leaderboard.html`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stages.artifacts import replaced_directory, write_text
from stages.params import ReportParams
from stages.report.inputs import Inputs
from stages.report.page import render
from stages.report.plots import Plotter
from stages.report.sections import build_sections
from stages.report.sections.leaderboard import leaderboard_sections
from stages.stage import StageContext, run_stage


def main(ctx: StageContext[ReportParams]) -> Sequence[Path]:
    """Draw the pages from the other stages' metrics and tables."""
    return write_report(Inputs(document=ctx.document, seed=ctx.seed, params=ctx.params))


def write_report(inputs: Inputs) -> Sequence[Path]:
    """Write the pages and the pictures, or none of them.

    Raises:
        ArtifactError: an input is missing, damaged or of another shape.
    """
    plots, page, board = (inputs.reports / name for name in ("plots", "index.html", "leaderboard.html"))
    with replaced_directory(plots) as scratch:
        sections = build_sections(inputs, Plotter(scratch, plots.name))
        ranking = leaderboard_sections(inputs)
    fingerprint = inputs.metrics("bootstrap")["fingerprint"]
    subtitle = f"Servers {fingerprint}, seed {inputs.seed}"
    write_text(page, render(inputs.params.title, subtitle, sections, [(board.name, "Leaderboard")]))
    write_text(board, render("Leaderboard", subtitle, ranking, [(page.name, inputs.params.title)]))
    return [page, board, plots]


if __name__ == "__main__":
    run_stage("report", ReportParams, main)
