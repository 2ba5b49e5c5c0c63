"""Tracking: what reaches MLflow, what is refused before, and that no failure of it stops a stage."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stages.tracking import MetricError, Tracker, sha256, tracker_for

ROOT = Path(__file__).parents[2]

RUN = """
import sys
from pathlib import Path
from stages.tracking import Tracker

tracker = Tracker(sys.argv[1])
tracker.log_params({"seed": 7, "train": {"optim": {"lr": 0.1}, "note": "x" * 9000}})
tracker.log_metrics({f"loss/{n} @ -->": n / 10 for n in range(1200)}, step=3)
tracker.log_metrics({"reward": 0.5})
tracker.log_hashes([Path("out")])
tracker.close("FINISHED")
"""


@pytest.mark.timeout(150)
def test_two_stages_may_create_the_database_at_once_and_all_they_tell_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.txt").write_text("a")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("MLFLOW_TRACKING_URI", None)
    command = [sys.executable, "-c", RUN]
    both = [
        subprocess.Popen([*command, stage], cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
        for stage in ("train", "evaluate")
    ]
    for process in both:
        _, errors = process.communicate(timeout=140)
        assert (process.returncode, errors) == (0, "")

    def ask(query: str) -> list[tuple[Any, ...]]:
        return sqlite3.connect(tmp_path / "mlflow.db").execute(query).fetchall()

    found = ask("select e.name, r.status from runs r join experiments e using (experiment_id)")
    assert sorted(found) == [("prove/evaluate", "FINISHED"), ("prove/train", "FINISHED")]
    assert ask("select value from params where key = 'train.optim.lr'") == [("0.1",)] * 2
    assert ask("select count(*) from metrics where step = 3") == [(2400,)]
    assert ask("select value, step from metrics where key = 'reward'") == [(0.5, 0)] * 2
    tags = dict(ask("select key, value from tags"))
    assert len(tags["sha256/out"]) == 64
    assert tags["mlflow.source.name"] in ("stages.train", "stages.evaluate")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("enabled", [True, False])
def test_metrics_that_are_no_numbers_are_refused(value: float, enabled: bool) -> None:
    tracker = Tracker("train", enabled=enabled)
    with pytest.raises(MetricError, match=r"metric loss at step 12 is (nan|-?inf), not a finite number"):
        tracker.log_metrics({"reward": 1.0, "loss": value}, step=12)
    assert tracker.latest == {}


def test_a_broken_database_is_told_once_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/file/mlflow.db")
    tracker = Tracker("train")
    tracker.log_metrics({"reward": 1.0})
    tracker.close("FINISHED")
    tracker.close("FINISHED")
    assert capsys.readouterr().err.count("train: not tracked, MLflow failed") == 1


def test_tracking_can_be_switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVE_TRACKING", "off")
    monkeypatch.chdir(tmp_path)
    tracker = tracker_for("train")
    tracker.log_metrics({"reward": 1.0})
    tracker.close("FINISHED")
    assert tracker.latest == {"reward": 1.0}
    assert list(tmp_path.iterdir()) == []


def test_hashes_see_contents_and_names_and_not_the_place(tmp_path: Path) -> None:
    for place, name, text in (("a", "x", "1"), ("b", "x", "1"), ("c", "y", "1"), ("d", "x", "2")):
        (tmp_path / place).mkdir()
        (tmp_path / place / name).write_text(text)
    first, same, renamed, changed = (sha256(tmp_path / place) for place in "abcd")
    assert first == same
    assert len({first, renamed, changed}) == 3
