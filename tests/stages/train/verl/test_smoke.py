"""The whole cluster engine once, on a CPU: one step in every run of the tests, the rest with `make test-nightly`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("verl")
pytest.importorskip("transfer_queue")

from tests.bench.verl_smoke import collapsing, short, smoke


def check_step(line: dict[str, Any]) -> None:
    assert line["episodes"] == 8 and line["masked"] == 0
    assert line["reward_demonstrated"] == pytest.approx(1.3), "a demonstration was played and solved its row"
    assert line["kl"] >= 0 and line["grad_norm"] > 0
    assert line["sampler_correlation"] > 0.99, "the sampler has the trainer's weights"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_one_step_from_rollouts_to_weights_that_play(tmp_path: Path) -> None:
    found = short(tmp_path)
    (line,) = found["steps"]
    check_step(line)
    assert found["moved"] > 0, "the merged weights are not those that it started from"
    assert [entry["step"] for entry in found["validation"]] == [1]
    assert len(found["rewards"]) == 2


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_a_run_is_killed_resumed_merged_and_played(tmp_path: Path) -> None:
    found = smoke(tmp_path)
    assert 1 <= found["stopped_at"] < 3, "it was killed after a checkpoint"
    assert [line["step"] for line in found["steps"]] == [1, 2, 3], "and went on with the next step"
    assert found["validation"][-1]["step"] == 3
    for line in found["steps"]:
        check_step(line)
        assert line["calls"] > 0, "sessions were called"
    assert found["moved"] > 0 and len(found["rewards"]) == 2


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_the_warm_start_and_lessons_between_two_phases_are_verls_own(tmp_path: Path) -> None:
    found = smoke(tmp_path, "ets")
    assert found["lines"]["sft_log.jsonl"] == 16
    assert [line["step"] for line in found["steps"]] == [1, 2, 3]
    assert found["lines"].get("lessons_1_log.jsonl", 0) > 0, "what had failed in the first step was imitated"
    assert found["steps"][1]["kl"] == pytest.approx(0, abs=1e-6), "the second phase is held to where it started"


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_some_members_of_a_group_are_sampled_under_a_hint(tmp_path: Path) -> None:
    found = smoke(tmp_path, "hint")
    assert [line["step"] for line in found["steps"]] == [1, 2, 3]
    assert all("reward_hinted" in line for line in found["steps"])


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_a_run_that_collapses_again_and_again_ends_where_it_began(tmp_path: Path) -> None:
    found = collapsing(tmp_path)
    assert [alarm["action"] for alarm in found["alarms"]] == ["rollback"] * 3 + ["stop"]
    rates = [alarm["lr"] for alarm in found["alarms"]]
    assert rates == pytest.approx([5e-4, 2.5e-4, 1.25e-4, 1.25e-4]), "each new start has half the rate"
    assert found["moved"] == 0 and found["rewards"], "the weights that it began with, and they play"
