"""BFCL's finished conversations over a kill: in the journal whole, once, and with nothing of what was cut off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from stages.artifacts import Stamp
from stages.evaluate import journal as journal_module
from stages.evaluate import policy_agent
from stages.evaluate.benchmark import Request
from stages.evaluate.bfcl.adapter import Bfcl
from stages.evaluate.runner import Prepared, play_local
from stages.evaluate.scores import write_scores
from stages.evaluate.scripted_agents import ByTask, Replay
from stages.evaluate.store import AgentRow
from stages.evaluate.suites import Assignment
from stages.params import EvaluateParams
from stages.progress import progress
from stages.records import Message
from stages.train.config import SamplingConfig

BFCL = Bfcl()
TASKS = [next(task for task in BFCL.tasks() if task.category == kind) for kind in ("base", "miss_func", "miss_param")]
GOLD = ByTask({task.id: Replay(task.gold) for task in TASKS})


class Replaying:
    """Stands for the policy: it makes the reference calls, and is killed before its round `end`."""

    end, rounds = 0, 0

    def __init__(self, policy: object, config: SamplingConfig) -> None:
        self.tokens: dict[str, list[tuple[int, ...]]] = {}

    def reply_many(self, requests: Sequence[Request]) -> Sequence[Message]:
        Replaying.rounds += 1
        if Replaying.rounds == Replaying.end:
            raise KeyboardInterrupt
        return GOLD.reply_many(requests)


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    monkeypatch.setattr(journal_module, "UNFINISHED", tmp_path / "unfinished")
    monkeypatch.setattr(policy_agent, "PolicyAgent", Replaying)
    yield tmp_path


def play(name: str = "policy", end: int = 0) -> Sequence[AgentRow]:
    Replaying.end, Replaying.rounds = end, 0
    prepared = Prepared(Assignment("bfcl", "all", (name,), None), BFCL, TASKS, None)
    with progress("test") as bar:
        return play_local(prepared, name, None, "w", EvaluateParams(batch=1), SamplingConfig(), 0, bar).rows


def stored(rows: Sequence[AgentRow], target: Path) -> dict[str, bytes]:
    write_scores(target, {}, {"bfcl": rows}, Stamp("f", "p"))
    return {path.name: path.read_bytes() for path in sorted(target.iterdir())}


def test_a_conversation_that_was_cut_off_is_played_anew_and_counts_once(place: Path) -> None:
    whole = play()
    rounds, expected = Replaying.rounds, stored(whole, place / "whole")
    assert [row.result.score.passed for row in whole] == [True] * 3
    for journal in (place / "unfinished").rglob("*.jsonl"):
        journal.unlink()
    for end in range(3, rounds + 1, 4):
        with pytest.raises(KeyboardInterrupt):
            play(end=end)
        for journal in (place / "unfinished").rglob("*.jsonl"):
            journal.write_bytes(journal.read_bytes() + b'{"took": {"seconds": 1}, "row": {"task": "multi_')
        assert stored(play(), place / f"resumed-{end}") == expected
        (journal,) = (place / "unfinished").rglob("*.jsonl")
        assert journal.read_bytes().count(b"\n") == len(TASKS)
        journal.unlink()


def test_names_that_differ_in_one_mark_have_journals_of_their_own(place: Path) -> None:
    names = ("a_b", "ab", "a__b")
    assert all(len(play(name)) == len(TASKS) for name in names)
    assert len(list((place / "unfinished").rglob("*.jsonl"))) == len(names)
