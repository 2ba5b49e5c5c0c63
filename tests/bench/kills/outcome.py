"""What a stage left behind: its outputs without their clock readings, and scratch that should be gone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

Content: TypeAlias = dict[str, bytes]
"""The files of an output by their relative names; a single file has the name ''."""

PLACES = (Path("data"), Path("reports"))
UNFINISHED = Path("data/.unfinished")
GX_PAGE = Path("reports/expectations/index.html")
"""Great Expectations writes run times and random element ids into it."""

CLOCKED = ("seconds", "tokens_per_second", "share_environment")
"""How the names begin of what is measured by the clock."""


def content(path: Path) -> Content | None:
    """What an output holds, None if it is absent; clock readings in JSON logs and cost tables are left out."""
    if path.is_file():
        return {"": _timeless(path)}
    if not path.exists():
        return None
    return {item.relative_to(path).as_posix(): _timeless(item) for item in sorted(path.rglob("*")) if item.is_file()}


def differences(found: Content | None, expected: Content | None) -> list[str]:
    """The names of files that are not the same."""
    one, other = found or {}, expected or {}
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def scratch() -> Sequence[Path]:
    """Hidden files and directories under `data` and `reports`; the place of unfinished work only if it holds some."""
    hidden = (path for place in PLACES if place.exists() for path in place.rglob(".*"))
    return sorted(path for path in hidden if path != UNFINISHED or any(path.iterdir()))


def _timeless(path: Path) -> bytes:
    """A file's bytes; JSON lines and JSON without their clock readings, of Great Expectations' page the end."""
    if path.suffix == ".jsonl":
        lines = path.read_text(encoding="utf-8").splitlines()
        return "\n".join(json.dumps(_without(json.loads(line))) for line in lines).encode()
    if path == GX_PAGE:
        return path.read_bytes().rstrip()[-7:]
    if path.name == "evaluate_costs.json":
        return json.dumps(_without(json.loads(path.read_text(encoding="utf-8")))).encode()
    return path.read_bytes()


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without(item) for key, item in value.items() if not key.startswith(CLOCKED)}
    return value
