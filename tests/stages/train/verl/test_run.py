"""Around the trainer: what is prepared, how a program is watched, and what its journals turn into."""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from servers.kernel.catalog import Catalog
from stages.artifacts import ArtifactError
from stages.params import ParamsError, check_block
from stages.progress import progress
from stages.stage import StageContext
from stages.train.journal import Journal
from stages.train.params import TrainParams
from stages.train.verl import run
from stages.train.verl import supervise as watching
from stages.train.verl.figures import renamed
from stages.train.verl.limits import LoopSettings
from stages.train.verl.merge import last_step, merged
from stages.train.verl.prepare import prepare
from stages.train.verl.run import Watch, require_verl
from stages.train.verl.supervise import ClusterError, supervise
from tests.stages.train.verl.small import write_workspace

TRAIN: dict[str, Any] = {
    "max_prompt": 384,
    "phases": ["grpo"],
    "grpo": {"batch_size": 2, "group_size": 4, "steps": 3, "sampling": {"max_context": 900, "max_rounds": 3}},
    "verl": {"device": "cpu", "gpus": 1, "tensor_parallel": 1, "workers": 1, "response": 500, "tool_response": 300},
}


def context(train: dict[str, Any], **blocks: Any) -> StageContext[TrainParams]:
    document = {"bootstrap": {"servers": ["banking"]}, "train": train, **blocks}
    return StageContext("train", check_block(TrainParams, train, "train"), document=document)


@pytest.fixture
def workspace(tmp_path: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_workspace(tmp_path, catalog)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_run_is_prepared_whole(workspace: Path) -> None:
    found = prepare(context(TRAIN), workspace / "data" / "policy_base", Path("work"))
    assert (found.rows, found.too_long) == (4, 0)
    assert sorted(path.name for path in (workspace / "work" / "data").iterdir()) == ["train.parquet", "val.parquet"]
    (entry,) = yaml.safe_load((workspace / "work" / "agent_loop.yaml").read_text())
    settings = LoopSettings.model_validate_json(entry["settings"])
    assert settings.servers == ("banking",) and settings.limits.rounds == 3 and settings.limits.tool_response == 300
    words = shlex.split(found.shell().replace("\\\n", " "))
    assert words[len(found.variables) :] == found.command
    assert f"data.train_files={workspace / 'work' / 'data' / 'train.parquet'}" in words


def test_rows_over_the_budget_are_left_out_and_none_left_is_an_error(workspace: Path) -> None:
    base = workspace / "data" / "policy_base"
    some = prepare(context({**TRAIN, "max_prompt": 180}), base, Path("work"))
    assert (some.rows, some.too_long) == (2, 2)
    with pytest.raises(ArtifactError, match=r"raise train\.max_prompt"):
        prepare(context({**TRAIN, "max_prompt": 20}), base, Path("work"))


def test_a_reward_that_needs_a_judge_is_refused(workspace: Path) -> None:
    ctx = context(TRAIN, reward={"kind": "scribe"})
    with pytest.raises(ParamsError, match="no process judge"):
        prepare(ctx, workspace / "data" / "policy_base", Path("work"))


def test_a_program_that_fails_shows_its_last_words(tmp_path: Path) -> None:
    code = "import os, sys; print(os.environ['WORD']); sys.exit(3)"
    with pytest.raises(ClusterError, match=r"code 3[\s\S]*farewell"):
        supervise([sys.executable, "-c", code], {"WORD": "farewell"}, tmp_path / "log", lambda: 0, 30)


def test_a_program_that_gets_nowhere_is_stopped_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "POLL_SECONDS", 0.1)
    monkeypatch.setattr(watching, "STOP_SECONDS", 0.5)
    child = f"import time, pathlib\nwhile True: time.sleep(.05); pathlib.Path({str(tmp_path / 'alive')!r}).touch()"
    code = (
        "import signal, subprocess, sys, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"subprocess.Popen([sys.executable, '-c', {child!r}])\nprint('stuck', flush=True)\ntime.sleep(60)"
    )
    begin = time.monotonic()
    with pytest.raises(ClusterError, match=r"got nowhere for 3 s after step 0[\s\S]*stuck"):
        supervise([sys.executable, "-c", code], {}, tmp_path / "log", lambda: 0, 3)
    assert time.monotonic() - begin < 30
    (tmp_path / "alive").unlink(missing_ok=True)
    time.sleep(0.5)
    assert not (tmp_path / "alive").exists()


def test_a_program_that_gets_on_may_take_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "POLL_SECONDS", 0.05)
    steps = iter(range(10_000))
    supervise([sys.executable, "-c", "import time; time.sleep(1)"], {}, tmp_path / "log", lambda: next(steps), 0.3)


def test_each_journal_line_is_tracked_once(tmp_path: Path) -> None:
    heard: list[tuple[str, int | None]] = []

    class Heard:
        def log_metrics(self, values: dict[str, float], step: int | None = None) -> None:
            heard.extend((name, step) for name in values)

    with progress("GRPO", total=3) as bar:
        watch = Watch(Heard(), tmp_path, bar)  # type: ignore[arg-type]
        assert watch() == 0
        grpo, validation = Journal(tmp_path / "grpo_log.jsonl"), Journal(tmp_path / "validation_log.jsonl")
        validation.add(0, {"reward": 0.1, "rewards": {"row": 0.1}})
        grpo.add(1, {"reward": 0.5})
        assert watch() == 1 and watch() == 1
        grpo.add(2, {"reward": 0.6})
        validation.add(2, {"reward": 0.2, "rewards": {}})
        assert watch() == 2
    assert sorted(heard, key=str) == sorted(
        [("validation/reward", 0), ("grpo/reward", 1), ("grpo/reward", 2), ("validation/reward", 2)], key=str
    )


def test_verls_figures_get_our_names_and_lose_what_is_no_number() -> None:
    found = renamed({"actor/kl_loss": 0.5, "actor/grad_norm": float("nan"), "other": 1.0})
    assert found == {"kl": 0.5}


def test_without_verl_the_cure_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run.util, "find_spec", lambda name: None)
    with pytest.raises(ArtifactError, match=r"verl, ray, transfer_queue.*'\.\[verl\]'"):
        require_verl()


def test_a_missing_checkpoint_says_how_to_go_on(tmp_path: Path) -> None:
    assert last_step(tmp_path) == 0
    (tmp_path / "latest_checkpointed_iteration.txt").write_text("4")
    assert last_step(tmp_path) == 4
    with pytest.raises(ArtifactError, match="has not come to step 9"):
        merged(tmp_path, 9, tmp_path, tmp_path / "final", tmp_path / "log")
    assert json.dumps([path.name for path in tmp_path.iterdir()]) == '["latest_checkpointed_iteration.txt"]'
