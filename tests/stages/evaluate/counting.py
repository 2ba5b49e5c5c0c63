"""A benchmark of its own for tests: count to a number, one reply a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from stages.evaluate.benchmark import Control, Episode, Request, Score
from stages.evaluate.registry import Entry
from stages.evaluate.runner import Prepared
from stages.evaluate.suites import Assignment
from stages.records import EpisodeRecord, Message


@dataclass(frozen=True)
class Count:
    id: str
    steps: int
    category: str = "plain"


@dataclass
class Counting:
    """Passes when every step was answered with a tick."""

    all: list[Count] = field(default_factory=list)
    name: str = "counting"
    version: str = "1"

    def tasks(self) -> Sequence[Count]:
        return self.all

    def play(self, task: Count) -> Episode:
        messages = [Message("user", task.id)]
        for _ in range(task.steps):
            messages.append((yield Request(tuple(messages), ())))
            messages.append(Message("tool", "ok"))
        return EpisodeRecord(tuple(messages), (), "", "answered")

    def score(self, task: Count, episode: EpisodeRecord) -> Score:
        said = sum(message.content == "tick" for message in episode.messages)
        return Score(said == task.steps, counts={"ticks": said})

    def controls(self) -> Sequence[Control]:
        return ()


def prepared(*tasks: Count, agents: tuple[str, ...] = ("policy",)) -> Prepared:
    """The tasks of a counting benchmark, all of them to be played."""
    benchmark = Counting(list(tasks))
    return Prepared(Assignment("counting", "all", agents, None), benchmark, benchmark.all, None)


def entry(*tasks: Count) -> Entry:
    """An entry of the registry that gives the counting benchmark."""
    return Entry(lambda own, seed: Counting(list(tasks)))
