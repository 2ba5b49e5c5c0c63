"""One MLflow run for each execution of a stage: its params, metrics, output hashes, revision and fingerprint.

Everything is kept in memory and written in batches, so MLflow (whose import takes seconds) is loaded when
the first batch is due: at the end of the stage, or every half minute of a long one. Tracking is never a
reason for a stage to fail: the first failure is told once, and the rest of the run goes untracked.

`MLFLOW_TRACKING_URI` names another server, `PROVE_TRACKING=off` switches tracking off.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import math
import os
import re
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.text import Text

from stages.progress import error_console

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

DATABASE = Path("mlflow.db")
FLUSH_SECONDS = 30.0
LOCK_SECONDS = 120.0
_METRICS_PER_BATCH, _OTHERS_PER_BATCH = 900, 90  # MLflow takes 1,000 and 100 at most
_VALUE_LENGTH = 500
_UNSAFE = re.compile(r"[^\w\-./: ]")

Status = Literal["FINISHED", "FAILED", "KILLED"]


class MetricError(Exception):
    """A metric is not a finite number; the message names it and its step."""


class Tracker:
    """Collects what one execution of a stage has to tell, and writes it to MLflow.

    Args:
        stage: the stage's name; its runs are in the experiment `prove/<stage>`.
        enabled: whether to write; metrics are checked in any case.
    """

    def __init__(self, stage: str, *, enabled: bool = True) -> None:
        self.latest: dict[str, float] = {}
        self._stage = stage
        self._enabled = enabled
        self._client: MlflowClient | None = None
        self._run = ""
        self._start = _now()
        self._flushed = time.monotonic()
        self._metrics: list[tuple[str, float, int, int]] = []
        self._params: dict[str, str] = {}
        self._tags: dict[str, str] = {}

    @property
    def started(self) -> bool:
        """Whether the run exists in MLflow already."""
        return bool(self._run)

    def log_metrics(self, values: Mapping[str, float], step: int | None = None) -> None:
        """Note metrics; those without a step also appear in the stage's final table.

        Raises:
            MetricError: a value is no finite number. None of the values is noted then.
        """
        checked = {name: _finite(name, value, step) for name, value in values.items()}
        if step is None:
            self.latest.update(checked)
        if not self._enabled:
            return
        self._metrics.extend((_safe(name), value, _now(), step or 0) for name, value in checked.items())
        if time.monotonic() - self._flushed > FLUSH_SECONDS:
            self._write(None)

    def log_params(self, values: Mapping[str, Any]) -> None:
        """Note parameters; nested mappings get dotted names. The first value of a name holds."""
        for name, value in flat(values):
            self._params.setdefault(_safe(name), str(value)[:_VALUE_LENGTH])

    def set_tags(self, values: Mapping[str, str]) -> None:
        """Note tags of the run."""
        self._tags.update({_safe(name): value[:_VALUE_LENGTH] for name, value in values.items()})

    def log_hashes(self, outputs: Iterable[Path]) -> None:
        """Note the SHA-256 of files and directories, as tags `sha256/<path>`."""
        if self._enabled:
            self.set_tags({f"sha256/{path.as_posix()}": sha256(path) for path in outputs})

    def close(self, status: Status) -> None:
        """Write what is left and end the run."""
        self._write(status)

    def _write(self, status: Status | None) -> None:
        if not self._enabled:
            return
        try:
            with _exclusive(tracking_uri()):
                self._send(status)
        except Exception as error:  # noqa: BLE001  # whatever MLflow or its database throws, the stage goes on
            self._enabled = False
            first = (str(error).strip().splitlines() or [""])[0][:300]
            message = f"{self._stage}: not tracked, MLflow failed ({type(error).__name__}: {first}); the stage goes on"
            error_console().print(Text(message))

    def _send(self, status: Status | None) -> None:
        client = self._client = self._client or _connect()
        from mlflow.entities import Metric, Param, RunTag

        if not self._run:
            tags = {"mlflow.source.name": f"stages.{self._stage}", **_revision()}
            experiment = _experiment(client, f"prove/{self._stage}")
            name = f"{self._stage} {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(self._start / 1000))}"
            self._run = client.create_run(experiment, self._start, tags, name).info.run_id
        for metrics in _batches(self._metrics, _METRICS_PER_BATCH):
            client.log_batch(self._run, metrics=[Metric(key, value, when, step) for key, value, when, step in metrics])
        for params in _batches(self._params.items(), _OTHERS_PER_BATCH):
            client.log_batch(self._run, params=[Param(key, value) for key, value in params])
        for some in _batches(self._tags.items(), _OTHERS_PER_BATCH):
            client.log_batch(self._run, tags=[RunTag(key, value) for key, value in some])
        self._metrics, self._flushed = [], time.monotonic()
        if status:
            client.set_terminated(self._run, status)


def tracker_for(stage: str) -> Tracker:
    """A tracker that writes unless `PROVE_TRACKING` is `off`."""
    return Tracker(stage, enabled=os.environ.get("PROVE_TRACKING", "").lower() != "off")


def tracking_uri() -> str:
    """`MLFLOW_TRACKING_URI`, or the SQLite file `mlflow.db` in the working directory."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{DATABASE.resolve()}"


def sha256(path: Path) -> str:
    """Digest of a file, or of a directory's relative names and contents."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    digest = hashlib.sha256()
    for item in sorted(item for item in path.rglob("*") if item.is_file()):
        digest.update(f"{item.relative_to(path).as_posix()}\0{sha256(item)}\n".encode())
    return digest.hexdigest()


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of nested mappings under dotted names."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _finite(name: str, value: float, step: int | None) -> float:
    if not math.isfinite(value):
        where = "" if step is None else f" at step {step}"
        raise MetricError(f"metric {name}{where} is {value}, not a finite number: find out why before logging it")
    return float(value)


def _safe(name: str) -> str:
    return _UNSAFE.sub("_", name)[:250]


def _now() -> int:
    return time.time_ns() // 1_000_000


def _batches(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


@contextmanager
def _exclusive(uri: str) -> Iterator[None]:
    """Holds a lock file beside an SQLite database: two processes that create its tables at once break it."""
    if not uri.startswith("sqlite:///"):
        yield
        return
    path = Path(uri.removeprefix("sqlite:///"))
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


def _connect() -> MlflowClient:
    # A server that does not answer must not hold the stage up for MLflow's default of many minutes.
    quiet = {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "true",
        "MLFLOW_LOGGING_LEVEL": "WARNING",
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
        "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    }
    for name, value in quiet.items():
        os.environ.setdefault(name, value)
    from mlflow.tracking import MlflowClient

    for noisy in ("alembic", "mlflow"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    return MlflowClient(tracking_uri())


def _experiment(client: MlflowClient, name: str) -> str:
    found = client.get_experiment_by_name(name)
    return str(found.experiment_id if found else client.create_experiment(name))


def _revision() -> dict[str, str]:
    """The git revision as MLflow's own tag, and whether the working tree differs from it; empty without git."""
    try:
        commit = _git("rev-parse", "HEAD")
        return {"mlflow.source.git.commit": commit, "git.dirty": str(bool(_git("status", "--porcelain"))).lower()}
    except (OSError, subprocess.SubprocessError):
        return {}


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True, timeout=20)
    return done.stdout.strip()
