"""Work that survives a kill: results in shards, each written whole, gathered at the end.

A shard's file name says what it was made from, so a changed parameter or server never picks up old work. Its first
line is the digest of the rest: a shard that was damaged is written again.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from stages.artifacts import Stamp, dump, write_text
from stages.progress import error_console

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
        """The rows of a finished shard, or None; one that is damaged is told of."""
        path = self._path(number)
        if not path.exists():
            return None
        digest, _, content = path.read_bytes().partition(b"\n")
        if digest.decode(errors="replace") != _digest(content):
            error_console().print(Text(f"{path} is damaged: it is written again"), soft_wrap=True)
            return None
        rows: list[dict[str, Any]] = json.loads(content)
        return rows

    def write(self, number: int, rows: Sequence[dict[str, Any]]) -> None:
        """Keep a shard."""
        content = dump(list(rows))
        write_text(self._path(number), f"{_digest(content.encode())}\n{content}")

    def remove(self) -> None:
        """Forget all unfinished work, this run's and older ones'."""
        shutil.rmtree(self._root, ignore_errors=True)

    def _path(self, number: int) -> Path:
        return self._directory / f"{number:06d}.json"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
