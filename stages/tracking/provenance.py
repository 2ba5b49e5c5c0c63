"""What a run was made from: the git revision, DVC's lock, the stage's inputs as MLflow datasets, and who started it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from pydantic import TypeAdapter

from stages.tracking.digest import sha256

if TYPE_CHECKING:
    from mlflow.entities import DatasetInput

PIPELINE, LOCK = Path("dvc.yaml"), Path("dvc.lock")
TAGS = "PROVE_RUN_TAGS"
"""The environment variable in which a flow hands a stage the tags of its run, a JSON object of texts."""

_DIGEST_LENGTH = 32  # MLflow takes 36


def revision() -> dict[str, str]:
    """The git revision as MLflow's own tag, and whether the working tree differs from it; empty without git."""
    try:
        commit = _git("rev-parse", "HEAD")
        return {"mlflow.source.git.commit": commit, "git.dirty": str(bool(_git("status", "--porcelain"))).lower()}
    except (OSError, subprocess.SubprocessError):
        return {}


def lock_hash() -> dict[str, str]:
    """The SHA-256 of `dvc.lock` as it was when the stage began; empty where there is none."""
    return {"dvc.lock": sha256(LOCK)} if LOCK.is_file() else {}


def given_tags() -> dict[str, str]:
    """The tags that a flow wants on the run, such as its parent's id.

    Raises:
        ValueError: the variable holds something else.
    """
    return TypeAdapter(dict[str, str]).validate_json(os.environ.get(TAGS) or "{}")


def inputs(stage: str) -> Iterator[DatasetInput]:
    """The data that the stage reads, by `dvc.yaml`, with their digests."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    for path in input_paths(stage):
        source = json.dumps({"uri": path.as_posix()})
        dataset = Dataset(path.as_posix(), sha256(path)[:_DIGEST_LENGTH], "local", source)
        yield DatasetInput(dataset, [InputTag("mlflow.data.context", stage)])


def input_paths(stage: str) -> list[Path]:
    """The stage's dependencies under `data/` that exist; none for a stage that `dvc.yaml` does not know."""
    if not PIPELINE.is_file():
        return []
    known = (yaml.safe_load(PIPELINE.read_text(encoding="utf-8")) or {}).get("stages", {})
    deps = known.get(stage, {}).get("deps", [])
    return [Path(dep) for dep in deps if isinstance(dep, str) and dep.startswith("data/") and Path(dep).exists()]


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True, timeout=20)
    return done.stdout.strip()
