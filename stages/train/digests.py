"""A directory of weights that knows whether it is whole: `digests.json` holds the SHA-256 of its other files.

The libraries that read weights and tokenizers notice some damage and take the rest: a chat template that lost its
end gives other prompts, a flipped bit another policy.
"""

from __future__ import annotations

import json
from pathlib import Path

from stages.artifacts import write_json
from stages.tracking.digest import sha256

DIGESTS = "digests.json"


def seal(directory: Path) -> None:
    """Write the digests of a directory's files into it."""
    write_json(directory / DIGESTS, {path.name: sha256(path) for path in sorted(directory.iterdir())})


def fault(directory: Path, *, skip: str = "") -> str:
    """What is wrong with a sealed directory, or ''; files with the suffix `skip` are passed over."""
    try:
        digests = dict(json.loads((directory / DIGESTS).read_text(encoding="utf-8")))
        for name, digest in digests.items():
            if not (skip and name.endswith(skip)) and sha256(directory / name) != digest:
                return f"{name} has changed since it was written"
    except (OSError, ValueError, TypeError) as error:
        return f"{DIGESTS} or what it names can't be read, {type(error).__name__}: {error}"
    return ""
