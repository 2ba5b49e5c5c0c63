"""A grid of real but tiny trainings: a model of two layers, one server, four rows; killed, resumed, run again whole."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from servers.kernel.catalog import load_catalog
from tests.flows.tiny import ROOT, git
from tests.stages.train.verl.small import write_workspace

PARAMS: dict[str, Any] = {
    "seed": 3,
    "bootstrap": {"servers": ["banking"]},
    "teacher": {},
    "reward": {},
    "train": {
        "policy": {"base": "data/policy_base"},
        "max_prompt": 2000,
        "sft": {"max_steps": 2, "batch_size": 2},
        "grpo": {
            "steps": 1, "batch_size": 1, "group_size": 2,
            "sampling": {"max_new_tokens": 6, "max_context": 3000, "max_rounds": 1},
        },
        "validation": {"every": 1, "before": False, "rows": 2},
    },
}  # fmt: skip
CELLS: dict[str, Any] = {
    "dense": {},
    "outcome": {"reward": {"kind": "outcome"}},
    "−validity": {"reward": {"weights": {"validity": 0.0}}},
    "β = 0": {"reward": {"beta": 0.0}},
}
PIPELINE = """
stages:
  train:
    cmd: .venv/bin/python -m stages.train
    params: [seed, train, reward]
    outs: [data/policy, data/rollouts]
    metrics: [reports/metrics/train.json: {cache: false}]
"""


def make_grid(root: Path, cells: int = 4, seeds: Sequence[int] = (1, 2)) -> Path:
    """A committed DVC repository with the inputs of training and `tiny.yaml`, a grid of so many cells."""
    write_workspace(root, load_catalog(("banking",)))
    params = {**PARAMS, "train": {**PARAMS["train"], "policy": {"base": str(root / "data" / "policy_base")}}}
    grid = {"baseline": "dense", "seeds": list(seeds), "cells": dict(list(CELLS.items())[:cells])}
    (root / "params.yaml").write_text(yaml.safe_dump(params))
    (root / "tiny.yaml").write_text(yaml.safe_dump(grid, allow_unicode=True, sort_keys=False))
    (root / "dvc.yaml").write_text(PIPELINE)
    (root / ".dvc").mkdir()
    (root / ".dvc" / "config").write_text((ROOT / ".dvc" / "config").read_text())
    (root / ".gitignore").write_text(
        "/data/\n/reports/\n/.cache/\n/mlflow.db*\n/mlruns/\n/.dvc/tmp/\n/.dvc/cache/\n*.log\n"
    )
    git(root, "init", "--quiet")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "a pipeline")
    return root


@dataclass
class Grids:
    """Runs of the grid in its repository."""

    root: Path
    tracking: bool = True

    def start(self, *options: str) -> subprocess.Popen[bytes]:
        """The one command, in a process group of its own; what it says is in `grid.log`."""
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        for name in ("PREFECT_API_URL", "PREFECT_HOME", "MLFLOW_TRACKING_URI"):
            environment.pop(name, None)
        if not self.tracking:
            environment["PROVE_TRACKING"] = "off"
        command = [sys.executable, "-m", "flows.ablations", "--grid", "tiny.yaml", *options]
        with self.log.open("wb") as log:
            return subprocess.Popen(
                command, cwd=self.root, env=environment, stdout=log, stderr=log, start_new_session=True
            )

    def run(self, *options: str) -> str:
        """Run it to its end and return what it said."""
        with self.start(*options) as process:
            assert process.wait() == 0, self.log.read_text()
        return self.log.read_text()

    def killed_when(self, finished: int, *options: str) -> dict[Path, int]:
        """Start it, kill its process with SIGKILL in the training after so many; what was done then, with its times.

        Trainings that it had started live on. Its other helpers, such as Prefect's server, are ended.
        """
        process = self.start(*options)
        while len(self.finished()) < finished or not _trainings(process.pid):
            assert process.poll() is None, self.log.read_text()
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        found = self.finished()
        for pid in _members(process.pid) - _trainings(process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return found

    def finished(self) -> dict[Path, int]:
        """The episodes of the finished trainings, with the times when they were written."""
        runs = [path for path in self.work.glob("*") if (path / "reports" / "metrics" / "train.json").exists()]
        episodes = [path / "data" / "rollouts" / "validation.parquet" for path in runs]
        return {path: path.stat().st_mtime_ns for path in sorted(episodes)}

    def outputs(self) -> dict[str, bytes]:
        """The table, the figure and every training's episodes."""
        reports = self.root / "reports" / "ablations"
        kept = [*self.finished(), reports / "tiny.json", reports / "tiny.svg"]
        return {str(path.relative_to(self.root)): path.read_bytes() for path in kept}

    def forget(self) -> None:
        """Remove all that the grid made."""
        shutil.rmtree(self.work)
        shutil.rmtree(self.root / "reports")

    @property
    def work(self) -> Path:
        """Where the trainings are."""
        return self.root / "data" / "ablations" / "tiny"

    @property
    def log(self) -> Path:
        """What the last run said."""
        return self.root / "grid.log"


def _members(group: int, *pattern: str) -> set[int]:
    """The live processes of a group."""
    command = ["pgrep", "-g", str(group), *pattern]
    return {int(line) for line in subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()}


def _trainings(group: int) -> set[int]:
    return _members(group, "-f", "stages.train")
