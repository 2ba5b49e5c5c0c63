"""All runs of the benchmarks, one JSON line each, and `bench.json`: the last value of each figure.

The history only ever grows. A run is added by writing the whole file anew beside the old one and putting it in
its place, so that a killed run leaves the history as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from stages.artifacts import ArtifactError, write_json, write_text
from tests.bench.speed.figures import Figure, Strict
from tests.bench.speed.machine import Machine

HISTORY = "bench_history.jsonl"
LATEST = "bench.json"


class Run(Strict):
    """The figures that were measured together; `date` is ISO 8601 in UTC."""

    date: str
    revision: str
    machine: Machine
    figures: tuple[Figure, ...]


def read_history(reports: Path) -> list[Run]:
    """All runs, the oldest first.

    Raises:
        ArtifactError: a line is damaged; says which.
    """
    path = reports / HISTORY
    if not path.exists():
        return []
    runs = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            runs.append(Run.model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the line"
            raise ArtifactError(
                f"{path}, line {number}: {where}: {first['msg']}: remove the line, or move the file away to begin anew"
            ) from None
    return runs


def append(reports: Path, run: Run) -> list[Run]:
    """Add a run to the history and bring `bench.json` up to date; all runs, this one last.

    Raises:
        ArtifactError: the history is damaged; nothing is written then.
    """
    runs = [*read_history(reports), run]
    write_text(reports / HISTORY, "".join(f"{item.model_dump_json()}\n" for item in runs))
    write_json(reports / LATEST, [plain(figure, item) for figure, item in latest(runs)])
    return runs


def latest(runs: Sequence[Run]) -> list[tuple[Figure, Run]]:
    """Each figure as it was measured last, with its run, in the order in which figures first appeared."""
    found: dict[str, tuple[Figure, Run]] = {}
    for run in runs:
        for figure in run.figures:
            found[figure.name] = (figure, run)
    return list(found.values())


def plain(figure: Figure, run: Run) -> dict[str, Any]:
    """A figure for programs, complete in itself."""
    return {
        **figure.model_dump(mode="json"),
        "target": "; ".join(map(str, figure.targets)),
        "met": figure.met,
        "machine": run.machine.model_dump(mode="json"),
        "revision": run.revision,
        "date": run.date,
    }
