"""`python -m stages.report`: draw `reports/index.html` and its pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stages.artifacts import replaced_directory, write_text
from stages.params import ReportParams
from stages.report.inputs import Inputs
from stages.report.page import render
from stages.report.plots import Plotter
from stages.report.sections import build_sections
from stages.stage import StageContext, run_stage


def main(ctx: StageContext[ReportParams]) -> Sequence[Path]:
    """Draw the page from the other stages' metrics and tables."""
    return write_report(Inputs(document=ctx.document, seed=ctx.seed, params=ctx.params))


def write_report(inputs: Inputs) -> Sequence[Path]:
    """Write the page and its pictures, or neither.

    Raises:
        ArtifactError: an input is missing, damaged or of another shape.
    """
    plots, page = inputs.reports / "plots", inputs.reports / "index.html"
    with replaced_directory(plots) as scratch:
        sections = build_sections(inputs, Plotter(scratch, plots.name))
    fingerprint = inputs.metrics("bootstrap")["fingerprint"]
    write_text(page, render(inputs.params.title, f"Servers {fingerprint}, seed {inputs.seed}", sections))
    return [page, plots]


if __name__ == "__main__":
    run_stage("report", ReportParams, main)
