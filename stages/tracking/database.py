"""Where runs are kept, and how an SQLite file stays whole though several stages open it at once.

MLflow creates its tables one by one. So a new database is made beside its place and moved there when it is
complete, and whoever writes holds a lock file: a killed stage leaves no half of it behind. A damaged file that
comes from elsewhere is never overwritten; the error says how to put it aside.
"""

from __future__ import annotations

import fcntl
import logging
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

DATABASE = Path("mlflow.db")
LOCK_SECONDS = 120.0
# No telemetry, no waiting for traces in the background, and a server that does not answer must not hold the stage
# up for MLflow's default of many minutes.
QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_ENABLE_ASYNC_TRACE_LOGGING": "false",
}
_SQLITE = "sqlite:///"
_HEAD = 32  # bytes of SQLite's header up to the page count; the page size is in it too


class DatabaseError(Exception):
    """The file is no complete MLflow database; the message says what to do with it."""


def tracking_uri() -> str:
    """`MLFLOW_TRACKING_URI`, or the SQLite file `mlflow.db` in the working directory."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"{_SQLITE}{DATABASE.resolve()}"


@contextmanager
def exclusive(uri: str) -> Iterator[None]:
    """Holds a lock file beside an SQLite database, as long as the block runs; other addresses need none.

    Raises:
        TimeoutError: another process held it for too long.
    """
    if not uri.startswith(_SQLITE):
        yield
        return
    path = Path(uri.removeprefix(_SQLITE))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("w") as file:
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"another process has held {file.name} for {LOCK_SECONDS:.0f} s") from None
                time.sleep(0.1)
        yield


def connect(uri: str) -> MlflowClient:
    """A client of the database or server; a database that is not there yet is created. Call it under `exclusive`.

    Raises:
        DatabaseError: the file is damaged or half-written.
    """
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    from mlflow.tracking import MlflowClient

    for noisy in ("alembic", "mlflow"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    if uri.startswith(_SQLITE):
        path = Path(uri.removeprefix(_SQLITE))
        if path.exists() and path.stat().st_size:
            _require_complete(path)
        else:
            _create(path)
    return MlflowClient(uri, uri)


def experiment_id(client: MlflowClient, name: str) -> str:
    """The id of an experiment, which is created if it is not there yet."""
    found = client.get_experiment_by_name(name)
    return str(found.experiment_id if found else client.create_experiment(name))


def _create(path: Path) -> None:
    from mlflow.tracking import MlflowClient

    scratch = path.with_name(f".{path.name}.new")
    for left in path.parent.glob(f"{scratch.name}*"):
        left.unlink()
    MlflowClient(f"{_SQLITE}{scratch}").search_experiments(max_results=1)
    scratch.replace(path)


def _require_complete(path: Path) -> None:
    """Look at the file's length and its schema: what a killed copy or a full disk cut off shows in the former."""
    found = ""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    page, pages = int.from_bytes(head[16:18]), int.from_bytes(head[28:32])
    whole = (65536 if page == 1 else page) * pages
    if path.stat().st_size < whole:
        found = f"{path.stat().st_size:,} of {whole:,} bytes are there"
    else:
        try:
            with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
                revisions = connection.execute("select version_num from alembic_version").fetchall()
                connection.execute("select count(*) from experiments").fetchall()
                found = "" if revisions else "its schema has no version"
        except sqlite3.Error as error:
            found = str(error)
    if found:
        raise DatabaseError(f"{path} is no complete MLflow database ({found}): move it away, a new one is made then")
