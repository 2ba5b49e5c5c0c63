"""The last runs of a scheduled pipeline: copies of what they reported, each under the time when it began.

`reports/nightly/2026-03-02T03-00-00Z/` holds `run.json` (outcome of each stage, git revision, parameters), the
metrics, the pages with their plots, `params.yaml` and `dvc.lock`. With the latter two, `git checkout` of the revision
and `dvc checkout` bring back the data and the weights, as long as they are in DVC's cache.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flows.artefacts import Result
from stages.artifacts import replaced_directory, write_json
from stages.tracking.provenance import revision

HISTORY = Path("reports", "nightly")
KEPT = ("reports/metrics", "reports/plots", "reports/index.html", "reports/leaderboard.html", "params.yaml", "dvc.lock")
_NAME = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ")


def keep(
    results: Sequence[Result], root: Path, begun: datetime, parameters: Mapping[str, Any], history: Path = HISTORY
) -> Path:
    """Copy what a run left in `root` and return where it is now; a part that is missing is left out."""
    target = history / begun.astimezone(UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
    told = {
        "begun": begun.astimezone(UTC).isoformat(timespec="seconds"),
        "good": not any(result.code for result in results),
        "parameters": dict(parameters),
        "revision": revision(),
        "stages": [asdict(result) for result in results],
    }
    with replaced_directory(target) as scratch:
        for name in KEPT:
            source, place = root / name, scratch / Path(name).name
            if source.is_dir():
                shutil.copytree(source, place)
            elif source.is_file():
                shutil.copy(source, place)
        write_json(scratch / "run.json", told)
    return target


def prune(count: int, history: Path = HISTORY) -> list[Path]:
    """Remove all runs but the newest `count` and return those that went; nothing else in there is touched."""
    runs = sorted(path for path in history.glob("*") if path.is_dir() and _NAME.fullmatch(path.name))
    gone = runs[: max(0, len(runs) - count)]
    for path in gone:
        shutil.rmtree(path)
    return gone
