"""A `dvc repro` that finds nothing to do, beside DVC's own floor.

Both pipelines stand in scratch repositories. Ours has this repository's `dvc.yaml`, params and code, with small files
in place of what the stages make; the floor has as many stages, dependencies and outputs, each one tiny file, and no
code. Both are committed as if they had run; the command and the version are the same.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.bench.speed.figures import Figure, at_least
from tests.bench.speed.machine import ROOT
from tests.bench.speed.timing import Load, Scale, in_turn, middle, times_faster

NO_OP = "up to date"
_KINDS = ("deps", "outs", "metrics", "plots")
_REPRO = [sys.executable, "-m", "dvc", "repro"]


def measure(scale: Scale) -> list[Figure]:
    """The figures of the family."""
    with tempfile.TemporaryDirectory() as scratch:
        ours = make_ours(Path(scratch) / "ours", _pipeline())
        bare = make_floor(Path(scratch) / "floor", _pipeline())
        loads = {"ours": Load(lambda: repro(ours)), "floor": Load(lambda: repro(bare))}
        seconds = in_turn(loads, min(5, scale.repeats), time.perf_counter)
    value, spread = middle(seconds["ours"])
    stages = _pipeline()["stages"]
    listed = sum(len(list(paths(stage, kind))) for stage in stages.values() for kind in _KINDS)
    return [
        Figure(
            name="dvc no-op",
            family="dvc",
            title="dvc repro with nothing to do",
            value=value,
            unit="s",
            spread=spread,
            reference=f"DVC alone, {len(stages)} stages, {listed} tiny files: {middle(seconds['floor'])[0]:.2f} s",
            ratio=times_faster(seconds["ours"], seconds["floor"]),
            targets=(at_least(0.5, "ratio"),),
            note="a ratio of 0.5 is twice the floor",
        )
    ]


def _pipeline() -> dict[str, Any]:
    pipeline: dict[str, Any] = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))
    return pipeline


def paths(stage: Mapping[str, Any], kind: str) -> Iterator[str]:
    """The files that a stage lists under one heading."""
    for item in stage.get(kind, ()):
        yield item if isinstance(item, str) else next(iter(item))


def make_ours(root: Path, pipeline: Mapping[str, Any]) -> Path:
    """This repository's pipeline with small outputs."""
    root.mkdir(parents=True)
    for name in ("dvc.yaml", "params.yaml"):
        shutil.copy(ROOT / name, root / name)
    made = {p for stage in pipeline["stages"].values() for kind in _KINDS[1:] for p in paths(stage, kind)}
    for path in sorted(made):
        _write(root / path if Path(path).suffix else root / path / "part.txt", path)
    needed = {p for stage in pipeline["stages"].values() for p in paths(stage, "deps")}
    for path in sorted(needed):
        source, target = ROOT / path, root / path
        if target.exists() or any(Path(path).is_relative_to(other) for other in made):
            continue
        if source.is_dir():
            shutil.copytree(
                source, target, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True, copy_function=_copy
            )
        else:
            _copy(source, target)
    return _committed(root)


def make_floor(root: Path, pipeline: Mapping[str, Any]) -> Path:
    """The floor's repository."""
    root.mkdir(parents=True)
    shutil.copy(ROOT / "params.yaml", root / "params.yaml")
    tiny, files = floor(pipeline)
    for path in files:
        _write(root / path, path)
    (root / "dvc.yaml").write_text(yaml.safe_dump(tiny, sort_keys=False), encoding="utf-8")
    return _committed(root)


def floor(pipeline: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A pipeline with as many stages, dependencies, outputs and params, joined alike, and its files."""
    names: dict[str, str] = {}
    stages = {}
    for name, stage in pipeline["stages"].items():
        lists = {kind: [_renamed(item, names) for item in stage[kind]] for kind in _KINDS if kind in stage}
        stages[name] = {"cmd": "false", **lists, "params": stage.get("params", [])}
    return {"stages": stages}, list(names.values())


def _renamed(item: Any, names: dict[str, str]) -> Any:
    if isinstance(item, dict):
        return {_renamed(next(iter(item)), names): next(iter(item.values()))}
    return names.setdefault(item, f"file_{len(names)}.txt")


def _committed(root: Path) -> Path:
    """A repository in which DVC believes that every stage has run."""
    (root / ".dvc").mkdir()
    shutil.copy(ROOT / ".dvc" / "config", root / ".dvc" / "config")
    _run(["git", "init", "--quiet"], root)
    _run([sys.executable, "-m", "dvc", "commit", "--force", "--quiet"], root)
    repro(root)
    return root


def repro(root: Path) -> None:
    """Run `dvc repro`.

    Raises:
        RuntimeError: there was something to do.
    """
    said = _run(_REPRO, root)
    if NO_OP not in said:
        raise RuntimeError(f"dvc repro in {root} was to find nothing to do and said: {said[-300:]}")


def _run(command: list[str], root: Path) -> str:
    quiet = {**os.environ, "DVC_NO_ANALYTICS": "1", "PYTHONPATH": ""}
    done = subprocess.run(command, cwd=root, env=quiet, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} failed in {root}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n", encoding="utf-8")


def _copy(source: Any, target: Any) -> None:
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
