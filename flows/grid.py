"""A grid of training runs: overlays on `params.yaml`, each run in a workspace of its own.

A workspace holds the effective params and links to the pipeline's data, so that the stages run in it as
they would in the repository. A run that has its episodes and metrics is done and is not run again. A training
holds its workspace's lock for as long as it lives, so one that outlives a killed grid is waited for, not doubled.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from stages.artifacts import write_text
from stages.params import ParamsError, check_block, load_params, load_yaml
from stages.profile import merged
from stages.tracking import DATABASE
from stages.tracking.provenance import TAGS

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
        """The validation episodes."""
        return self.directory / "data" / "rollouts" / "validation.parquet"

    @property
    def metrics(self) -> Path:
        """The training's figures, which it writes last."""
        return self.directory / "reports" / "metrics" / "train.json"

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to train."""
        return self.episodes.exists() and self.metrics.exists()

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
    try:
        path.stat()
    except (OSError, ValueError):
        known = ", ".join(sorted(found.stem for found in GRIDS.glob("*.yaml")))
        raise ParamsError(f"there is no grid {name[:80]!r}: give a YAML file or one of {known}") from None
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


def train(
    run: Run,
    *,
    keep_weights: bool = False,
    tags: Mapping[str, str] | None = None,
    say: Callable[[str], None] = print,
) -> bool:
    """Train in the run's workspace; False if that had been done before.

    Args:
        run: what to train.
        keep_weights: whether the weights stay when it is done.
        tags: what else the MLflow run of the training is tagged with.
        say: hears that a training of this run which is still going on is waited for.

    Raises:
        GridError: training failed; the message ends with what it said last.
    """
    with _alone(run, say) as lock:
        if ran := not run.finished:
            _prepare(run)
            _train(run, tags or {}, lock)
        if not keep_weights:
            for weights in ("sft", "final"):
                shutil.rmtree(run.directory / "data" / "policy" / weights, ignore_errors=True)
    return ran


@contextmanager
def _alone(run: Run, say: Callable[[str], None]) -> Iterator[int]:
    """Hold the workspace's lock; a process that is given the descriptor holds it on, even if this one is killed."""
    run.directory.mkdir(parents=True, exist_ok=True)
    with (run.directory / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting: {run.cell}, seed {run.seed} is being trained by another process ({file.name} is locked)")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


def _prepare(run: Run) -> None:
    data = run.directory / "data"
    data.mkdir(parents=True, exist_ok=True)
    for name in SHARED:
        link = data / name
        if not link.is_symlink():
            link.symlink_to((Path("data") / name).resolve())
    write_text(run.directory / "params.yaml", yaml.safe_dump(run.params, sort_keys=False, allow_unicode=True))


def _train(run: Run, tags: Mapping[str, str], lock: int) -> None:
    environment = {
        "MLFLOW_TRACKING_URI": f"sqlite:///{DATABASE.resolve()}",
        **os.environ,
        TAGS: json.dumps(dict(tags)),
        "PYTHONPATH": os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
    }
    log = run.directory / "train.log"  # a pipe would end the training with the process that reads it
    with log.open("wb") as file:
        code = subprocess.run(
            [sys.executable, "-m", "stages.train"],
            cwd=run.directory,
            env=environment,
            stdout=file,
            stderr=file,
            pass_fds=(lock,),
        ).returncode
    if code:
        told = log.read_text(encoding="utf-8", errors="replace").splitlines()
        said = [line for line in told if line.strip()]
        raise GridError(f"{run.cell}, seed {run.seed}: {(said or ['training said nothing'])[-1]} ({log})")


def _run(grid: str, cell: str, seed: int, document: Overlay) -> Run:
    """A run whose workspace is named after its cell, its seed and all of its params."""
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:8]
    readable = re.sub(r"[^a-z0-9]+", "-", cell.casefold()).strip("-") or "cell"
    return Run(cell, seed, document, WORK / Path(grid).stem / f"{readable}-{seed}-{digest}")
