"""A repository with a DVC pipeline of two stages that take no time, for tests of what is around them."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
PIPELINE = """
stages:
  one:
    cmd: mkdir -p reports/metrics; cp params.yaml one.txt; echo '{"seed":1}' > reports/metrics/one.json
    params: [seed]
    outs: [one.txt]
    metrics: [reports/metrics/one.json: {cache: false}]
  two:
    cmd: cp one.txt two.txt
    deps: [one.txt]
    outs: [two.txt]
"""


def make_repository(directory: Path) -> Path:
    """A git repository with the pipeline, nothing of it run yet."""
    (directory / ".dvc").mkdir(parents=True)
    git(directory, "init", "--quiet")
    (directory / ".dvc" / "config").write_text((ROOT / ".dvc" / "config").read_text())
    (directory / ".dvc" / ".gitignore").write_text("/config.local\n/tmp\n/cache\n")
    (directory / "dvc.yaml").write_text(PIPELINE)
    (directory / "params.yaml").write_text("seed: 1\n")
    return directory


def git(directory: Path, *arguments: str) -> None:
    who = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
    subprocess.run(["git", *who, *arguments], cwd=directory, check=True, capture_output=True)
