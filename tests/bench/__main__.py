"""Published speed: `python -m tests.bench`, or one family alone: `python -m tests.bench --only mcp --quick`

Measures every family of figures in a process of its own and adds the run to `reports/bench_history.jsonl`,
`reports/bench.json` and the page `reports/bench.html`. A quick run has fewer repetitions and sizes and is only printed.
A target that is missed is no failure: the figures say so. Exit codes: 0 measured, 1 a family failed, 2 bad usage.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from stages.artifacts import REPORTS, ArtifactError, write_text
from tests.bench.speed.families import FAMILIES, measured
from tests.bench.speed.figures import Figure
from tests.bench.speed.history import Run, append, read_history
from tests.bench.speed.machine import machine, revision
from tests.bench.speed.page import bench_page, reason
from tests.bench.speed.timing import FULL, QUICK


def main(arguments: Sequence[str] | None = None, reports: Path = REPORTS) -> int:
    """Measure, print and publish; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench", description=__doc__.split("\n")[0], allow_abbrev=False
    )
    parser.add_argument("--only", action="append", choices=list(FAMILIES), help="this family alone; repeat for more")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions and sizes; nothing is written")
    given = parser.parse_args(arguments)
    chosen = [name for name in FAMILIES if not given.only or name in given.only]
    console = Console(stderr=True)
    try:
        read_history(reports)  # a damaged history is told before minutes of work, not after
        begin, there = datetime.now(UTC), machine()
        figures, failed = measured(chosen, QUICK if given.quick else FULL, console)
        print_figures(figures)
        if figures and not given.quick:
            date = begin.isoformat(timespec="seconds")
            run = Run(date=date, revision=revision(), machine=there, figures=tuple(figures))
            write_text(reports / "bench.html", bench_page(append(reports, run)))
            console.print(f"{reports / 'bench.html'}: {len(figures)} figures added", highlight=False)
    except ArtifactError as error:
        console.print(f"bench: {error}", soft_wrap=True, highlight=False)
        return 1
    return 1 if failed else 0


def print_figures(figures: Sequence[Figure]) -> None:
    """What was seen, as a table."""
    table = Table("figure", "seen", "ratio", "exponent", "target", "met")
    for figure in figures:
        table.add_row(
            figure.name,
            f"{figure.value:,.4g} {figure.unit}",
            "" if figure.ratio is None else f"{figure.ratio:,.3g}",
            "" if figure.growth is None else f"{figure.growth.exponent:.2f}",
            "; ".join(map(str, figure.targets)),
            {True: "yes", False: reason(figure), None: ""}[figure.met],
        )
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
