"""Files between stages: written whole or not at all, and stamped with what they were made from.

Tables are Parquet with a declared schema; free-form objects travel as JSON text. Every table's metadata
carries the servers' fingerprint and the params hash of the stage that wrote it, and a reader refuses a
table whose fingerprint is not that of the servers at hand.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

DATA = Path("data")
REPORTS = Path("reports")

STAMP_KEY = b"prove-pipeline"


class ArtifactError(Exception):
    """An artefact is missing, damaged or of other servers; the message says which and what to run."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What an artefact was made from."""

    fingerprint: str
    params: str


@contextmanager
def replaced_directory(target: Path) -> Iterator[Path]:
    """A scratch directory that takes the target's place when the block ends well.

    What a killed writer left behind is put right first: its scratch goes, and a target that it had just
    moved aside comes back.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    old = target.with_name(f".{target.name}.old")
    if old.exists() and not target.exists():
        old.rename(target)
    for stale in target.parent.glob(f".{target.name}.*"):
        shutil.rmtree(stale, ignore_errors=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield scratch
        scratch.chmod(0o755)
        if target.exists():
            target.rename(old)
        scratch.rename(target)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.write_text(text, encoding="utf-8")
    scratch.replace(path)


def write_json(path: Path, value: Any) -> None:
    """Write JSON atomically, keys in the given order; NaN is refused."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Read JSON.

    Raises:
        ArtifactError: the file is missing or damaged.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ArtifactError(f"{path} is missing: run the stage that makes it (see dvc.yaml)") from None
    except ValueError as error:
        raise ArtifactError(f"{path} is damaged ({error}): remove it and run its stage again") from None


def write_table(path: Path, schema: pa.Schema, rows: Sequence[Mapping[str, Any]], stamp: Stamp) -> None:
    """Write rows as Parquet, byte for byte the same for the same rows, schema and stamp."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"fingerprint": stamp.fingerprint, "params": stamp.params})
    table = pa.Table.from_pylist([dict(row) for row in rows], schema.with_metadata({STAMP_KEY: text.encode()}))
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    pq.write_table(table, scratch, compression="zstd", write_page_index=False)
    scratch.replace(path)


def read_table(path: Path, schema: pa.Schema, fingerprint: str | None) -> list[dict[str, Any]]:
    """Read rows, checking their schema and, unless it is None, the fingerprint they were made under.

    Raises:
        ArtifactError: the table is missing, damaged, of another shape or of other servers.
    """
    try:
        table = pq.read_table(path)
    except FileNotFoundError:
        raise ArtifactError(f"{path} is missing: run the stage that makes it (see dvc.yaml)") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise ArtifactError(f"{path} is damaged ({error}): remove it and run its stage again") from None
    found = Stamp(**json.loads((table.schema.metadata or {}).get(STAMP_KEY, b'{"fingerprint": "", "params": ""}')))
    if not table.schema.remove_metadata().equals(schema.remove_metadata()):
        raise ArtifactError(f"{path} has another schema than this version writes: run its stage again")
    if fingerprint is not None and found.fingerprint != fingerprint:
        raise ArtifactError(
            f"{path} was made with servers {found.fingerprint}, these are {fingerprint}: "
            "run `python -m stages.bootstrap diff` for the difference, then the pipeline again"
        )
    return [dict(row) for row in table.to_pylist()]


def dump(value: Any) -> str:
    """Free-form JSON as canonical text: sorted keys, no spaces, NaN refused."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
