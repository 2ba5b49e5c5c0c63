"""DVC remotes: what one clone pushed, another pulls, and then there is nothing left to run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.flows.tiny import ROOT, git, make_repository


def dvc(directory: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "dvc", *arguments]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


PIPELINE = """
stages:
  one:
    cmd: mkdir -p data reports/metrics; cp params.yaml data/one; echo '{"seed":1}' > reports/metrics/one.json
    params: [seed]
    outs: [data/one]
    metrics: [reports/metrics/one.json]
  report:
    cmd: mkdir -p reports/plots reports/viewer; tee reports/index.html reports/plots/a.svg reports/viewer/b < data/one
    deps: [data/one, reports/metrics/one.json]
    outs: [reports/index.html, reports/viewer]
    plots: [reports/plots]
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_second_clone_pulls_what_the_first_pushed_and_runs_nothing(tmp_path: Path) -> None:
    first, second, remote = make_repository(tmp_path / "first"), tmp_path / "second", tmp_path / "remote"
    (first / "dvc.yaml").write_text(PIPELINE)
    (first / ".gitignore").write_text((ROOT / ".gitignore").read_text())
    dvc(first, "remote", "add", "--default", "storage", str(remote))
    assert "Running stage 'report'" in dvc(first, "repro")
    git(first, "add", ".")
    git(first, "commit", "--quiet", "-m", "run")
    dvc(first, "push")

    git(tmp_path, "clone", "--quiet", str(first), str(second))
    assert not (second / "data").exists() and not (second / "reports").exists(), "git has none of it"
    dvc(second, "pull")
    made = ("data/one", "reports/metrics/one.json", "reports/index.html", "reports/plots/a.svg", "reports/viewer/b")
    for name in made:
        assert (second / name).read_bytes() == (first / name).read_bytes()
    assert "Running stage" not in dvc(second, "repro")

    (second / "params.yaml").write_text("seed: 2\n")
    assert "Running stage 'report'" in dvc(second, "repro")
    changed = json.loads(dvc(second, "params", "diff", "--json"))
    assert changed["params.yaml"]["seed"] == {"old": 1, "new": 2, "diff": 1}
