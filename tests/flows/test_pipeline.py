"""The flow's decisions, without a Prefect server: order, stopping at a failure, what is worth a retry."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from flows import pipeline as flow
from flows.artefacts import Result, stage_row
from flows.stages import Done, InfrastructureError, LockHeldError, StageFailedError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The stages that ran; `train` fails with bad params."""
    ran: list[str] = []

    def run(stage: str, force: bool, root: Path) -> Done:
        ran.append(stage)
        if stage == "train":
            raise StageFailedError("train: bad params", 2)
        return Done(stage, "ran" if force else "unchanged")

    monkeypatch.setattr(flow, "run_stage_task", run)
    monkeypatch.setattr(flow, "get_run_logger", lambda: SimpleNamespace(error=lambda text: None))
    monkeypatch.setattr(flow, "publish", lambda results, root: ran.append(f"{len(results)} published"))
    return ran


def test_the_first_failure_ends_the_flow_and_is_published_before(stages: list[str]) -> None:
    with pytest.raises(flow.PipelineFailedError, match="train: bad params") as caught:
        flow.pipeline.fn(["validate", "train", "evaluate", "report"])
    assert stages == ["validate", "train", "4 published"]
    assert [(r.stage, r.outcome, r.code) for r in caught.value.results] == [
        ("validate", "unchanged", 0),
        ("train", "failed", 2),
        ("evaluate", "not tried", 0),
        ("report", "not tried", 0),
    ]


def test_force_is_passed_on(stages: list[str]) -> None:
    assert [r.outcome for r in flow.pipeline.fn(["discover"], force=True)] == ["ran"]


@pytest.mark.parametrize(
    ("error", "tries", "again"),
    [
        (LockHeldError("held"), 1, True),
        (LockHeldError("held"), 8, True),
        (InfrastructureError("killed"), 3, True),
        (InfrastructureError("killed"), 4, False),
        (StageFailedError("no"), 1, False),
        (StageFailedError("bad params", 2), 1, False),
    ],
)
def test_what_is_worth_a_retry(error: Exception, tries: int, again: bool) -> None:
    assert flow.is_retryable(None, SimpleNamespace(run_count=tries), SimpleNamespace(data=error)) is again


def test_a_row_of_the_table_names_the_outputs(tmp_path: Path) -> None:
    (tmp_path / "dvc.lock").write_text(
        "stages: {one: {outs: [{path: data/a, md5: 0123456789abcdef0123456789abcdef.dir, size: 2500}]}}"
    )
    assert stage_row(Result("one", "ran", 61.0), tmp_path) == {
        "stage": "one",
        "outcome": "ran",
        "time": "1 min 01 s",
        "outputs": "data/a (2.5 kB, md5 01234567)",
        "failure": "",
    }
    assert stage_row(Result("two", "not tried", 0.0), tmp_path)["outputs"] == ""


def test_an_unknown_stage_is_bad_usage(tmp_path: Path) -> None:
    (tmp_path / "dvc.yaml").write_text("stages: {one: {cmd: 'true'}}")
    command = [sys.executable, "-m", "flows.pipeline", "--until", "nine"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PREFECT_HOME": str(tmp_path), "COLUMNS": "200"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "unknown stage 'nine'; there are one" in done.stderr
