"""SIGKILL exactly between two writes that belong together: the same steps, rows and weights afterwards."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.bench.kills.moments import kill_at
from tests.bench.kills.outcome import content, scratch
from tests.bench.kills.rounds import remove, said, undisturbed
from tests.bench.kills.workspace import OUTPUTS, run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

JOURNAL, CHECKPOINT = "stages.train.journal:Journal", "save_checkpoint"
MOMENTS = {
    "a line of the warm start, no checkpoint yet": kill_at(f"{JOURNAL}.add", 2, "after"),
    "a checkpoint of the warm start": kill_at(f"stages.train.sft:{CHECKPOINT}", 2, "after"),
    "the last checkpoint of the warm start": kill_at(f"stages.train.sft:{CHECKPOINT}", 3, "after"),
    "the weights of the warm start": kill_at("stages.train.policy:Policy.save", 1, "after"),
    "a line of GRPO, its episodes not written": kill_at(f"{JOURNAL}.add", 7, "after"),
    "a step's episodes, no checkpoint yet": kill_at(f"stages.train.grpo:{CHECKPOINT}", 2, "before"),
    "a checkpoint of GRPO": kill_at(f"stages.train.grpo:{CHECKPOINT}", 2, "after"),
    "the last step, the weights not written": kill_at("stages.train.policy:Policy.save", 2, "before"),
    "the policy, the rollouts not written": kill_at("stages.artifacts:write_table", 1, "before"),
    "all outputs, the work not removed": kill_at("stages.artifacts:remove_directory", 1, "before"),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_training_takes_the_same_steps_after_a_kill_behind(pipeline: Path, moment: str) -> None:
    expected = {path: content(path) for path in OUTPUTS["train"]}
    assert run("train", before=MOMENTS[moment]) == -9
    assert Path("data/.unfinished/train").exists()
    assert run("train") == 0, said()
    assert {path: content(path) for path in OUTPUTS["train"]} == expected
    assert not scratch()


def test_work_that_was_half_removed_is_no_work(pipeline: Path) -> None:
    """A removal that is killed must not leave a warm start without its logs behind, to be taken for finished."""
    expected = {path: content(path) for path in OUTPUTS["train"]}
    assert run("train", before=kill_in_removal) == -9
    assert run("train") == 0, said()
    assert {path: content(path) for path in OUTPUTS["train"]} == expected
    assert not scratch()


def test_lessons_of_a_pause_are_counted_after_a_kill(pipeline: Path) -> None:
    document = yaml.safe_load(Path("params.yaml").read_text(encoding="utf-8"))
    document["train"] |= {"supervision": "ets", "signal": {"schedule": [1], "lessons": {"max_steps": 1}}}
    Path("params.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    expected = undisturbed("train")
    remove(OUTPUTS["train"])
    assert run("train", before=kill_at("stages.train.grpo:save_checkpoint", 2, "after")) == -9
    assert run("train") == 0, said()
    assert {path: content(path) for path in OUTPUTS["train"]} == expected


BETWEEN_OUTPUTS = {
    "discover": kill_at("stages.artifacts:write_json", 1, "before"),
    "synthesize": kill_at("stages.artifacts:write_json", 1, "before"),
    "skills": kill_at("stages.artifacts:write_json", 1, "before"),
    "evaluate": kill_at("stages.artifacts:write_json", 1, "before"),
}


@pytest.mark.parametrize("stage", BETWEEN_OUTPUTS)
def test_a_kill_between_two_outputs_is_mended_by_the_next_run(pipeline: Path, stage: str) -> None:
    expected = {path: content(path) for path in OUTPUTS[stage]}
    remove(OUTPUTS[stage])
    assert run(stage, before=BETWEEN_OUTPUTS[stage]) == -9
    assert run(stage) == 0, said()
    assert {path: content(path) for path in OUTPUTS[stage]} == expected
    assert not scratch()


def kill_in_removal() -> None:
    """Die with part of the first large directory that is removed still there."""
    whole: Callable[..., None] = shutil.rmtree

    def removing(path: Any, *arguments: Any, **named: Any) -> None:
        logs = sorted(Path(path).rglob("grpo_log.jsonl"))
        if logs:
            logs[0].unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        whole(path, *arguments, **named)

    shutil.rmtree = removing  # type: ignore[assignment]
