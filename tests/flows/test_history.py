"""Kept runs: what is copied, and that pruning takes old runs and nothing else."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from flows.artefacts import Result
from flows.history import keep, prune
from flows.notify import BlockNameError, body_of, checked, subject_of

NIGHT = datetime(2026, 3, 2, 5, 0, tzinfo=timezone(timedelta(hours=2)))


def test_a_run_keeps_reports_and_what_brings_its_data_back(tmp_path: Path) -> None:
    root, history = tmp_path / "root", tmp_path / "history"
    (root / "reports" / "metrics").mkdir(parents=True)
    (root / "reports" / "metrics" / "train.json").write_text("{}")
    (root / "dvc.lock").write_text("lock")
    results = [Result("train", "failed", 2.0, 1, "train: no")]
    kept = keep(results, root, NIGHT, {"profile": ""}, history)
    assert kept == history / "2026-03-02T03-00-00Z"
    assert {p.relative_to(kept).as_posix() for p in kept.rglob("*")} == {
        "run.json", "dvc.lock", "metrics", "metrics/train.json",
    }  # fmt: skip
    told = json.loads((kept / "run.json").read_text())
    assert told["good"] is False and told["begun"] == "2026-03-02T03:00:00+00:00"
    assert told["stages"][0]["why"] == "train: no"


def test_pruning_takes_the_oldest_runs_and_leaves_strangers(tmp_path: Path) -> None:
    for day in range(5):
        keep([], tmp_path, datetime(2026, 3, 1 + day, tzinfo=UTC), {}, tmp_path / "h")
    (tmp_path / "h" / "smoke").mkdir()
    assert [path.name[:10] for path in prune(2, tmp_path / "h")] == ["2026-03-01", "2026-03-02", "2026-03-03"]
    left = {path.name[:10] for path in (tmp_path / "h").iterdir()}
    assert left == {"2026-03-04", "2026-03-05", "smoke"}
    assert prune(2, tmp_path / "h") == []


def test_words_of_a_run() -> None:
    good, bad = Result("one", "ran", 61.0), Result("two", "failed", 1.0, 1, "two: no space")
    assert subject_of([good], "") == "PROVE pipeline: up to date"
    assert subject_of([good, bad], "smoke") == "PROVE pipeline, profile smoke: two failed"
    assert body_of([good, bad]) == "one: ran, 1 min 01 s\ntwo: failed, 1 s (two: no space)"


@pytest.mark.parametrize("name", ["nightly", "a/b/c", "../x", "Slack/x", "a/"])
def test_names_of_blocks(name: str) -> None:
    assert checked("") == "" and checked("custom-webhook/nightly") == "custom-webhook/nightly"
    with pytest.raises(BlockNameError, match="TYPE/NAME"):
        checked(name)
