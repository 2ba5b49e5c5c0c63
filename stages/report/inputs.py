"""What the page is drawn from; whatever is missing is named with the stage that makes it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from servers.kernel.catalog import Catalog, load_catalog
from stages.artifacts import DATA, REPORTS, ArtifactError, read_json, readable_table, require_fingerprint
from stages.params import DEFAULT_SEED, ReportParams

STREAMED = 1_000
"""Rows of a table that are held at a time."""


@dataclass(frozen=True)
class Inputs:
    """The artefacts at hand.

    `document` is `params.yaml` as plain data, `catalog` the servers on which recorded calls are run again.
    """

    data: Path = DATA
    reports: Path = REPORTS
    document: Mapping[str, Any] = field(default_factory=dict)
    seed: int = DEFAULT_SEED
    params: ReportParams = field(default_factory=ReportParams)
    catalog: Catalog = field(default_factory=load_catalog)

    @cached_property
    def fingerprint(self) -> str:
        """The servers of the run, as bootstrap published them.

        Raises:
            ArtifactError: its metrics are missing or damaged, or don't say.
        """
        found = self.metrics("bootstrap").get("fingerprint")
        if not isinstance(found, str):
            path = self.reports / "metrics" / "bootstrap.json"
            raise ArtifactError(f"{path} names no servers: run `python -m stages.bootstrap` again")
        return found

    def require_one_run(self) -> None:
        """Check that every table at hand is whole and was made with the servers of the run.

        Raises:
            ArtifactError: one is damaged or was made with others.
        """
        for path in sorted(self.data.glob("*/*.parquet")):
            with _readable(path) as file:
                require_fingerprint(path, file.schema_arrow, self.fingerprint)

    def metrics(self, stage: str) -> Mapping[str, Any]:
        """The metrics of a stage.

        Raises:
            ArtifactError: the file is missing, damaged or no mapping.
        """
        path = self.reports / "metrics" / f"{stage}.json"
        loaded = read_json(path)
        if not isinstance(loaded, dict):
            raise ArtifactError(f"{path} holds no mapping: run `python -m stages.{stage}` again")
        return loaded

    def table(self, name: str, columns: Sequence[str]) -> list[dict[str, Any]]:
        """These columns of the table `data/<name>`.

        Raises:
            ArtifactError: the table is missing or damaged, or lacks a column.
        """
        return list(self.stream(name, columns))

    def stream(self, name: str, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """The rows of `table` one by one, without holding all of them.

        Raises:
            ArtifactError: the table is missing or damaged, or lacks a column.
        """
        path = self.data / name
        with _readable(path) as file:
            lacking = [column for column in columns if column not in file.schema_arrow.names]
            if lacking:
                raise ArtifactError(f"{path} has no column {lacking[0]!r}: run its stage again")
            for batch in file.iter_batches(STREAMED, columns=list(columns)):
                yield from batch.to_pylist()

    def count(self, name: str) -> int:
        """How many rows the table `data/<name>` has.

        Raises:
            ArtifactError: the table is missing or damaged.
        """
        with _readable(self.data / name) as file:
            return int(file.metadata.num_rows)

    def log(self, name: str, *, optional: bool = False) -> list[dict[str, Any]]:
        """The lines of a JSON-lines log under `data/policy`; none if an optional one is missing.

        Raises:
            ArtifactError: the log is missing or empty, or a line is no JSON.
        """
        path = self.data / "policy" / name
        try:
            lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
        except FileNotFoundError:
            if optional:
                return []
            raise ArtifactError(f"{path} is missing: run `python -m stages.train`") from None
        except ValueError as error:
            raise ArtifactError(f"{path} is damaged ({error}): run `python -m stages.train` again") from None
        if not lines and not optional:
            raise ArtifactError(f"{path} is damaged (it is empty): run `python -m stages.train` again")
        return lines


@contextmanager
def _readable(path: Path) -> Iterator[pq.ParquetFile]:
    with readable_table(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
        yield file
