"""`python -m tests.servers.load.repeat ROWS SERVER…`: the digest of so many episodes of each of the servers.

Each is played by its reference calls in process, through the run loop, with everything that a record and its reward
say in the digest.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence

from servers.kernel.catalog import load_catalog
from stages.episodes import episode_to_row
from stages.evaluate.row_benchmark import RowBenchmark
from tests.servers.load.batch import SCORER, play, rows_of
from tests.servers.load.processes import ROOT


def digests(servers: Sequence[str], rows_each: int, times: int) -> list[str]:
    """A digest of all episodes for each time that they are played in this process."""
    found = []
    for _ in range(times):
        digest = hashlib.sha256()
        for name in servers:
            catalog = load_catalog((name,))
            rows = rows_of(catalog, name, rows_each)
            batch = play(RowBenchmark(name, catalog, rows, SCORER, 12), {}, width=4)
            assert all(episode.reward.outcome for episode in batch.episodes), name
            for episode in batch.episodes:
                digest.update(json.dumps(episode_to_row(episode), sort_keys=True).encode())
        found.append(digest.hexdigest())
    return found


def in_processes(servers: Sequence[str], rows_each: int) -> list[str]:
    """The digests of two other processes, which hash strings differently."""
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.servers.load.repeat", str(rows_each), *servers],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        for seed in ("1", "2")
    ]
    return [process.communicate()[0].strip() for process in started]


if __name__ == "__main__":
    print(*digests(sys.argv[2:], int(sys.argv[1]), 1))
