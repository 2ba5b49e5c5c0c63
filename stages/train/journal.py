"""Append-only logs of a run that may be killed and resumed: the last line of a step wins."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stages.artifacts import dump


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
            found = self._lines()
            kept = [line for line in found if json.loads(line)["step"] < step]
            if len(kept) < len(found):
                self._path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
        with self._path.open("a", encoding="utf-8") as file:
            file.writelines(f"{dump({'step': step, **row})}\n" for row in rows)
        self._last = step

    def append(self, step: int, values: Mapping[str, Any]) -> None:
        """Write one line for a step and keep all others."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{dump({'step': step, **values})}\n")

    def steps(self) -> dict[int, list[dict[str, Any]]]:
        """The lines of each step, in order."""
        found: dict[int, list[dict[str, Any]]] = {}
        for line in self._lines():
            row = json.loads(line)
            found.setdefault(row.pop("step"), []).append(row)
        return found

    def rows(self) -> list[dict[str, Any]]:
        """Every line without its step, in order."""
        return [row for rows in self.steps().values() for row in rows]

    def _lines(self) -> list[str]:
        if not self._path.exists():
            return []
        text = self._path.read_text(encoding="utf-8")
        return text.split("\n")[:-1]
