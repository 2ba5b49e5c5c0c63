"""Around the trainer: what is prepared, how a program is watched, and what its journals turn into."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from servers.kernel.catalog import Catalog
from stages.artifacts import ArtifactError
from stages.params import ParamsError, check_block
from stages.stage import StageContext
from stages.train.journal import Journal
from stages.train.params import TrainParams
from stages.train.policy import load_chat
from stages.train.supervision.opening import open_signal
from stages.train.tables import rl_table
from stages.train.verl import run
from stages.train.verl import supervise as watching
from stages.train.verl.figures import renamed
from stages.train.verl.limits import LoopSettings
from stages.train.verl.merge import last_step, merged
from stages.train.verl.phases import ClusterPhases, Watch
from stages.train.verl.prepare import Prepared, prepare, whole
from stages.train.verl.run import require_verl
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


def prepared(ctx: StageContext[TrainParams], base: Path) -> Prepared:
    return prepare(ctx, base, whole(ctx, Path("work")))


@pytest.fixture
def workspace(tmp_path: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_workspace(tmp_path, catalog)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_run_is_prepared_whole(workspace: Path) -> None:
    ctx = context(TRAIN)
    found = prepare(ctx, workspace / "data" / "policy_base", whole(ctx, Path("work")))
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
    some = prepared(context({**TRAIN, "max_prompt": 180}), base)
    assert (some.rows, some.too_long) == (2, 2)
    with pytest.raises(ArtifactError, match=r"raise train\.max_prompt"):
        prepared(context({**TRAIN, "max_prompt": 20}), base)


def test_a_reward_that_needs_a_judge_is_refused(workspace: Path) -> None:
    ctx = context(TRAIN, reward={"kind": "scribe"})
    with pytest.raises(ParamsError, match="no process judge"):
        prepared(ctx, workspace / "data" / "policy_base")


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

    reached: list[int] = []
    watch = Watch(Heard(), tmp_path, 0, reached.append)  # type: ignore[arg-type]
    assert watch() == 0
    grpo, validation = Journal(tmp_path / "grpo_log.jsonl"), Journal(tmp_path / "validation_log.jsonl")
    validation.add(0, {"reward": 0.1, "rewards": {"row": 0.1}})
    grpo.add(1, {"reward": 0.5})
    assert watch() == 1 and watch() == 1
    grpo.add(2, {"reward": 0.6})
    validation.add(2, {"reward": 0.2, "rewards": {}})
    assert watch() == 2 and reached == [1, 2]
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
    with pytest.raises(ArtifactError, match="global_step_9 is missing"):
        merged(tmp_path / "global_step_9", tmp_path, tmp_path / "final", tmp_path / "log")
    assert json.dumps([path.name for path in tmp_path.iterdir()]) == '["latest_checkpointed_iteration.txt"]'


class Trainers:
    """verl's trainer in the stage's eyes: each start plays the next part, which sees the phase's directory."""

    def __init__(self, work: Path, *parts: Callable[[Path], None]) -> None:
        self.work, self._parts, self.commands = work, iter(parts), list[Sequence[str]]()

    def __call__(
        self, command: Sequence[str], variables: Mapping[str, str], log: Path, tick: Callable[[], int], idle: float
    ) -> None:
        if "verl.model_merger" in command:
            target = Path(command[command.index("--target_dir") + 1])
            (target / "config.json").write_text("{}")
            (target / "model.safetensors").write_text(command[command.index("--local_dir") + 1])
            return
        self.commands.append(command)
        next(self._parts)(log.parent)
        tick()

    def rate(self, start: int) -> float:
        return float(self.setting(start, "actor_rollout_ref.actor.optim.lr"))

    def setting(self, start: int, key: str) -> str:
        return next(item.partition("=")[2] for item in self.commands[start] if item.startswith(f"{key}="))


def kept(directory: Path, step: int) -> None:
    checkpoints = directory / "checkpoints"
    (checkpoints / f"global_step_{step}" / "actor").mkdir(parents=True, exist_ok=True)
    (checkpoints / "latest_checkpointed_iteration.txt").write_text(str(step))


def collapsed(work: Path, step: int, restored: int | None, action: str) -> None:
    line = {"reason": "", "since": step, "action": action, "restored": restored, "lr": 0.0}
    Journal(work / "collapse_log.jsonl").append(step, line)
    raise ClusterError("the trainer ended")


def phases(monkeypatch: pytest.MonkeyPatch, trainers: Trainers, **train: Any) -> Path:
    """The run's last weights."""
    monkeypatch.setattr("stages.train.verl.phases.supervise", trainers)
    monkeypatch.setattr("stages.train.verl.merge.supervise", trainers)
    ctx = context({**TRAIN, **train})
    with ExitStack() as stack:
        signal = open_signal(ctx, rl_table(ctx, load_chat(ctx.params.policy), "train")[0], stack)

        def imitate(weights: Path, rows: Sequence[Any], config: Any, name: str, target: Path) -> None:
            shutil.copytree(weights, target)

        return ClusterPhases(ctx, trainers.work, signal, ctx.params.grpo, imitate).run(Path("data/policy_base"))


def finishing(work: Path, steps: int, first: int = 0) -> Callable[[Path], None]:
    """A trainer that comes to the end of its phase."""

    def play(directory: Path) -> None:
        for step in range(1, steps + 1):
            Journal(work / "grpo_log.jsonl").add(first + step, {"reward": 0.5})
        kept(directory, steps)
        Journal(work / "validation_log.jsonl").add(first + steps, {"reward": 0.5, "rewards": {}})

    return play


def test_a_rollback_starts_the_trainer_again_at_half_the_rate_with_a_new_optimiser(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Path("work")

    def collapsing(directory: Path) -> None:
        kept(directory, 1)
        collapsed(work, 2, 1, "rollback")

    trainers = Trainers(work, collapsing, finishing(work, 3))
    final = phases(monkeypatch, trainers, on_collapse="rollback", grpo={**TRAIN["grpo"], "checkpoint_every": 1})
    assert final == work / "grpo-000003"
    assert (final / "model.safetensors").read_text().endswith("000000/checkpoints/global_step_3/actor")
    assert trainers.rate(1) == trainers.rate(0) / 2
    assert trainers.setting(1, "actor_rollout_ref.actor.checkpoint.load_contents") == "[model]"
    assert trainers.setting(0, "data.seed") != trainers.setting(1, "data.seed")


def test_a_validation_that_a_kill_took_comes_first_when_the_run_goes_on(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Path("work")

    def killed(directory: Path) -> None:
        Journal(work / "grpo_log.jsonl").add(2, {"reward": 0.5})
        kept(directory, 2)
        raise ClusterError("killed before the validation")

    trainers = Trainers(work, killed, finishing(work, 3))
    settings = {"grpo": {**TRAIN["grpo"], "checkpoint_every": 1}, "validation": {"every": 2, "before": False}}
    with pytest.raises(ClusterError):
        phases(monkeypatch, trainers, **settings)
    phases(monkeypatch, trainers, **settings)
    first = [trainers.setting(start, "trainer.val_before_train") for start in (0, 1)]
    assert first == ["false", "true"]


def test_the_last_validation_is_made_up_for_too(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Path("work")

    def killed(directory: Path) -> None:
        finishing(work, 3)(directory)
        (work / "validation_log.jsonl").unlink()
        raise ClusterError("killed before the validation")

    def validating(directory: Path) -> None:
        Journal(work / "validation_log.jsonl").add(3, {"reward": 0.5, "rewards": {}})

    settings = {"validation": {"every": 2}}
    trainers = Trainers(work, killed, lambda directory: None, validating)
    with pytest.raises(ClusterError):
        phases(monkeypatch, trainers, **settings)
    with pytest.raises(ArtifactError, match="did not validate step 3"):
        phases(monkeypatch, trainers, **settings)
    assert phases(monkeypatch, trainers, **settings) == work / "grpo-000003"
    assert trainers.setting(2, "trainer.val_before_train") == "true"


def test_an_alarm_that_stops_hands_over_the_last_healthy_weights(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Path("work")

    def collapsing(directory: Path) -> None:
        kept(directory, 1)
        collapsed(work, 2, 1, "stop")

    final = phases(monkeypatch, Trainers(work, collapsing), on_collapse="stop")
    assert final == work / "stopped-000003"
    assert (final / "model.safetensors").read_text().endswith("global_step_1/actor")
    again = Trainers(work)
    assert phases(monkeypatch, again, on_collapse="stop") == final and not again.commands, "it has ended for good"


def test_a_trainer_that_fails_without_an_alarm_fails_the_run(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(directory: Path) -> None:
        raise ClusterError("out of memory")

    with pytest.raises(ClusterError, match="out of memory"):
        phases(monkeypatch, Trainers(Path("work"), failing))


def test_lessons_come_between_two_runs_of_the_trainer(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Path("work")
    trainers = Trainers(work, finishing(work, 1), finishing(work, 2, first=1))
    final = phases(monkeypatch, trainers, supervision="ets", signal={"schedule": [1]})
    assert final == work / "grpo-000003"
    assert [trainers.setting(start, "trainer.total_training_steps") for start in (0, 1)] == ["1", "2"]
    starts = [Path(trainers.setting(start, "actor_rollout_ref.model.path")).name for start in (0, 1)]
    assert starts == ["policy_base", "grpo-000001"], "a phase starts from, and is held to, the weights before it"


def test_what_is_learnt_before_the_first_step_is_where_grpo_starts(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainers = Trainers(Path("work"), finishing(Path("work"), 3))
    phases(monkeypatch, trainers, supervision="sft_then_rl")
    assert Path(trainers.setting(0, "actor_rollout_ref.model.path")).name == "lessons-000000"
