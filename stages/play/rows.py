"""The dataset's rows, each by its id, from whichever split has it."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from stages.artifacts import DATA, ArtifactError, read_table
from stages.dataset import RL_ROWS, RlRow, rl_row

SPLITS = ("test", "val", "train")


def row_of(identifier: str, fingerprint: str, directory: Path = DATA / "dataset") -> RlRow:
    """The RL row of this id.

    Raises:
        ArtifactError: no split has it, or the dataset is missing or of other servers.
    """
    known: list[str] = []
    for split in SPLITS:
        for plain in read_table(directory / f"{split}.parquet", RL_ROWS, fingerprint):
            if plain["id"] == identifier:
                return rl_row(plain)
            known.append(plain["id"])
    near = get_close_matches(identifier, known, n=3) or known[:3]
    raise ArtifactError(f"no row {identifier[:80]!r} in {directory}; there are {', '.join(near)} and others")
