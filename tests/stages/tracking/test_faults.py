"""Tracking when what it writes to breaks on the way: a database that was cut off, a server that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flows.ui import free_port, mlflow_server, running, wait_ready
from stages.tracking import Tracker
from stages.tracking.database import connect, exclusive

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole database of MLflow's."""
    path = tmp_path_factory.mktemp("database") / "mlflow.db"
    uri = f"sqlite:///{path}"
    with exclusive(uri):
        connect(uri)
    return path


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_a_database_that_was_cut_off_is_left_alone_and_told_with_the_cure(
    share: float, database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, file = database.read_bytes(), tmp_path / "mlflow.db"
    file.write_bytes(whole[: int(share * len(whole))])
    before = file.read_bytes()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{file}")
    tracker = Tracker("train")
    tracker.log_metrics({"reward": 1.0})
    tracker.close("FINISHED")
    told = capsys.readouterr().err
    assert told.count("train: not tracked") == 1
    assert f"{len(before):,} of {len(whole):,} bytes are there): move it away, a new one is made then" in told
    assert file.read_bytes() == before


STAGE = """
import sys, time
from stages import tracking
from stages.tracking import tracker
tracker.FLUSH_SECONDS = 0.0
told = tracker.Tracker("train")
told.log_metrics({"reward": 0.5}, step=1)
print("tracked", told.started, flush=True)
sys.stdin.readline()
for step in range(2, 50):
    told.log_metrics({"reward": 0.5}, step=step)
told.close("FINISHED")
print("done", told.latest, flush=True)
"""


def test_a_server_that_is_killed_while_a_stage_runs_costs_the_tracking_only(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from threading import Event

    root = Path.cwd()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{database}")
    server = mlflow_server(free_port(0))
    environment = {**os.environ, "PYTHONPATH": str(root), "MLFLOW_TRACKING_URI": server.address}
    with running(server) as process:
        wait_ready(server, process, Event())
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        stage = subprocess.Popen([sys.executable, "-c", STAGE], env=environment, text=True, **pipes)
        assert stage.stdout is not None and stage.stdout.readline() == "tracked True\n"
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        begin = time.monotonic()
        said, told = stage.communicate("\n", timeout=200)
    assert (stage.returncode, said) == (0, "done {}\n")
    assert told.count("train: not tracked, MLflow failed") == 1
    assert time.monotonic() - begin < 60, "a server that is gone must not hold the stage up"
