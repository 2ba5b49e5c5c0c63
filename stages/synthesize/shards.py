"""Work that survives a kill: results in shards, each written whole, gathered at the end.

A shard's file name says what it was made from, so a changed parameter or server never picks up old work.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stages.artifacts import Stamp, dump, write_text

SHARD_SIZE = 50
"""Conversations in one shard: at most this many are written again after a kill."""


class Shards:
    """A directory of finished shards for one run.

    Args:
        root: where unfinished work is kept.
        stamp: what the run is made from.
        key: what else decides the results (the digest of the inputs).
    """

    def __init__(self, root: Path, stamp: Stamp, key: str) -> None:
        self._root = root
        self._directory = root / f"{stamp.fingerprint}-{stamp.params}-{key}"

    def read(self, number: int) -> list[dict[str, Any]] | None:
        """The rows of a finished shard, or None."""
        path = self._path(number)
        if not path.exists():
            return None
        rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        return rows

    def write(self, number: int, rows: Sequence[dict[str, Any]]) -> None:
        """Keep a shard."""
        write_text(self._path(number), dump(list(rows)))

    def remove(self) -> None:
        """Forget all unfinished work, this run's and older ones'."""
        shutil.rmtree(self._root, ignore_errors=True)

    def _path(self, number: int) -> Path:
        return self._directory / f"{number:06d}.json"
