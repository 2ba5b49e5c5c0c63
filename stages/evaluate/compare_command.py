"""`python -m stages.evaluate compare A B`: the comparison as a table, or as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table
from rich.text import Text

from stages.artifacts import ArtifactError
from stages.evaluate.compare import Comparison, compare_sides
from stages.params import DEFAULT_SEED
from stages.progress import PLAIN_WIDTH, error_console


def compare(arguments: Sequence[str]) -> int:
    """Compare two agents or two runs task by task."""
    parser = argparse.ArgumentParser(
        prog="python -m stages.evaluate compare",
        description="Compare two agents or two runs task by task: paired difference with its 95 % interval, tasks "
        "that only one side passes, and McNemar's exact p of those.",
        allow_abbrev=False,
    )
    side = "an agent of data/scores, another run's scores directory, or DIRECTORY:AGENT"
    parser.add_argument("first", metavar="A", help=side)
    parser.add_argument("second", metavar="B", help=side)
    parser.add_argument("--json", action="store_true", help="print JSON, with the tasks that flipped")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="of the bootstrap (default: %(default)s)")
    parser.add_argument("--resamples", type=int, default=10_000, help="of the bootstrap (default: %(default)s)")
    chosen = parser.parse_args(list(arguments))
    if chosen.seed < 0 or chosen.resamples < 1:
        parser.error("--seed must be at least 0 and --resamples at least 1")
    try:
        found = compare_sides(chosen.first, chosen.second, seed=chosen.seed, resamples=chosen.resamples)
    except (ArtifactError, OSError) as error:
        error_console().print(Text(f"compare: {error}"), soft_wrap=True)
        return 1
    if chosen.json:
        print(json.dumps([asdict(row) for row in found], indent=2, ensure_ascii=False))
    else:
        _show(found)
    return 0


def _show(found: Sequence[Comparison]) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=PLAIN_WIDTH)
    table = Table("on", "A", "B", "measure", box=None, header_style="bold")
    for name in ("tasks", "mean A", "mean B", "A − B [95 % interval]", "only A passes", "only B passes", "p"):
        table.add_column(name, justify="right")
    table.add_column("A is")
    for row in found:
        table.add_row(
            row.on,
            row.first,
            row.second,
            row.measure,
            f"{row.tasks:,}",
            f"{row.first_mean:.3f}",
            f"{row.second_mean:.3f}",
            f"{row.difference:+.3f} [{row.low:.3f}, {row.high:.3f}]",
            str(len(row.gained)),
            str(len(row.lost)),
            f"{row.p:.3g}",
            row.verdict,
        )
    console.print(table)
    for row in found:
        if row.left_out:
            console.print(Text(f"{row.on}: {row.left_out} tasks are masked or stand on one side only; left out."))
