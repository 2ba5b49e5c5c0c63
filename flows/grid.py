"""A grid of training runs: overlays on `params.yaml`, each run in a workspace of its own.

A workspace holds the effective params and links to the pipeline's data, so that the stages run in it as
they would in the repository. A run that has its validation episodes is done and is not run again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from stages.artifacts import write_text
from stages.params import ParamsError, check_block, load_params, load_yaml
from stages.profile import merged
from stages.tracking import DATABASE

GRIDS = Path(__file__).parent / "grids"
WORK = Path("data/ablations")
SHARED = ("catalog", "dataset", "policy_base", "skills")
GRPO_ALONE = ("grpo", "validation", "supervision", "signal", "monitor", "on_collapse", "rows")
Overlay = dict[str, Any]


class GridError(Exception):
    """A run of the grid failed, or has nothing to be judged by."""


class Grid(BaseModel):
    """What is tried: `cells` are overlays on `base`, which is one on `params.yaml`; `baseline` names a cell.

    Each cell is trained under every one of `seeds`, or under its own of `seeds_of`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    baseline: str
    seeds: Annotated[list[int], Field(min_length=1)]
    seeds_of: dict[str, Annotated[list[int], Field(min_length=1)]] = {}
    base: Overlay = {}
    cells: Annotated[dict[str, Overlay], Field(min_length=1)]

    @model_validator(mode="after")
    def _has_its_baseline(self) -> Self:
        if self.baseline not in self.cells:
            raise ValueError(f"baseline {self.baseline!r} is none of the cells {', '.join(self.cells)}")
        if unknown := [name for name in self.seeds_of if name not in self.cells]:
            raise ValueError(f"seeds_of: {unknown[0]!r} is none of the cells {', '.join(self.cells)}")
        return self


@dataclass(frozen=True, slots=True)
class Run:
    """One training run; `directory` is its workspace."""

    cell: str
    seed: int
    params: Overlay
    directory: Path

    @property
    def episodes(self) -> Path:
        """The validation episodes, which exist when the run is done."""
        return self.directory / "data" / "rollouts" / "validation.parquet"

    def log(self, name: str) -> list[dict[str, Any]]:
        """The lines of a log of the training; none if it wrote none."""
        path = self.directory / "data" / "policy" / f"{name}.jsonl"
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def load_grid(name: str) -> Grid:
    """A grid by its name, or of a YAML file.

    Raises:
        ParamsError: there is no such grid, or it is not well-formed.
    """
    path = Path(name) if name.endswith((".yaml", ".yml")) else GRIDS / f"{name}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(found.stem for found in GRIDS.glob("*.yaml")))
        raise ParamsError(f"there is no grid {name!r}: give a YAML file or one of {known}")
    grid: Grid = check_block(Grid, load_yaml(path), path.name)
    return grid


def warm_start(name: str, grid: Grid, params: Path) -> Run:
    """The supervised phase that all runs of the grid start from; what only GRPO reads does not make another of it."""
    document = merged(merged(load_params(params), grid.base), {"train": {"phases": ["sft"]}})
    train = {key: value for key, value in document["train"].items() if key not in GRPO_ALONE}
    return _run(name, "warm start", 0, {**document, "train": train, "reward": {}})


def runs(name: str, grid: Grid, params: Path, warm: Run) -> Iterator[Run]:
    """Every run of the grid: GRPO from the warm start, cell by cell, each under every seed."""
    start = (warm.directory / "data" / "policy" / "final").resolve()
    given = {"train": {"phases": ["grpo"], "policy": {"base": str(start)}}}
    document = merged(merged(load_params(params), grid.base), given)
    for cell, overlay in grid.cells.items():
        for seed in grid.seeds_of.get(cell, grid.seeds):
            yield _run(name, cell, seed, merged(merged(document, overlay), {"train": {"grpo": {"seed": seed}}}))


def train(run: Run, *, keep_weights: bool = False) -> bool:
    """Train in the run's workspace; False if that had been done before.

    Raises:
        GridError: training failed; the message ends with what it said last.
    """
    if run.episodes.exists():
        return False
    data = run.directory / "data"
    data.mkdir(parents=True, exist_ok=True)
    for name in SHARED:
        link = data / name
        if not link.is_symlink():
            link.symlink_to((Path("data") / name).resolve())
    write_text(run.directory / "params.yaml", yaml.safe_dump(run.params, sort_keys=False, allow_unicode=True))
    environment = {
        "MLFLOW_TRACKING_URI": f"sqlite:///{DATABASE.resolve()}",
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
    }
    done = subprocess.run(
        [sys.executable, "-m", "stages.train"], cwd=run.directory, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise GridError(f"{run.cell}, seed {run.seed}: {(said or ['training said nothing'])[-1]}")
    if not keep_weights:
        for weights in ("sft", "final"):
            shutil.rmtree(data / "policy" / weights)
    return True


def _run(grid: str, cell: str, seed: int, document: Overlay) -> Run:
    """A run whose workspace is named after its cell, its seed and all of its params."""
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:8]
    readable = re.sub(r"[^a-z0-9]+", "-", cell.casefold()).strip("-") or "cell"
    return Run(cell, seed, document, WORK / Path(grid).stem / f"{readable}-{seed}-{digest}")
