"""Answers that were paid for once: an SQLite file, found by a digest of the whole request.

Two requests share an answer only if nothing that a provider is sent differs, down to the order of keys in a
schema. The key is a digest, so neither prompts nor addresses are stored, and API keys are no part of a request
at all. Only usable answers are kept. The file is in WAL mode: several processes may use it, and one that is
killed loses at most the answer that it was writing. A damaged file is set aside and a new one begun; a damaged
answer, which its digest tells, is asked for again.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from rich.text import Text

from stages.artifacts import ArtifactError
from stages.progress import error_console

BUSY_SECONDS = 60.0
"""How long a process waits for another one's write."""

T = TypeVar("T")


def digest(request: Mapping[str, Any]) -> str:
    """The name of a request: SHA-256 of all its values, 64 hexadecimal digits; the request is not changed."""
    return hashlib.sha256(json.dumps(request, ensure_ascii=False).encode()).hexdigest()


class Cache:
    """Answers by the digest of their request.

    Args:
        path: the SQLite file; made if it is absent.

    Raises:
        ArtifactError: the file cannot be opened or written, here or later.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        self._told = False
        self._run(lambda connection: connection)

    def get(self, key: str) -> dict[str, Any] | None:
        """The answer that is kept under a key, or None."""
        found = self._run(lambda c: c.execute("SELECT answer FROM answers WHERE request = ?", (key,)).fetchone())
        if found is None:
            return None
        try:
            entry = json.loads(found[0])
            answer: dict[str, Any] = entry["answer"]
            if entry["digest"] == digest(answer):
                return answer
        except (ValueError, TypeError, KeyError, RecursionError):
            pass
        if not self._told:
            message = f"teacher.cache: an answer in {self._path} is damaged; such answers are asked for again"
            error_console().print(Text(message), soft_wrap=True)
        self._told = True
        self._run(lambda c: c.execute("DELETE FROM answers WHERE request = ?", (key,)))
        return None

    def put(self, key: str, answer: Mapping[str, Any]) -> None:
        """Keep an answer; the first one of a key stays."""
        row = (key, json.dumps({"digest": digest(answer), "answer": answer}, ensure_ascii=False))
        self._run(lambda c: c.execute("INSERT OR IGNORE INTO answers VALUES (?, ?)", row))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._disconnect()

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock:
            try:
                return work(self._connected())
            except sqlite3.OperationalError as error:
                raise self._unusable(error) from None
            except sqlite3.DatabaseError as error:
                self._recover(error)
            return work(self._connected())

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise self._unusable(error) from None
            self._connection = sqlite3.connect(
                self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute("CREATE TABLE IF NOT EXISTS answers (request TEXT PRIMARY KEY, answer TEXT)")
        return self._connection

    def _recover(self, error: sqlite3.DatabaseError) -> None:
        """Set the file aside, unless another process has done so already."""
        self._disconnect()
        try:
            if self._connected().execute("PRAGMA quick_check(1)").fetchone() == ("ok",):
                return
        except sqlite3.DatabaseError:
            pass
        self._disconnect()
        aside = next(
            p for n in range(1_000_000) if not (p := self._path.with_name(f"{self._path.name}.bad-{n}")).exists()
        )
        self._path.rename(aside)
        for suffix in ("-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        message = f"teacher.cache: {self._path} is damaged ({error}); kept as {aside}, a new one is begun"
        error_console().print(Text(message), soft_wrap=True)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _unusable(self, error: Exception) -> ArtifactError:
        return ArtifactError(
            f"teacher.cache: {self._path} cannot be used ({error}): make room or name another file in params.yaml, "
            "or set teacher.cache to null"
        )
