"""Tracking: what reaches MLflow, what is refused before, and that no failure of it stops a stage."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from stages.episodes import ScoredEpisode
from stages.records import EpisodeRecord, ExecutedCall, Message, ToolCall
from stages.reward.combine import RewardRecord
from stages.tracking import Target, Tracker, sha256, tracker_for
from stages.tracking.traces import log_episodes, sampled

ROOT = Path(__file__).parents[2]

RUN = """
import sys
import time
from pathlib import Path
from stages.tracking import Tracker

tracker = Tracker(sys.argv[1])
tracker.set_tags({"teacher": "scripted/grounded"})
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
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "dataset").write_text("rows")
    (tmp_path / "dvc.lock").write_text("lock")
    (tmp_path / "dvc.yaml").write_text("stages: {train: {deps: [data/dataset, data/gone, stages/x]}, evaluate: {}}")
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
    assert tags["dvc.lock"] == hashlib.sha256(b"lock").hexdigest() and tags["teacher"] == "scripted/grounded"
    assert ask("select name, digest from datasets") == [("data/dataset", hashlib.sha256(b"rows").hexdigest()[:32])]
    costs = dict(ask("select key, min(value) from metrics where key like 'cost/%' group by key"))
    assert set(costs) == {"cost/seconds", "cost/cpu_seconds", "cost/peak_memory_mb"}
    assert all(value > 0 for value in costs.values())


@pytest.mark.timeout(150)
def test_a_stage_that_is_killed_while_it_creates_the_database_leaves_no_half_of_it(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("MLFLOW_TRACKING_URI", None)
    command = [sys.executable, "-c", RUN, "train"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment) as process:
        while not (tmp_path / ".mlflow.db.new").exists():
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
    assert not (tmp_path / "mlflow.db").exists()
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    with sqlite3.connect(tmp_path / "mlflow.db") as connection:
        assert connection.execute("select status from runs").fetchall() == [("FINISHED",)]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("enabled", [True, False])
def test_metrics_that_are_no_numbers_are_left_out_and_told_once(
    value: float, enabled: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    tracker = Tracker("train", enabled=enabled)
    for step in (12, 13):
        tracker.log_metrics({"reward": 1.0, "loss": value}, step=step)
    tracker.log_metrics({"kl": value, "reward": 2.0})
    assert tracker.latest == {"reward": 2.0}
    told = capsys.readouterr().err.splitlines()
    assert told == [
        f"train: metric loss at step 12 is {value}, not a finite number: it is left out",
        f"train: metric kl is {value}, not a finite number: it is left out",
    ]


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


HALVES = {
    "not a database": b"half a page of something else" * 400,
    "a schema without a version": "create table experiments(experiment_id integer)",
    "tables missing": "create table alembic_version(version_num text); insert into alembic_version values ('abc')",
}


@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES.keys())
def test_a_half_written_database_is_left_alone_and_told_with_the_cure(
    half: str | bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mlflow.db"
    if isinstance(half, bytes):
        file.write_bytes(half)
    else:
        with sqlite3.connect(file) as connection:
            connection.executescript(half)
    before = file.read_bytes()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{file}")
    tracker = Tracker("train")
    tracker.log_metrics({"reward": 1.0})
    tracker.close("FINISHED")
    told = capsys.readouterr().err
    assert "train: not tracked" in told and "is no complete MLflow database" in told and "move it away" in told
    assert file.read_bytes() == before


@pytest.mark.timeout(150)
def test_an_attachment_that_fails_costs_nothing_else_and_secrets_are_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = "sk-planted-5f2c9a71"
    monkeypatch.setenv("PLANTED_API_KEY", secret)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".mlflow.db.new").write_bytes(b"what a killed stage left")

    def broken(target: Target) -> None:
        raise RuntimeError(f"bad key {secret}")

    call = ToolCall("c", "log_in", {"password": secret})
    messages = (
        Message("user", f"log in with {secret}"),
        Message("assistant", secret, (call,)),
        Message("tool", secret),
    )
    executed = ExecutedCall("log_in", {"password": secret}, 1, executed=True, ok=False, result=f'"{secret}"')
    record = EpisodeRecord(messages, (executed,), "hash", "answered")
    reward = RewardRecord(total=0.5, validity=1.0, outcome=False)
    episode = ScoredEpisode("policy", "row-1", 0, "multi_turn", "banking", (), (), record, "hash", (), reward)
    tracker = Tracker("train")
    tracker.attach(broken)
    log_episodes(tracker, [episode])
    tracker.log_params({"teacher": {"api_base": f"http://user:hunter22@host/{secret}"}})
    tracker.set_tags({"note": secret})
    tracker.log_metrics({"reward": 1.0})
    tracker.close("FINISHED")

    told = capsys.readouterr().err
    assert "train: broken not tracked, MLflow failed (RuntimeError: bad key <PLANTED_API_KEY>)" in told
    database = sqlite3.connect(tmp_path / "mlflow.db")
    assert database.execute("select status from runs").fetchall() == [("FINISHED",)]
    assert database.execute("select value from params").fetchall() == [("http://host/<PLANTED_API_KEY>",)]
    spans = dict(database.execute("select name, status from spans").fetchall())
    assert spans == {"policy on row-1": "OK", "reply": "OK", "log_in": "ERROR"}
    assert os.environ["MLFLOW_TRACKING_URI"] == f"sqlite:///{tmp_path}/mlflow.db"
    database.close()
    for path in (path for path in tmp_path.rglob("*") if path.is_file()):
        assert secret.encode() not in path.read_bytes() and b"hunter22" not in path.read_bytes(), path


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


def test_samples_are_even_and_in_order() -> None:
    assert sampled(range(100), 4) == [0, 25, 50, 75]
    assert sampled([1, 2], 4) == [1, 2]
