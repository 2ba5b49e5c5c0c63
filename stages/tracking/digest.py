"""Digests of files and of directories, the same wherever they lie."""

from __future__ import annotations

import hashlib
from pathlib import Path


def sha256(path: Path) -> str:
    """Digest of a file, or of a directory's relative names and contents."""
    if path.is_file():
        return _of_file(path, "sha256")
    digest = hashlib.sha256()
    for item in sorted(item for item in path.rglob("*") if item.is_file()):
        digest.update(f"{item.relative_to(path).as_posix()}\0{sha256(item)}\n".encode())
    return digest.hexdigest()


def md5(path: Path) -> str:
    """MD5 of a file: its name in DVC's cache, no protection against anyone."""
    return _of_file(path, "md5")


def _of_file(path: Path, kind: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()
