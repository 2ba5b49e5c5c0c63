"""Finished runs as DVC experiments, and that a workspace is trained in by one process only."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flows import grid
from flows.experiments import NoRepositoryError, repository, save
from flows.grid import Run, train
from tests.flows.test_remote import dvc
from tests.flows.tiny import ROOT, git, make_repository

PIPELINE = """
stages:
  train:
    cmd: cp params.yaml policy; mkdir -p reports/metrics; echo '{}' > reports/metrics/train.json
    params: [train]
    outs: [policy]
    metrics: [reports/metrics/train.json: {cache: false}]
"""


def made(root: Path, cell: str = "−validity", seed: int = 1) -> Run:
    """A run that is done, in its workspace."""
    base = str(root / "data" / "warm" / "final")
    run = Run(
        cell, seed, {"train": {"policy": {"base": base}, "lr": 0.5}}, root / f"data/ablations/t/validity-{seed}-ab"
    )
    run.metrics.parent.mkdir(parents=True)
    run.metrics.write_text('{"last_reward": 0.25}')
    return run


def said(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout


def state(root: Path) -> tuple[str, ...]:
    """The working tree, the index, the branches and HEAD."""
    asked = (["status", "--porcelain"], ["ls-files", "--stage"], ["branch", "--verbose"], ["stash", "list"])
    return (*(said(root, *arguments) for arguments in asked), (root / "params.yaml").read_text())


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_repository(tmp_path / "root")
    (root / "dvc.yaml").write_text(PIPELINE)
    (root / "params.yaml").write_text("train: {lr: 0.1}\n")
    (root / ".gitignore").write_text("/data/\n/reports/\n/policy\n")
    (root / "code.py").write_text("old = 1\n")
    dvc(root, "repro")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "first")
    monkeypatch.chdir(root)
    return root


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_run_becomes_an_experiment_and_nothing_else_changes(root: Path) -> None:
    (root / "code.py").write_text("new = 2\n")
    (root / "staged.txt").write_text("mine\n")
    git(root, "add", "staged.txt")
    before = state(root)
    run = made(root)
    name = save(run, "rewards", {"reward": 0.75})
    assert name == "rewards-validity-1-ab"
    assert state(root) == before
    first = said(root, "for-each-ref", "refs/exps")
    save(run, "rewards", {"reward": 0.75})
    assert said(root, "for-each-ref", "refs/exps") == first, "the same run gives the same commit"

    shown = json.loads(dvc(root, "exp", "show", "--json"))[1]["experiments"]
    data = {found["name"]: found["revs"][0]["data"] for found in shown}[name]
    assert data["params"]["params.yaml"]["data"]["train"] == {"policy": {"base": "data/warm/final"}, "lr": 0.5}
    metrics = data["metrics"]["reports/metrics/train.json"]["data"]
    assert metrics == {"last_reward": 0.25, "judged": {"reward": 0.75}}

    git(root, "rm", "--cached", "--quiet", "staged.txt")
    git(root, "checkout", "--quiet", "code.py")
    dvc(root, "exp", "apply", name)
    assert (root / "code.py").read_text() == "new = 2\n", "the files as they were when the run ended"
    assert "lr: 0.5" in (root / "params.yaml").read_text()
    dvc(root, "exp", "branch", name, "taken-over")
    assert "taken-over" in said(root, "branch")


def test_where_experiments_have_no_place_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(NoRepositoryError, match="not a git repository"):
        repository()
    git(tmp_path, "init", "--quiet")
    with pytest.raises(NoRepositoryError, match="git says: fatal"):
        repository()
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "first")
    with pytest.raises(NoRepositoryError, match="is no DVC repository"):
        repository()


HOLDER = """
import subprocess, sys
from pathlib import Path
from flows.grid import Run, _alone
run = Run("a", 1, {}, Path(sys.argv[1]))
with _alone(run, print) as lock:
    subprocess.run([sys.executable, "-c", sys.argv[2], sys.argv[1]], pass_fds=(lock,))
"""
FINISH = """
import sys, time
from pathlib import Path
Path(sys.argv[1], "begun").touch()
time.sleep(2)
for name in ("data/rollouts/validation.parquet", "reports/metrics/train.json"):
    path = Path(sys.argv[1], name)
    path.parent.mkdir(parents=True)
    path.touch()
"""


def test_a_training_that_outlives_its_grid_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run("a", 1, {}, tmp_path / "w")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(run.directory), FINISH], env=environment) as holder:
        while not (run.directory / "begun").exists():
            time.sleep(0.05)
        holder.send_signal(signal.SIGKILL)
    heard: list[str] = []
    monkeypatch.setattr(grid, "_train", lambda *_: pytest.fail("trained twice"))
    assert not train(run, say=heard.append)
    assert heard == [f"waiting: a, seed 1 is being trained by another process ({run.directory}/.lock is locked)"]
