"""Every benchmark's controls over all tasks: what each has to pass, and what it passed.

    .venv/bin/python -m tests.bench.benchmark_controls
    .venv/bin/python -m tests.bench.benchmark_controls tau2 --data tau2=DIR

The benchmarks are those of the registry. One whose package or data is missing is named with the cure. The
exit code is 1 if a control missed its number.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from stages.evaluate.benchmark import BenchmarkUnavailableError, Control
from stages.evaluate.registry import BENCHMARKS
from stages.evaluate.tau2 import Tau2
from stages.evaluate.tau2.tasks import TRACKS
from stages.params import BenchmarkParams

HELP = "benchmarks to run; all by default"


def controls_of(name: str, data: str | None) -> Sequence[Control]:
    """Run the controls of a benchmark; τ²'s bring their own users, so they need no user model."""
    if name == "tau2":
        return Tau2(None if data is None else Path(data), tracks=tuple(TRACKS)).controls()
    return BENCHMARKS[name].load(None if data is None else BenchmarkParams(data=data), seed=0).controls()


def main(
    names: Annotated[list[str] | None, typer.Argument(help=HELP)] = None,
    data: Annotated[list[str] | None, typer.Option(help="NAME=DIR: task data of a benchmark")] = None,
) -> None:
    """Run the controls and print them."""
    directories: dict[str, str] = {}
    for entry in data or ():
        name, separator, directory = entry.partition("=")
        if not separator:
            raise typer.BadParameter(f"--data {entry!r} is not NAME=DIR")
        directories[name] = directory
    if unknown := [name for name in (*(names or ()), *directories) if name not in BENCHMARKS]:
        raise typer.BadParameter(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    table = Table("benchmark", Column("control", overflow="fold"), "expected", "passed", "of", "seconds", "")
    absent: list[str] = []
    missed = 0
    for name in names or list(BENCHMARKS):
        start = time.perf_counter()
        try:
            controls = controls_of(name, directories.get(name))
        except BenchmarkUnavailableError as problem:
            absent.append(f"{name} is not here: {problem}")
            continue
        seconds = f"{time.perf_counter() - start:.0f}"
        for index, control in enumerate(controls):
            missed += not control.holds
            figures = (str(control.expected), str(control.passed), str(control.total))
            verdict = "" if control.holds else "MISSED"
            table.add_row(name, control.name, *figures, "" if index else seconds, verdict)
    Console().print(table, *absent, sep="\n")
    raise typer.Exit(1 if missed else 0)


if __name__ == "__main__":
    typer.run(main)
