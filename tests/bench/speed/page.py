"""`reports/bench.html`: what was promised and what was seen, and each figure over all runs."""

from __future__ import annotations

from collections.abc import Sequence

from stages.report.blocks import Block, Cell, Facts, Note, Table
from stages.report.page import Section, render
from tests.bench.speed.chart import Panel, chart
from tests.bench.speed.families import FAMILIES
from tests.bench.speed.figures import Figure, Target
from tests.bench.speed.history import Run, latest

RUNS_SHOWN = 40
"""Runs in a chart, the last ones."""


def bench_page(runs: Sequence[Run]) -> str:
    """The page.

    Args:
        runs: the history, the oldest first; at least one.
    """
    shown = latest(runs)
    sections = [Section("run", "Last run", _summary(runs[-1], [figure for figure, _ in shown]))]
    for name, family in FAMILIES.items():
        members = [(figure, run) for figure, run in shown if figure.family == name]
        if members:
            sections.append(Section(name, family.title, _family(members, runs[-RUNS_SHOWN:])))
    return render("Speed", "What docs/speed.md promises, measured", sections, [("index.html", "Report")])


def _summary(run: Run, figures: Sequence[Figure]) -> list[Block]:
    judged = [figure for figure in figures if figure.met is not None]
    facts = [
        ("targets met", f"{sum(bool(figure.met) for figure in judged)} of {len(judged)}"),
        ("measured", run.date),
        ("revision", run.revision or "unknown"),
        ("processors", f"{run.machine.cpus} × {run.machine.cpu}"),
        ("system", run.machine.platform),
        ("Python", run.machine.python),
        ("load at the start", f"{run.machine.load:g}"),
    ]
    note = "Figures depend on the machine; ratios, whose two sides are measured in turn, depend on it least."
    missed = [(figure.name, reason(figure)) for figure in judged if not figure.met]
    blocks: list[Block] = [Facts(facts), Note(note)]
    return [*blocks, Table("Missed", ("figure", "why"), missed)] if missed else blocks


def _family(members: Sequence[tuple[Figure, Run]], runs: Sequence[Run]) -> list[Block]:
    header = ("figure", "seen", "unit", "quartiles", "ratio", "target", "met", "measured against")
    blocks: list[Block] = [Table("Figures", header, [_row(figure) for figure, _ in members])]
    growths = [_growth(figure) for figure, _ in members if figure.growth]
    if growths:
        blocks.append(Table("Growth", ("figure", "over", "sizes", "seconds", "exponent"), growths))
    panels = [_panel(figure, runs) for figure, _ in members]
    return [*blocks, chart(panels, "Over the runs, one point each; a broken line is the target.")]


def _row(figure: Figure) -> list[Cell]:
    low, high = figure.spread
    return [
        figure.title + (f" ({figure.note})" if figure.note else ""),
        figure.value,
        figure.unit,
        f"{low:,.4g} – {high:,.4g}",
        figure.ratio,
        "; ".join(map(str, figure.targets)) or "–",
        {True: "met", False: reason(figure), None: "–"}[figure.met],
        figure.reference or "–",
    ]


def _growth(figure: Figure) -> list[Cell]:
    assert figure.growth is not None
    grown = figure.growth
    sizes, seconds = ", ".join(f"{n:,}" for n in grown.sizes), ", ".join(f"{s:.3g}" for s in grown.seconds)
    return [figure.name, grown.axis, sizes, seconds, grown.exponent]


def reason(figure: Figure) -> str:
    """Which targets a figure misses, and by what."""
    return "; ".join(f"{target}: seen {_seen(figure, target)}" for target in figure.missed())


def _seen(figure: Figure, target: Target) -> str:
    number = figure.seen(target)
    return "nothing" if number is None else f"{number:,.3g}"


def _panel(figure: Figure, runs: Sequence[Run]) -> Panel:
    """The number that the first target is about, or the value."""
    target = figure.targets[0] if figure.targets else None
    values = []
    for run in runs:
        there = next((other for other in run.figures if other.name == figure.name), None)
        values.append(None if there is None else there.seen(target) if target else there.value)
    of = "ratio" if target and target.of == "ratio" else figure.unit
    return Panel(f"{figure.name}, {of}", values, target.limit if target else None)
