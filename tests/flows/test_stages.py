"""One DVC stage: what is told apart in DVC's words, and the real thing in a small repository."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from flows.lock import lock_holders
from flows.stages import (
    Done,
    InfrastructureError,
    LockHeldError,
    StageFailedError,
    outcome_of,
    run_dvc_stage,
    stage_names,
)

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


@pytest.fixture
def dvc_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a program in DVC's place that fails with these words."""

    def say(words: str) -> None:
        (tmp_path / "words").write_text(f"{words}\n")
        program = tmp_path / "python"
        program.write_text(f"#!/bin/sh\ncat {tmp_path}/words\nexit 1\n")
        program.chmod(0o755)
        monkeypatch.setattr("flows.stages.sys.executable", str(program))

    return say


def test_a_held_lock_is_told_from_a_failure_with_its_holder(tmp_path: Path, dvc_says: Callable[[str], None]) -> None:
    (tmp_path / ".dvc" / "tmp").mkdir(parents=True)
    (tmp_path / ".dvc" / "tmp" / "lock").write_text(f" {os.getpid()}\n")
    dvc_says("ERROR: Unable to acquire lock. Most likely another DVC process is running")
    with pytest.raises(LockHeldError, match=rf"one: Unable to acquire lock.*held by process {os.getpid()} \("):
        run_dvc_stage("one", root=tmp_path, say=lambda line: None)


def test_holders_are_the_live_processes_of_both_lock_files(tmp_path: Path) -> None:
    locks = tmp_path / ".dvc" / "tmp"
    locks.mkdir(parents=True)
    assert lock_holders(tmp_path) == []
    gone = subprocess.Popen(["true"])
    gone.wait()
    with subprocess.Popen(["sleep", "60"]) as other:
        read = {"data/a": [{"pid": other.pid, "cmd": "dvc repro"}, {"pid": gone.pid, "cmd": "dvc repro"}]}
        (locks / "rwlock").write_text(json.dumps({"write": {}, "read": read}))
        (locks / "lock").write_text("no number")
        assert [tuple(holder) for holder in lock_holders(tmp_path)] == [(other.pid, "sleep 60")]
        other.kill()
    (locks / "rwlock").write_text("{half")
    assert lock_holders(tmp_path) == []


FAILED = "ERROR: failed to reproduce 'one': failed to run: .venv/bin/python -m stages.one, exited with "


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (f"{FAILED}-9", InfrastructureError),
        (f"{FAILED}137", InfrastructureError),
        (f"{FAILED}-15", StageFailedError),
        (f"{FAILED}130", StageFailedError),
        (f"{FAILED}1", StageFailedError),
        (f"discover: no answer (openai/x: connection: refused)\n{FAILED}1", InfrastructureError),
        (f"discover: no answer (openai/x: refused: bad key)\n{FAILED}1", StageFailedError),
    ],
)
def test_faults_of_the_machine_are_told_from_those_of_the_stage(
    words: str, kind: type[Exception], dvc_says: Callable[[str], None]
) -> None:
    dvc_says(words)
    with pytest.raises(StageFailedError) as caught:
        run_dvc_stage("one", say=lambda line: None)
    assert type(caught.value) is kind


def test_a_flow_that_is_stopped_takes_the_stage_along(repository: Path) -> None:
    (repository / "dvc.yaml").write_text("stages: {one: {cmd: 'echo $$ > pid; sleep 120; true'}}")

    def interrupt(line: str) -> None:
        if line.startswith("> "):
            deadline = time.monotonic() + 20
            while not (repository / "pid").exists() and time.monotonic() < deadline:
                time.sleep(0.1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_dvc_stage("one", say=interrupt)
    pid = int((repository / "pid").read_text())
    deadline = time.monotonic() + 20
    while psutil.pid_exists(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not psutil.pid_exists(pid)


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
