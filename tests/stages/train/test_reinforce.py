"""GRPO as the stage runs it: pauses, resumption, and what becomes of a collapse, on a real server and a tiny model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from servers.kernel.catalog import load_catalog
from stages.artifacts import Stamp, write_table
from stages.dataset import RL_ROWS, SFT_ROWS, row_to_plain
from stages.stage import StageContext
from stages.teacher.team import open_teachers
from stages.train.checkpoint import latest_step
from stages.train.journal import Journal
from stages.train.monitor.monitor import Monitor
from stages.train.params import TrainParams
from stages.train.run import Trainer
from tests.stages.synthesize.writing import SERVERS
from tests.stages.train.supervision.material import imitated, right, rows
from tests.test_pipeline import TINY_MODEL

pytestmark = pytest.mark.timeout(300)

TRAIN: dict[str, Any] = {
    "phases": ["grpo"],
    "max_prompt": 2500,
    "policy": {"base": "tiny"},
    "grpo": {
        "steps": 4, "batch_size": 2, "group_size": 2, "kl": 0.0, "checkpoint_every": 1,
        "sampling": {"max_new_tokens": 6, "max_context": 3000, "max_rounds": 2},
        "optim": {"lr": 1e-3, "micro_tokens": 4096},
    },
    "signal": {
        "schedule": [2],
        "lessons": {"batch_size": 2, "epochs": 1, "max_steps": 2, "max_length": 6000, "optim": {"lr": 1e-3}},
    },
    "monitor": {"malformed": 1.0, "patience": 2},
}  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a tiny model and a dataset."""
    where = tmp_path_factory.mktemp("reinforce")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", TINY_MODEL], cwd=where, env=environment, check=True)
    stamp = Stamp(load_catalog(SERVERS).fingerprint, "")
    wanting = [row_to_plain(replace(row, tools=row.tools[:2])) for row in rows() if row.truth and not row.turn][:6]
    for split in ("train", "val"):
        write_table(where / "data/dataset" / f"{split}.parquet", RL_ROWS, wanting, stamp)
    write_table(where / "data/dataset/sft.parquet", SFT_ROWS, [row_to_plain(row) for row in imitated()], stamp)
    return where


@pytest.fixture
def inside(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A fresh working directory over that data."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data/dataset").symlink_to(place / "data/dataset")
    (tmp_path / "tiny").symlink_to(place / "tiny")
    monkeypatch.chdir(tmp_path)
    yield tmp_path


def trainer(**changes: Any) -> Trainer:
    block = {**TRAIN, **changes}
    document = {"bootstrap": {"servers": list(SERVERS)}, "train": block, "reward": {"kind": "outcome"}}
    return Trainer(StageContext("train", TrainParams.model_validate(block), 7, document))


def weights(directory: Path) -> dict[str, torch.Tensor]:
    return load_file(directory / "model.safetensors")


def log(run: Trainer, name: str = "grpo_log") -> dict[int, list[dict[str, Any]]]:
    found = Journal(run.work / f"{name}.jsonl").steps()
    timed = ("seconds", "share_", "tokens_per")
    return {s: [{k: v for k, v in row.items() if not k.startswith(timed)} for row in rows] for s, rows in found.items()}


def test_error_targeted_lessons_are_learnt_between_the_phases(inside: Path) -> None:
    run = trainer(supervision="ets")
    final = run.reinforce(Path("tiny"))
    assert list(log(run)) == [1, 2, 3, 4]
    episodes = Journal(run.work / "train.jsonl").steps()
    failed = {row["row"] for step in (1, 2) for row in episodes[step]}
    assert run.metrics["lessons/2"] == len(failed), "a tiny model fails everything"
    before, after = weights(run.work / "grpo-000002"), weights(run.work / "lessons-000002")
    assert any(not torch.equal(before[name], after[name]) for name in before)
    assert final == run.work / "grpo-000004"


def test_sft_comes_before_the_first_step(inside: Path) -> None:
    run = trainer(supervision="sft_then_rl")
    run.reinforce(Path("tiny"))
    learnt = [row for row in rows() if row.truth and not row.turn][:6]
    assert run.metrics["lessons/0"] == sum(len(right().replies(row)) for row in learnt)
    assert (run.work / "lessons-000000").is_dir()


class _KilledError(Exception):
    pass


def test_a_killed_run_goes_on_as_if_nothing_had_happened(inside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = trainer(supervision="prs")
    whole.reinforce(Path("tiny"))
    wanted, steps = log(whole), weights(whole.work / "grpo-000004")
    whole.work.rename(inside / "whole")
    add = Journal.add
    for fatal in (1, 2, 3, 4):

        def dying(self: Journal, step: int, values: Mapping[str, Any], fatal: int = fatal) -> None:
            if step == fatal and "cursor" in values:
                raise _KilledError
            add(self, step, values)

        monkeypatch.setattr(Journal, "add", dying)
        with pytest.raises(_KilledError):
            trainer(supervision="prs").reinforce(Path("tiny"))
        monkeypatch.setattr(Journal, "add", add)
    again = trainer(supervision="prs")
    again.reinforce(Path("tiny"))
    assert log(again) == wanted
    found = weights(again.work / "grpo-000004")
    assert all(torch.equal(steps[name], found[name]) for name in steps)


def collapsing(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Let the monitor see collapsed replies from the third step on, in the first `times` attempts."""
    forms, seen = Monitor.forms, {"attempt": 0, "calls": 0}
    start = Monitor.__init__

    def begin(self: Monitor, *given: Any) -> None:
        seen["attempt"] += 1
        start(self, *given)

    def watched(self: Monitor, trajectories: Any) -> dict[str, float]:
        found = forms(self, trajectories)
        step = len(log_lines()) + 1
        if step >= 3 and seen["attempt"] <= times:
            found |= {"forms/collapsed": 2.0}
        return found

    def log_lines() -> list[str]:
        path = next(Path("data/.unfinished/train").glob("*/grpo_log.jsonl"), None)
        return path.read_text().splitlines() if path else []

    monkeypatch.setattr(Monitor, "__init__", begin)
    monkeypatch.setattr(Monitor, "forms", watched)


def alarms(run: Trainer) -> list[dict[str, Any]]:
    path = run.work / "collapse_log.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_collapse_is_rolled_back_to_the_last_healthy_step_at_half_the_rate(
    inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collapsing(monkeypatch, times=1)
    run = trainer(on_collapse="rollback", grpo={**TRAIN["grpo"], "kl": 0.01})
    final = run.reinforce(Path("tiny"))
    [alarm] = alarms(run)
    assert (alarm["step"], alarm["since"], alarm["restored"], alarm["action"]) == (4, 3, 2, "rollback")
    assert alarm["lr"] == pytest.approx(5e-4)
    lines = log(run)
    assert list(lines) == [1, 2, 3, 4]
    assert [lines[step][0]["lr"] for step in lines] == pytest.approx([1e-3, 1e-3, 5e-4, 5e-4])
    assert final == run.work / "grpo-000004"


def test_a_run_that_collapses_again_and_again_ends_with_its_last_healthy_weights(
    inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collapsing(monkeypatch, times=99)
    run = trainer(on_collapse="rollback")
    final = run.reinforce(Path("tiny"))
    assert [alarm["action"] for alarm in alarms(run)] == ["rollback"] * 3 + ["stop"]
    assert final == run.work / "stopped-000004"
    assert alarms(run)[-1]["lr"] == pytest.approx(1e-3 / 8)


def test_stop_hands_over_the_last_healthy_checkpoint(inside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collapsing(monkeypatch, times=99)
    run = trainer(on_collapse="stop")
    final = run.reinforce(Path("tiny"))
    kept = load_file(run.work / "grpo_checkpoints/000000/step-000002/model.safetensors")
    found = weights(final)
    assert all(torch.equal(kept[name], found[name]) for name in kept)
    assert [alarm["action"] for alarm in alarms(run)] == ["stop"]


def test_log_goes_on_and_keeps_the_alarm(inside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collapsing(monkeypatch, times=99)
    run = trainer(on_collapse="log")
    assert run.reinforce(Path("tiny")) == run.work / "grpo-000004"
    assert [(a["step"], a["action"]) for a in alarms(run)] == [(4, "log")]
    assert latest_step(run.work / "grpo_checkpoints" / "000000") == 4, "a killed run would not lose unhealthy steps"


def test_a_healthy_run_raises_no_alarm_and_measures_what_the_alarm_needs(inside: Path) -> None:
    run = trainer()
    run.reinforce(Path("tiny"))
    assert alarms(run) == []
    for [line] in log(run).values():
        assert {"forms/call", "forms/collapsed", "text_kl", "repetition"} <= set(line)
    assert log(run)[1][0]["text_kl"] == pytest.approx(0.0, abs=1e-6), "it begins as its own reference"


@pytest.mark.parametrize(("supervision", "opened"), [("none", 0), ("ets", 0), ("prs", 1)])
def test_a_teacher_is_opened_only_for_signals_that_ask_one(
    inside: Path, monkeypatch: pytest.MonkeyPatch, supervision: str, opened: int
) -> None:
    asked: list[str] = []

    def counted(params: Any, stage: str) -> Any:
        asked.append(stage)
        return open_teachers(params, stage)

    monkeypatch.setattr("stages.train.supervision.opening.open_teachers", counted)
    trainer(supervision=supervision).reinforce(Path("tiny"))
    assert len(asked) == opened


def test_parameters_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="rollback needs checkpoints"):
        TrainParams.model_validate({"on_collapse": "rollback"})
    with pytest.raises(ValueError, match=r"signal\.schedule \[50, 150\] must lie before"):
        TrainParams.model_validate({"supervision": "ets", "grpo": {"steps": 100}})
