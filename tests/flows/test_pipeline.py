"""The flow's decisions, without a Prefect server: order, stopping at a failure, what is worth a retry."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from flows import pipeline as flow
from flows.stages import Done, LockHeldError, StageFailedError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The stages that ran; `train` fails with bad params."""
    ran: list[str] = []

    def run(stage: str, force: bool) -> Done:
        ran.append(stage)
        if stage == "train":
            raise StageFailedError("train: bad params", 2)
        return Done(stage, "ran" if force else "unchanged")

    monkeypatch.setattr(flow, "run_stage_task", run)
    monkeypatch.setattr(flow, "get_run_logger", lambda: SimpleNamespace(error=lambda text: None))
    return ran


def test_the_first_failure_ends_the_flow(stages: list[str]) -> None:
    results = flow.pipeline.fn(["validate", "train", "evaluate", "report"])
    assert stages == ["validate", "train"]
    assert [(r.stage, r.outcome, r.code) for r in results] == [
        ("validate", "unchanged", 0),
        ("train", "failed", 2),
        ("evaluate", "not tried", 0),
        ("report", "not tried", 0),
    ]


def test_force_is_passed_on(stages: list[str]) -> None:
    assert [r.outcome for r in flow.pipeline.fn(["discover"], force=True)] == ["ran"]


def test_only_a_held_lock_is_worth_a_retry() -> None:
    retry = flow.run_stage_task.retry_condition_fn
    assert retry is not None
    assert retry(None, None, SimpleNamespace(data=LockHeldError("held")))  # type: ignore[arg-type]
    assert not retry(None, None, SimpleNamespace(data=StageFailedError("no")))  # type: ignore[arg-type]


def test_an_unknown_stage_is_bad_usage(tmp_path: Path) -> None:
    (tmp_path / "dvc.yaml").write_text("stages: {one: {cmd: 'true'}}")
    command = [sys.executable, "-m", "flows.pipeline", "--until", "nine"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PREFECT_HOME": str(tmp_path), "COLUMNS": "200"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "unknown stage 'nine'; there are one" in done.stderr
