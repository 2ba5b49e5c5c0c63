"""Prefect's server is killed while the pipeline runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event

import pytest

from flows.ui import free_port, prefect_server, running, wait_ready
from tests.flows.test_night import PIPELINE, STAGE, STAGES
from tests.flows.tiny import ROOT, make_repository

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_the_stages_go_on_without_the_server_each_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_repository(tmp_path / "root")
    (root / "dvc.yaml").write_text(PIPELINE)
    (root / "stage.sh").write_text(STAGE)
    (root / "hold-two").touch()
    monkeypatch.chdir(root)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    server = prefect_server(free_port(0))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PREFECT_API_URL": f"{server.address}/api"}
    with running(server) as process:
        wait_ready(server, process, Event())
        flow = subprocess.Popen(
            [sys.executable, "-m", "flows.pipeline"],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        while not (root / "in-two").exists():
            assert flow.poll() is None
            time.sleep(0.2)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        begin = time.monotonic()
        (root / "hold-two").unlink()
        said, told = flow.communicate()
    assert flow.returncode == 0, told
    assert "Prefect's server has gone" in said and "Traceback" not in said
    assert [line.split()[0] for line in said.splitlines()[-3:]] == list(STAGES)
    assert (root / "ran").read_text().split() == list(STAGES), "none ran twice"
    assert time.monotonic() - begin < 300, "a server that is gone must not hold the flow up"
