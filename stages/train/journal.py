"""Append-only logs of a run that may be killed and resumed: the last line of a step wins.

A line that a kill cut off is no line. Whatever else can't be read was not written by us: the log is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from stages.artifacts import ArtifactError, dump, write_text


class Journal:
    """A JSON-lines file in which every line belongs to a step."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last: int | None = None  # the last step of the file, once this object has written to it
        path.parent.mkdir(parents=True, exist_ok=True)

    def add(self, step: int, values: Mapping[str, Any]) -> None:
        """Write one line for a step; lines of this and later steps from before a kill are dropped."""
        self.replace_step(step, [values])

    def replace_step(self, step: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write a step's lines; those of this and later steps from before a kill are dropped."""
        if self._last is None or step <= self._last:
            self._keep(lambda found: found < step)
        with self._path.open("a", encoding="utf-8") as file:
            file.writelines(f"{dump({'step': step, **row})}\n" for row in rows)
        self._last = step

    def append(self, step: int, values: Mapping[str, Any]) -> None:
        """Write one line for a step and keep all others."""
        self._keep(lambda found: True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{dump({'step': step, **values})}\n")

    def steps(self) -> dict[int, list[dict[str, Any]]]:
        """The lines of each step, in order.

        Raises:
            ArtifactError: a line is damaged.
        """
        found: dict[int, list[dict[str, Any]]] = {}
        for _, row in self._lines():
            found.setdefault(row.pop("step"), []).append(row)
        return found

    def rows(self) -> list[dict[str, Any]]:
        """Every line without its step, in order."""
        return [row for rows in self.steps().values() for row in rows]

    def require(self, steps: range) -> None:
        """Check that there is a line for each of these steps, which a checkpoint says were finished.

        Raises:
            ArtifactError: there is none for one of them.
        """
        found = self.steps()
        for step in steps:
            if step not in found:
                raise self._damaged(f"step {step} has a checkpoint and no line")

    def _keep(self, wanted: Callable[[int], bool]) -> None:
        """Write the file anew, atomically, if it holds lines that are not wanted or one that was cut off."""
        kept = "".join(f"{line}\n" for line, row in self._lines() if wanted(row["step"]))
        if self._path.exists() and kept.encode() != self._path.read_bytes():
            write_text(self._path, kept)

    def _lines(self) -> list[tuple[str, dict[str, Any]]]:
        if not self._path.exists():
            return []
        whole, _, _ = self._path.read_bytes().rpartition(b"\n")
        if not whole:
            return []
        try:
            lines = whole.decode().split("\n")
            return [(line, _read(line)) for line in lines]
        except (ValueError, RecursionError) as error:
            raise self._damaged(error) from None

    def _damaged(self, why: object) -> ArtifactError:
        return ArtifactError(
            f"{self._path} is damaged ({why}): remove {self._path.parent} and run `python -m stages.train` again, "
            "from the beginning"
        )


def _read(line: str) -> dict[str, Any]:
    row = json.loads(line)
    if not isinstance(row, dict) or type(row.get("step")) is not int:
        raise ValueError(f"a line names no step: {line[:60]}")
    return row
