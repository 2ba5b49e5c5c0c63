"""The nightly flow, started through Prefect's API: killed in each stage, and beside a `dvc repro`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.flows.grids import make_grid
from tests.flows.interfaces import Interfaces
from tests.flows.tiny import ROOT, make_repository

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

STAGES = ("one", "two", "three")
PIPELINE = """
stages:
  one: {cmd: sh stage.sh one params.yaml, params: [seed], outs: [one.txt]}
  two: {cmd: sh stage.sh two one.txt, deps: [one.txt], outs: [two.txt]}
  three: {cmd: sh stage.sh three two.txt, deps: [two.txt], outs: [three.txt]}
"""
STAGE = """touch in-$1
while test -e hold-$1; do sleep 0.2; done
cat $2 > $1.txt
echo $1 >> ran
"""


@pytest.fixture
def night(interfaces: Interfaces, tmp_path: Path) -> Interfaces:
    """A repository whose stages wait as long as there is a file that holds them; one pass of the first is done."""
    root = make_repository(tmp_path / "root")
    (root / "dvc.yaml").write_text(PIPELINE)
    (root / "stage.sh").write_text(STAGE)
    return replace(
        interfaces, root=root, environment=interfaces.environment | {"PREFECT_API_URL": f"{interfaces.prefect}/api"}
    )


@contextmanager
def served(night: Interfaces) -> Iterator[str]:
    """The deployment's id while it is served."""
    with night.program("flows.nightly", "serve", until="serving"):
        yield str(night.ask("/deployments/name/nightly/nightly")["id"])


def until(condition: Callable[[], Any]) -> None:
    while not condition():
        time.sleep(0.2)


def processes(root: Path) -> list[psutil.Process]:
    """All that works in the repository but what serves the deployment."""
    found = []
    for process in psutil.process_iter(["cwd", "cmdline"]):
        here = process.info["cwd"] == str(root) and process.pid != os.getpid()
        if here and "flows.nightly" not in (process.info["cmdline"] or []):
            found.append(process)
    return found


def test_killed_in_each_stage_it_completes_and_runs_what_is_stale_only(night: Interfaces) -> None:
    with served(night) as deployment:
        for stage in STAGES:
            (night.root / f"hold-{stage}").touch()
            run = night.started(deployment)
            until((night.root / f"in-{stage}").exists)
            for process in processes(night.root):
                process.kill()
            assert night.ended(run)["type"] == "CRASHED"
            (night.root / f"hold-{stage}").unlink()
        assert night.ended(night.started(deployment))["type"] == "COMPLETED"
    assert (night.root / "ran").read_text().split() == list(STAGES), "each stage ended once, none ran again"
    assert (night.root / "three.txt").read_text() == (night.root / "params.yaml").read_text()
    (kept,) = (night.root / "reports" / "nightly").iterdir()
    outcomes = [stage["outcome"] for stage in json.loads((kept / "run.json").read_text())["stages"]]
    assert outcomes == ["unchanged", "unchanged", "ran"]


def test_beside_a_dvc_repro_it_waits_and_says_who_holds_the_lock(night: Interfaces) -> None:
    (night.root / "hold-one").touch()
    by_hand = subprocess.Popen([sys.executable, "-m", "dvc", "repro", "one"], cwd=night.root, stdout=subprocess.DEVNULL)
    until((night.root / "in-one").exists)
    with served(night) as deployment:
        run = night.started(deployment)
        wanted = f"held by process {by_hand.pid} ({sys.executable} -m dvc repro one)"
        logs: list[str] = []
        while not any("waiting: one: " in line and wanted in line for line in logs):
            assert night.ask(f"/flow_runs/{run}")["state"]["type"] not in ("FAILED", "COMPLETED"), logs
            logs = [line["message"] for line in night.ask("/logs/filter", {"limit": 200})]
            time.sleep(0.5)
        (night.root / "hold-one").unlink()
        assert by_hand.wait() == 0
        assert night.ended(run)["type"] == "COMPLETED"
    assert (night.root / "ran").read_text().split() == list(STAGES), "what the other command made is not made again"


def test_killed_with_the_process_that_serves_it_the_next_night_runs(night: Interfaces) -> None:
    """As when the machine loses power: nobody tells Prefect that the run has ended."""
    (night.root / "hold-two").touch()
    log = (night.root / "serve.log").open("wb")
    command = [sys.executable, "-u", "-m", "flows.nightly", "serve"]
    with subprocess.Popen(command, cwd=night.root, env=night.environment, stdout=log, stderr=log) as serving:
        until(lambda: "serving" in (night.root / "serve.log").read_text())
        lost = night.started(night.ask("/deployments/name/nightly/nightly")["id"])
        until((night.root / "in-two").exists)
        for process in [psutil.Process(serving.pid), *processes(night.root)]:
            process.kill()
    (night.root / "hold-two").unlink()
    with served(night) as deployment:
        assert night.ended(night.started(deployment))["type"] == "COMPLETED"
        assert night.ended(lost)["type"] == "CRASHED"
        assert "marked as crashed" in (night.root / "flows.nightly.log").read_text()
    assert (night.root / "ran").read_text().split() == list(STAGES)


def test_a_real_stage_that_is_killed_is_tried_again_and_completes(interfaces: Interfaces, tmp_path: Path) -> None:
    root = make_grid(tmp_path / "root", cells=1)
    (root / ".venv").symlink_to(ROOT / ".venv")
    told = {"PREFECT_API_URL": f"{interfaces.prefect}/api", "PROVE_TRACKING": "off"}
    flow = subprocess.Popen(
        [sys.executable, "-m", "flows.pipeline"],
        cwd=root, env=interfaces.environment | told, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    until((root / "data" / ".unfinished" / "train").exists)
    trainings = [p for p in processes(root) if p.info["cmdline"][-1:] == ["stages.train"]]
    assert len(trainings) == 1
    trainings[0].kill()
    said, _ = flow.communicate()
    assert flow.returncode == 0, said
    assert re.search(r"exited with (-9|137)", said), f"137 where the shell stays between DVC and the stage: {said}"
    assert "Retry 1/" in said
    assert said.splitlines()[-1].split()[:2] == ["train", "ran"]
    assert (root / "reports" / "metrics" / "train.json").exists()
    assert not (root / "data" / ".unfinished" / "train").exists()
