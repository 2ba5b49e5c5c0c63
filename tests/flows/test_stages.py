"""One DVC stage: what is told apart in DVC's words, and the real thing in a small repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from flows.stages import Done, LockHeldError, StageFailedError, outcome_of, run_dvc_stage, stage_names

PIPELINE = """
stages:
  one:
    cmd: cp params.yaml one.txt
    params: [seed]
    outs: [one.txt]
  two:
    cmd: test ! -e bad || exit 2; cp one.txt two.txt
    deps: [one.txt]
    outs: [two.txt]
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / ".dvc").mkdir()
    config = Path(__file__).parents[2] / ".dvc" / "config"
    (tmp_path / ".dvc" / "config").write_text(config.read_text())
    (tmp_path / "dvc.yaml").write_text(PIPELINE)
    (tmp_path / "params.yaml").write_text("seed: 1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.timeout(120)
def test_a_stage_runs_once_and_then_only_after_a_change(repository: Path) -> None:
    said: list[str] = []
    assert run_dvc_stage("one", say=said.append) == Done("one", "ran")
    assert run_dvc_stage("one", say=said.append) == Done("one", "unchanged")
    assert any("Running stage 'one'" in line for line in said)
    (repository / "bad").write_text("")
    with pytest.raises(StageFailedError, match="two: failed to reproduce") as caught:
        run_dvc_stage("two", say=said.append)
    assert caught.value.code == 2
    assert not isinstance(caught.value, LockHeldError)


def test_a_held_lock_is_told_from_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "python"
    program.write_text(
        "#!/bin/sh\necho 'ERROR: Unable to acquire lock. Most likely another DVC process is running'\nexit 1\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr("flows.stages.sys.executable", str(program))
    with pytest.raises(LockHeldError, match="one: Unable to acquire lock"):
        run_dvc_stage("one", say=lambda line: None)


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        ("Running stage 'one':", "ran"),
        ("Stage 'one' didn't change, skipping", "unchanged"),
        ("Stage 'one' is cached - skipping run, checking out outputs", "restored"),
        ("Running stage 'other':", "unchanged"),
    ],
)
def test_outcomes(line: str, outcome: str) -> None:
    assert outcome_of("one", ["", line]) == outcome


def test_stages_come_in_the_order_of_the_file(repository: Path) -> None:
    assert stage_names() == ["one", "two"]
