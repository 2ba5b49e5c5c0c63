"""Finished tasks, one JSON line each, written as they finish: a killed run goes on with those that are missing.

A line that was cut off by the kill is dropped. Each line holds the digest of the rest of it: from one that was
damaged on, the tasks are played again. What a journal is of (weights, settings, tasks) is in its name, so another
run never picks it up.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rich.text import Text

from stages.artifacts import DATA, dump
from stages.progress import error_console

UNFINISHED = DATA / ".unfinished" / "evaluate"


class Journal:
    """The rows of one agent on one benchmark.

    Args:
        path: the file; made when the first row is written.
        key: the column by which a row is known again.

    `rows` holds the rows by their key, `took` the sums of what they cost: seconds, tokens, US dollars.
    """

    def __init__(self, path: Path, key: str) -> None:
        self._path, self._key = path, key
        self.rows: dict[str, dict[str, Any]] = {}
        self.took: Counter[str] = Counter()
        whole = b""
        for line in path.read_bytes().splitlines(keepends=True) if path.exists() else ():
            if not line.endswith(b"\n"):
                break
            entry = _entry(line)
            if entry is None:
                told = f"{path} is damaged after {len(self.rows)} rows: what follows is played again"
                error_console().print(Text(told), soft_wrap=True)
                break
            whole += line
            self._remember(entry["row"], entry["took"])
        if path.exists():
            with path.open("r+b") as file:
                file.truncate(len(whole))

    def __contains__(self, name: str) -> bool:
        return name in self.rows

    def add(self, row: Mapping[str, Any], took: Mapping[str, float]) -> None:
        """Keep a row, in place of an older one of the same key; `took` is what it cost since the row before."""
        self._remember(dict(row), took)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(_line({"took": dict(took), "row": dict(row)}) + "\n")

    def _remember(self, row: dict[str, Any], took: Mapping[str, float]) -> None:
        self.rows[row[self._key]] = row
        self.took.update(took)


def _line(entry: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(dump(entry).encode()).hexdigest()[:16]
    return json.dumps({**entry, "digest": digest}, ensure_ascii=False, allow_nan=False)


def _entry(line: bytes) -> dict[str, Any] | None:
    """What a line holds, or None if it isn't as it was written."""
    try:
        entry: Any = json.loads(line)
        return entry if _line({"took": entry["took"], "row": entry["row"]}).encode() == line.rstrip(b"\n") else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def journal_path(place: str, agent: str, made_from: Iterable[str | bytes]) -> Path:
    """Where the rows of an agent stand until the run is over; `made_from` is all that they depend on."""
    digest = hashlib.sha256()
    for part in made_from:
        content = part.encode() if isinstance(part, str) else part
        digest.update(hashlib.sha256(content).digest())
    return UNFINISHED / place / f"{agent}-{digest.hexdigest()[:16]}.jsonl"


def weights_digest(weights: Path) -> str:
    """Digest of a directory's weights and tokenizer settings, 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for path in sorted(p for p in weights.glob("*") if p.suffix in (".safetensors", ".json", ".jinja")):
        with path.open("rb") as file:
            digest.update(path.name.encode() + hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]
