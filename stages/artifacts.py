"""Files between stages: written whole or not at all, and stamped with what they were made from.

Tables are Parquet with a declared schema and a checksum for each page; free-form objects travel as JSON text.
Every table's metadata carries the servers' fingerprint and the params hash of the stage that wrote it, and a reader
refuses a table whose fingerprint is not that of the servers at hand. The params hash says what a table was made from;
whether that is what `params.yaml` says now is for DVC to know.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

DATA = Path("data")
REPORTS = Path("reports")

STAMP_KEY = b"prove-pipeline"

MOST_ROWS, MOST_BYTES = 10_000_000, 16_000_000_000
"""What a table may unpack to, by its own word: a file of some kilobytes can claim more than any memory holds."""


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


def remove_directory(target: Path) -> None:
    """Remove a directory all at once: a killed writer leaves the whole of it, or nothing under its name."""
    gone = target.with_name(f".{target.name}.gone")
    shutil.rmtree(gone, ignore_errors=True)
    if target.exists():
        target.rename(gone)
        shutil.rmtree(gone)


@contextmanager
def replaced_file(path: Path) -> Iterator[Path]:
    """A scratch file that takes the path's place when the block ends well; a killed writer's goes first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for stale in path.parent.glob(f".{path.name}.*"):
        stale.unlink(missing_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield scratch
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


@contextmanager
def unwritable(target: Path, *kinds: type[Exception]) -> Iterator[None]:
    """Tells of a library's own errors (`kinds`) while it writes to a target.

    Raises:
        ArtifactError: one occurred.
    """
    try:
        yield
    except kinds as error:
        told = " ".join(str(error).split())[:200]
        raise ArtifactError(
            f"{target} could not be written ({told}): make room, or let it be written to, and run the stage again"
        ) from error


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with replaced_file(path) as scratch:
        scratch.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write JSON atomically, keys in the given order; a number that is not finite becomes null."""
    write_text(path, json.dumps(_with_nulls(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def _with_nulls(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _with_nulls(item) for key, item in value.items()}
    return [_with_nulls(item) for item in value] if isinstance(value, list | tuple) else value


def read_json(path: Path) -> Any:
    """Read JSON.

    Raises:
        ArtifactError: the file is missing or damaged.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise missing(path) from None
    except (ValueError, RecursionError, IsADirectoryError) as error:
        raise damaged(path, error) from None


def missing(path: Path) -> ArtifactError:
    """The error for an artefact that is not there."""
    return ArtifactError(f"{path} is missing: run the stage that makes it (see dvc.yaml), or `dvc checkout`")


def damaged(path: Path, error: object) -> ArtifactError:
    """The error for an artefact that can't be read; says why and what to do."""
    told = " ".join(str(error).split())[:200]
    return ArtifactError(f"{path} is damaged ({told}): remove it and run its stage again, or `dvc checkout`")


def write_table(path: Path, schema: pa.Schema, rows: Sequence[Mapping[str, Any]], stamp: Stamp) -> None:
    """Write rows as Parquet, byte for byte the same for the same rows, schema and stamp."""
    text = json.dumps({"fingerprint": stamp.fingerprint, "params": stamp.params})
    table = pa.Table.from_pylist([dict(row) for row in rows], schema.with_metadata({STAMP_KEY: text.encode()}))
    with replaced_file(path) as scratch:
        pq.write_table(table, scratch, compression="zstd", write_page_index=False, write_page_checksum=True)


def read_table(path: Path, schema: pa.Schema, fingerprint: str | None) -> list[dict[str, Any]]:
    """Read rows, checking their schema and, unless it is None, the fingerprint they were made under.

    Raises:
        ArtifactError: the table is missing, damaged, of another shape or of other servers.
    """
    with readable_table(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
        difference = schema_difference(file.schema_arrow, schema)
        if difference:
            raise ArtifactError(f"{path} has another schema than this version: {difference}; run its stage again")
        require_fingerprint(path, file.schema_arrow, fingerprint)
        if file.metadata.num_rows > MOST_ROWS or _unpacked(file.metadata) > MOST_BYTES:
            raise damaged(path, f"it unpacks to {file.metadata.num_rows:,} rows, {_unpacked(file.metadata):,} bytes")
        return [dict(row) for row in file.read().to_pylist()]


def _unpacked(metadata: pq.FileMetaData) -> int:
    return sum(metadata.row_group(n).total_byte_size for n in range(metadata.num_row_groups))


@contextmanager
def readable_table(path: Path) -> Iterator[None]:
    """Tells of a Parquet file that the block can't read.

    Raises:
        ArtifactError: the file is missing or damaged.
    """
    try:
        yield
    except FileNotFoundError:
        raise missing(path) from None
    except (pa.ArrowException, OSError, ValueError) as error:
        raise damaged(path, error) from None


def schema_difference(found: pa.Schema, wanted: pa.Schema) -> str:
    """What columns a table lacks, has too many or has in another type, in words; empty if they are the same."""
    if found.remove_metadata().equals(wanted.remove_metadata()):
        return ""
    have, want = dict(zip(found.names, found.types, strict=True)), dict(zip(wanted.names, wanted.types, strict=True))
    told = [f"column {name} is missing" for name in want if name not in have]
    told += [f"column {name} is unknown" for name in have if name not in want]
    told += [f"column {n} is {have[n]}, not {want[n]}" for n in want if n in have and have[n] != want[n]]
    return ", ".join(told) or "its columns are in another order"


def require_fingerprint(path: Path, schema: pa.Schema, fingerprint: str | None) -> None:
    """Check whose servers a table was made with; None accepts any.

    Raises:
        ArtifactError: it was made with others, or doesn't say.
    """
    try:
        found = str(json.loads((schema.metadata or {})[STAMP_KEY])["fingerprint"])
    except (KeyError, TypeError, ValueError):
        found = "that it doesn't name"
    if fingerprint is not None and found != fingerprint:
        raise ArtifactError(
            f"{path} was made with servers {found}, these are {fingerprint}: "
            "run `python -m stages.bootstrap diff` for the difference, then the pipeline again"
        )


def dump(value: Any, plain: Callable[[Any], Any] | None = None) -> str:
    """Free-form JSON as canonical text: sorted keys, no spaces, NaN refused.

    Args:
        value: what is written.
        plain: the JSON for what is none yet; such a value is refused by default.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=plain)
