"""One MLflow run for each execution of a stage: its params, metrics, output hashes, cost and provenance.

Everything is kept in memory and written in batches, so MLflow (whose import takes seconds) is loaded when
the first batch is due: at the end of the stage, or every half minute of a long one. Tracking is never a
reason for a stage to fail: the first failure is told once, and the rest of the run goes untracked.

`MLFLOW_TRACKING_URI` names another server, `PROVE_TRACKING=off` switches tracking off. Values of environment
variables that are named like secrets, and passwords in addresses, are masked in all that is written.
"""

from __future__ import annotations

import math
import os
import re
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from rich.text import Text

from stages.progress import error_console
from stages.teacher.errors import without_secrets
from stages.tracking.database import connect, exclusive, experiment_id, tracking_uri
from stages.tracking.digest import sha256
from stages.tracking.provenance import given_tags, inputs, lock_hash, revision

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

FLUSH_SECONDS = 30.0
_METRICS_PER_BATCH, _OTHERS_PER_BATCH = 900, 90  # MLflow takes 1,000 and 100 at most
_VALUE_LENGTH = 500
_UNSAFE = re.compile(r"[^\w\-./: ]")
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")

Status = Literal["FINISHED", "FAILED", "KILLED"]


class Target(NamedTuple):
    """Where an attachment is written: the open client, the run and its experiment."""

    client: MlflowClient
    run: str
    experiment: str


Attachment: TypeAlias = Callable[[Target], None]


class Tracker:
    """Collects what one execution of a stage has to tell, and writes it to MLflow.

    Args:
        stage: the stage's name; its runs are in the experiment `prove/<stage>`.
        enabled: whether to write; metrics that are no numbers are told in any case.
    """

    def __init__(self, stage: str, *, enabled: bool = True) -> None:
        self.latest: dict[str, float] = {}
        self._stage = stage
        self._enabled = enabled
        self._target: Target | None = None
        self._start = _now()
        self._begin = self._flushed = time.monotonic()
        self._metrics: list[tuple[str, float, int, int]] = []
        self._params: dict[str, str] = {}
        self._tags: dict[str, str] = lock_hash() if enabled else {}
        self._attachments: list[Attachment] = []
        self._not_numbers: set[str] = set()

    @property
    def started(self) -> bool:
        """Whether the run exists in MLflow already."""
        return self._target is not None

    def log_metrics(self, values: Mapping[str, float], step: int | None = None) -> None:
        """Note metrics; those without a step also appear in the stage's final table.

        A value that is no finite number is left out and told, once for each name.
        """
        known = {name: float(value) for name, value in values.items() if self._is_finite(name, value, step)}
        if step is None:
            self.latest.update(known)
        if not self._enabled:
            return
        self._note_metrics(known, step or 0)
        if time.monotonic() - self._flushed > FLUSH_SECONDS:
            self._write(None)

    def log_params(self, values: Mapping[str, Any]) -> None:
        """Note parameters; nested mappings get dotted names. The first value of a name holds."""
        for name, value in flat(values):
            self._params.setdefault(safe_name(name), masked(str(value))[:_VALUE_LENGTH])

    def set_tags(self, values: Mapping[str, str]) -> None:
        """Note tags of the run."""
        self._tags.update({safe_name(name): masked(value)[:_VALUE_LENGTH] for name, value in values.items()})

    def log_hashes(self, outputs: Iterable[Path]) -> None:
        """Note the SHA-256 of files and directories, as tags `sha256/<path>`."""
        if self._enabled:
            self.set_tags({f"sha256/{path.as_posix()}": sha256(path) for path in outputs})

    def attach(self, attachment: Attachment) -> None:
        """Have something written with the run when it ends well, such as a model; a failure of it is told."""
        if self._enabled:
            self._attachments.append(attachment)

    def close(self, status: Status) -> None:
        """Write what is left and end the run."""
        if self._enabled:
            self._note_metrics(self._cost(), 0)
        self._write(status)

    def _is_finite(self, name: str, value: float, step: int | None) -> bool:
        if math.isfinite(value):
            return True
        if name not in self._not_numbers:
            self._not_numbers.add(name)
            where = "" if step is None else f" at step {step}"
            message = f"{self._stage}: metric {name}{where} is {value}, not a finite number: it is left out"
            error_console().print(Text(message), soft_wrap=True)
        return False

    def _note_metrics(self, values: Mapping[str, float], step: int) -> None:
        self._metrics.extend((safe_name(name), value, _now(), step) for name, value in values.items())

    def _cost(self) -> dict[str, float]:
        """Wall and processor seconds of this process and its children, and the most memory that one of them held."""
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        unit = 1 if sys.platform == "darwin" else 1024
        return {
            "cost/seconds": time.monotonic() - self._begin,
            "cost/cpu_seconds": sum(each.ru_utime + each.ru_stime for each in used),
            "cost/peak_memory_mb": max(each.ru_maxrss for each in used) * unit / 1e6,
        }

    def _write(self, status: Status | None) -> None:
        if not self._enabled:
            return
        try:
            with exclusive(tracking_uri()):
                target = self._target = self._target or self._open()
                self._send(target)
                if status == "FINISHED":
                    self._send_attachments(target)
                if status:
                    target.client.set_terminated(target.run, status)
        except Exception as error:  # noqa: BLE001  # whatever MLflow or its database throws, the stage goes on
            self._enabled = False
            self._tell("not tracked", error)

    def _open(self) -> Target:
        client = connect(tracking_uri())
        experiment = experiment_id(client, f"prove/{self._stage}")
        name = f"{self._stage} {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(self._start / 1000))}"
        known = {"mlflow.runName": name, "mlflow.source.name": f"stages.{self._stage}"}
        run = client.create_run(experiment, self._start, {**known, **revision(), **given_tags()}).info.run_id
        client.log_inputs(run, list(inputs(self._stage)))
        return Target(client, run, experiment)

    def _send(self, target: Target) -> None:
        from mlflow.entities import Metric, Param, RunTag

        client, run = target.client, target.run
        for metrics in _batches(self._metrics, _METRICS_PER_BATCH):
            client.log_batch(run, metrics=[Metric(key, value, when, step) for key, value, when, step in metrics])
        for params in _batches(self._params.items(), _OTHERS_PER_BATCH):
            client.log_batch(run, params=[Param(key, value) for key, value in params])
        for some in _batches(self._tags.items(), _OTHERS_PER_BATCH):
            client.log_batch(run, tags=[RunTag(key, value) for key, value in some])
        self._metrics, self._flushed = [], time.monotonic()

    def _send_attachments(self, target: Target) -> None:
        for attachment in self._attachments:
            try:
                attachment(target)
            except Exception as error:  # noqa: BLE001  # as above; what else there is to write is written
                self._tell(f"{attachment.__name__} not tracked", error)

    def _tell(self, what: str, error: Exception) -> None:
        first = masked((str(error).strip().splitlines() or [""])[0])[:300]
        message = f"{self._stage}: {what}, MLflow failed ({type(error).__name__}: {first}); the stage goes on"
        error_console().print(Text(message), soft_wrap=True)


def tracker_for(stage: str) -> Tracker:
    """A tracker that writes unless `PROVE_TRACKING` is `off`."""
    return Tracker(stage, enabled=os.environ.get("PROVE_TRACKING", "").lower() != "off")


def masked(text: str) -> str:
    """The text without secrets of the environment and without credentials in addresses."""
    return _CREDENTIALS.sub("", without_secrets(text))


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of nested mappings under dotted names."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def safe_name(name: str) -> str:
    """The name as MLflow accepts it for metrics, parameters and tags."""
    return _UNSAFE.sub("_", name)[:250]


def _now() -> int:
    return time.time_ns() // 1_000_000


def _batches(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
