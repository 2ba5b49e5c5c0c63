"""`python -m stages.report`: draw `reports/index.html` with its pictures, the leaderboard, and the explorers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stages.artifacts import replaced_directory, write_text
from stages.params import ReportParams
from stages.report.inputs import Inputs
from stages.report.page import render
from stages.report.pages.explorers import EXPLORERS, build_explorers
from stages.report.plots import Plotter
from stages.report.sections import build_sections
from stages.report.sections.leaderboard import leaderboard_sections
from stages.report.sections.skills import skill_sections
from stages.stage import StageContext, run_stage


def main(ctx: StageContext[ReportParams]) -> Sequence[Path]:
    """Draw the pages from the other stages' metrics and tables."""
    return write_report(
        Inputs(document=ctx.document, seed=ctx.seed, params=ctx.params, catalog=ctx.catalog),
    )


def write_report(inputs: Inputs) -> Sequence[Path]:
    """Write the pages with their pictures and data, or none of them.

    Raises:
        ArtifactError: an input is missing, damaged, of another shape or of other servers than the rest.
    """
    reports, title = inputs.reports, inputs.params.title
    plots, viewer = reports / "plots", reports / "viewer"
    page, board, skills = (reports / name for name in ("index.html", "leaderboard.html", "skills.html"))
    inputs.require_one_run()
    subtitle = f"Servers {inputs.fingerprint}, seed {inputs.seed}"
    with replaced_directory(plots) as pictures, replaced_directory(viewer) as shards:
        plotter = Plotter(pictures, plots.name)
        sections, prototypes = build_sections(inputs, plotter), skill_sections(inputs, plotter)
        ranking = leaderboard_sections(inputs)
        explorers = build_explorers(inputs, shards, viewer.name, subtitle, title)
    links = [(board.name, "Leaderboard"), (skills.name, "Skills"), *EXPLORERS.items()]
    write_text(page, render(title, subtitle, sections, links))
    write_text(board, render("Leaderboard", subtitle, ranking, [(page.name, title)]))
    write_text(skills, render("Skills", subtitle, prototypes, [(page.name, title)]))
    for address, text in explorers.items():
        write_text(reports / address, text)
    return [page, board, skills, *(reports / address for address in explorers), plots, viewer]


if __name__ == "__main__":
    run_stage("report", ReportParams, main)
