"""Benchmarks of a run: what survives a kill, what is drawn, and what is said of a benchmark that is not there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from stages.artifacts import ArtifactError, Stamp
from stages.evaluate import journal as journal_module
from stages.evaluate import policy_agent, registry
from stages.evaluate.benchmark import BenchmarkUnavailableError, Request, Score, TaskResult
from stages.evaluate.journal import Journal
from stages.evaluate.runner import play_local, play_scripted, prepare
from stages.evaluate.scores import read_tables, write_scores
from stages.evaluate.store import FLOOR, AgentRow, rescored_rows, row_from_plain, row_to_plain
from stages.evaluate.suites import Assignment
from stages.params import BenchmarkParams, EvaluateParams, ParamsError
from stages.progress import progress
from stages.records import EpisodeRecord, ExecutedCall, Message, ToolCall
from stages.train.config import SamplingConfig
from tests.stages.evaluate.counting import Count, Counting, entry, prepared

ROOT = Path(__file__).parents[3]
TASKS = [Count(f"t{n}", n % 4) for n in range(10)]


class Ticking:
    """Stands for the policy: it says tick, and notes which tasks it was asked about."""

    asked: ClassVar[list[str]] = []
    fail_at: ClassVar[str] = ""

    def __init__(self, policy: object, config: SamplingConfig) -> None:
        self.tokens: dict[str, list[tuple[int, ...]]] = {}

    def reply_many(self, requests: Sequence[Request]) -> Sequence[Message]:
        for request in requests:
            if request.task == Ticking.fail_at:
                raise KeyboardInterrupt
            Ticking.asked.append(request.task)
            self.tokens.setdefault(request.task, []).append((7, 8))
        return [Message("assistant", "tick") for _ in requests]


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(journal_module, "UNFINISHED", tmp_path / "unfinished")
    monkeypatch.setattr(policy_agent, "PolicyAgent", Ticking)
    Ticking.asked, Ticking.fail_at = [], ""
    return tmp_path


def play(digest: str = "w", batch: int = 4, name: str = "policy") -> Sequence[AgentRow]:
    params = EvaluateParams(batch=batch)
    with progress("test") as bar:
        return play_local(prepared(*TASKS), name, None, digest, params, SamplingConfig(), 0, bar).rows


def stored(rows: Sequence[AgentRow], target: Path) -> dict[str, bytes]:
    write_scores(target, {}, {"bfcl": rows}, Stamp("f", "p"))
    return {path.name: path.read_bytes() for path in sorted(target.iterdir())}


def test_a_run_that_was_cut_off_goes_on_and_ends_in_the_same_bytes(place: Path) -> None:
    whole = stored(play("other"), place / "whole")
    Ticking.asked, Ticking.fail_at = [], "t6"
    with pytest.raises(KeyboardInterrupt):
        play()
    assert set(Ticking.asked) <= {"t1", "t2", "t3", "t5"}
    Ticking.asked, Ticking.fail_at = [], ""
    rows = play()
    assert set(Ticking.asked) == {"t5", "t6", "t7", "t9"}  # the groups that were not finished
    assert stored(rows, place / "resumed") == whole
    Ticking.asked = []
    assert stored(play(), place / "again") == whole
    assert Ticking.asked == []


def test_other_weights_settings_and_agents_start_anew() -> None:
    play()
    for digest, name in (("v", "policy"), ("w", "sft")):
        Ticking.asked = []
        play(digest, name=name)
        assert set(Ticking.asked) == {task.id for task in TASKS if task.steps}


def test_a_row_keeps_messages_calls_and_tokens_and_can_be_scored_again() -> None:
    rows = play()
    assert [row.result.task_id for row in rows] == [task.id for task in TASKS]
    assert rows[3].tokens == ((7, 8),) * 3
    call = ToolCall("c", "f", {"x": [1, "é", None]}, "raw", "bad")
    done = ExecutedCall("f", None, 1, False, False, "r", "code", True)
    episode = EpisodeRecord((Message("user", "a"), Message("assistant", "", (call,))), (done,), "h", "length", {"k": 1})
    row = AgentRow(
        "a", "1", TaskResult("t", "c", "scored", Score(False, "why", {"n": 2}, 0.5), episode), ((1,), ()), {}
    )
    assert row_from_plain(row_to_plain(row)) == row
    assert row.prompts_too_long == 1
    broken = AgentRow("a", "1", TaskResult("t", "c", "error", Score(False, "x"), None, episode.messages))
    assert row_from_plain(row_to_plain(broken)) == broken
    spoilt = [row_from_plain({**row_to_plain(row), "passed": False}) for row in rows]
    assert rescored_rows(Counting(TASKS), spoilt) == list(rows)


def test_a_line_that_a_kill_cut_off_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.jsonl"
    journal = Journal(path, "task")
    journal.add({"task": "a", "v": "é"}, {"seconds": 1.5})
    journal.add({"task": "b", "v": "ü"}, {"seconds": 2.0, "cost": 0.5})
    whole = path.read_bytes()
    path.write_bytes(whole[:-4])
    again = Journal(path, "task")
    assert list(again.rows) == ["a"] and again.took == {"seconds": 1.5}
    again.add({"task": "b", "v": "ü"}, {"seconds": 2.0, "cost": 0.5})
    assert path.read_bytes() == whole
    assert Journal(path, "task").took == {"seconds": 3.5, "cost": 0.5}


KILLED = """
import sys
from pathlib import Path
from stages.evaluate.journal import Journal
journal = Journal(Path(sys.argv[1]), "task")
for n in range(len(journal.rows), 10**6):
    journal.add({"task": str(n), "text": "x" * 5000}, {"seconds": 0.0})
    if n == 40:
        print("here", flush=True)
"""


def test_kill_9_leaves_every_finished_row(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    command = [sys.executable, "-c", KILLED, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None and process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
    rows = Journal(path, "task").rows
    assert list(rows) == [str(n) for n in range(len(rows))] and len(rows) > 40
    assert all(json.loads(line)["row"]["text"] == "x" * 5000 for line in path.read_text().splitlines())


def test_failures_are_told_with_their_reasons(place: Path) -> None:
    rows = [
        AgentRow("a", "1", TaskResult("t1", "c", "infrastructure", Score(False, "gone"))),
        AgentRow("a", "1", TaskResult("t2", "c", "scored", Score(False, "wrong"))),
        AgentRow("b", "1", TaskResult("t1", "c", "error", Score(False, "KeyError: x"))),
    ]
    told = stored(rows, place / "scores")["failures.jsonl"].decode().splitlines()
    assert [(json.loads(line)["agent"], json.loads(line)["reason"]) for line in told] == [
        ("a", "gone"),
        ("b", "KeyError: x"),
    ]
    assert read_tables(place / "scores") == {"bfcl": rows}


def missing(own: BenchmarkParams, seed: int) -> Counting:
    raise BenchmarkUnavailableError("install counting")


def test_a_missing_benchmark_is_left_out_unless_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"there": entry(*TASKS), "gone": registry.Entry(missing)}
    monkeypatch.setattr(registry, "BENCHMARKS", known)
    wanted = [Assignment(name, 1, ("policy",), None) for name in known]
    ready, unavailable = prepare(wanted, 0)
    assert [one.name for one in ready] == ["there"] and unavailable == {"gone": "install counting"}
    with pytest.raises(ArtifactError, match=r"evaluate\.benchmarks\.gone: install counting"):
        prepare([Assignment("gone", 1, ("policy",), BenchmarkParams(sample=1))], 0)
    with pytest.raises(ParamsError, match="takes no 'data'"):
        prepare([Assignment("there", 1, ("policy",), BenchmarkParams(data="x"))], 0)
    with pytest.raises(ParamsError, match=r"there\.sample: there is no category 'nope'; there are plain"):
        prepare([Assignment("there", {"nope": 1}, ("policy",), None)], 0)


def test_a_sample_is_drawn_by_category_and_trials_stay_together(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [Count(f"{kind}{n}{trial}", 1, kind) for kind in "xy" for n in range(5) for trial in ("", "#1", "#2")]
    monkeypatch.setattr(registry, "BENCHMARKS", {"there": entry(*tasks)})

    def drawn(sample: object) -> list[str]:
        ready, _ = prepare([Assignment("there", sample, ("policy",), None)], 0)  # type: ignore[arg-type]
        return [task.id for task in ready[0].tasks]

    assert drawn("all") == [task.id for task in tasks]
    assert drawn(0) == []
    two = drawn({"x": 2})
    assert len(two) == 6 and {name[0] for name in two} == {"x"}
    assert {name.partition("#")[0] for name in two if "#" in name} == {name for name in two if "#" not in name}
    assert drawn(2) == drawn(2) and len(drawn(2)) == 12


def test_a_benchmark_may_say_how_nothing_is_done() -> None:
    three, asked = prepared(*TASKS[:3]), list[str]()

    def floor(benchmark: object, task: Count) -> TaskResult:
        asked.append(task.id)
        return TaskResult(task.id, task.category, "scored", Score(True))

    played = play_scripted(replace(three, floor=floor), FLOOR, EvaluateParams())
    assert asked == [task.id for task in three.tasks]
    assert all(row.result.score.passed for row in played.rows)
