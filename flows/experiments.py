"""Finished runs of a grid as DVC experiments: `dvc exp show` lists them, `dvc exp apply` takes one over.

A DVC experiment is a commit on top of HEAD that one ref under `refs/exps` names. Here it holds the tracked files as
they are, with the parameters and metrics of one run. It is written by git alone, with an index of its own, so that
the working tree, the index and all branches stay as they are. DVC's own ways do not fit: `dvc exp save` wants every
output of the pipeline in the workspace, `dvc exp run --temp` runs all stages again in a copy without `.venv`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import yaml

from flows.grid import Overlay, Run
from stages.artifacts import read_json

PARAMS, METRICS, LOCK = "params.yaml", "reports/metrics/train.json", "dvc.lock"
WHO = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", "flows.ablations"), ("EMAIL", "flows.ablations@localhost"))
}


class NoRepositoryError(Exception):
    """There is no git repository with a pipeline and a commit here; the message says what is missing."""


def repository() -> Path:
    """The top directory of the git repository at hand.

    Raises:
        NoRepositoryError: there is none, it has no commit yet, or it is no DVC repository.
    """
    try:
        top = Path(_git(Path(), "rev-parse", "--show-toplevel"))
        _git(top, "rev-parse", "--verify", "HEAD^{commit}")
    except FileNotFoundError:
        raise NoRepositoryError("git is not installed") from None
    except subprocess.CalledProcessError as error:
        raise NoRepositoryError(f"git says: {error.stderr.strip()[:200]}") from None
    if not (top / ".dvc").is_dir() or not (top / "dvc.yaml").is_file():
        raise NoRepositoryError(f"{top} is no DVC repository")
    return top


def save(run: Run, grid: str, judged: Mapping[str, float]) -> str:
    """Write a finished run as an experiment on top of HEAD and return its name; the same run gives the same commit.

    Args:
        run: the finished run.
        grid: the grid's name.
        judged: its figures under the reward that all cells are judged by; the metrics get them as `judged`.

    Raises:
        NoRepositoryError: there is no place for experiments here.
        subprocess.CalledProcessError: git failed.
    """
    top, name = repository(), name_of(run, grid)
    head = _git(top, "rev-parse", "HEAD")
    files = {
        PARAMS: yaml.safe_dump(_from(top, run.params), sort_keys=False, allow_unicode=True),
        METRICS: json.dumps({**read_json(run.metrics), "judged": dict(judged)}, indent=2) + "\n",
    }
    if Path(LOCK).is_file():
        files[LOCK] = Path(LOCK).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as scratch:
        tree = _tree(top, files, {**os.environ, "GIT_INDEX_FILE": str(Path(scratch) / "index")})
    when = _git(top, "show", "--no-patch", "--format=%cI", "HEAD")
    dated = {**os.environ, **WHO, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
    message = f"{grid}: {run.cell}, seed {run.seed}"
    commit = _git(top, "commit-tree", tree, "-p", head, "-m", message, environment=dated)
    _git(top, "update-ref", "-m", message, _ref(head, name), commit)
    return name


def name_of(run: Run, grid: str) -> str:
    """The experiment's name: that of the workspace after the grid's."""
    return re.sub(r"[^a-zA-Z0-9-]+", "-", f"{grid}-{run.directory.name}").strip("-")


def _ref(head: str, name: str) -> str:
    from dvc.repo.experiments.refs import ExpRefInfo

    return str(ExpRefInfo(head, name))


def _from(top: Path, params: Overlay) -> Overlay:
    """The parameters with the weights to start from named as seen from the repository."""
    policy = params["train"]["policy"]
    base = os.path.relpath(policy["base"], top.resolve())
    return {**params, "train": {**params["train"], "policy": {**policy, "base": base}}}


def _tree(top: Path, files: Mapping[str, str], environment: Mapping[str, str]) -> str:
    """A tree of the tracked files as they are, with these in place of or beside them."""
    _git(top, "read-tree", "HEAD", environment=environment)
    _git(top, "add", "--update", environment=environment)
    for path, text in files.items():
        blob = _git(top, "hash-object", "-w", "--stdin", stdin=text)
        _git(top, "update-index", "--add", "--cacheinfo", f"100644,{blob},{path}", environment=environment)
    return _git(top, "write-tree", environment=environment)


def _git(where: Path, *arguments: str, environment: Mapping[str, str] | None = None, stdin: str = "") -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=where, env=environment, input=stdin, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()
