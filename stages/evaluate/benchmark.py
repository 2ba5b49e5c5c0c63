"""What a benchmark and an agent owe each other.

A benchmark gives tasks, plays one against whoever answers, and scores what came of it. Playing is a
generator: it yields what the agent would see, receives the agent's message, and returns the finished
episode. So one policy can answer many tasks in a single batch, and no benchmark knows how messages
are made. Scoring reads only the finished episode, so a score can be recomputed later without the
model, and gives the same number each time.

Every benchmark also ships controls: runs whose score is known beforehand, such as replaying the
reference solution. A control that misses its number means that the harness is broken, not the model.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from stages.records import EpisodeRecord, Message, ToolSpec


class BenchmarkUnavailableError(RuntimeError):
    """The benchmark's data or package is not here; the message says how to get it."""


class InfrastructureError(RuntimeError):
    """A failure that is nobody's answer: a lost server, a full disk. Its task is masked, not failed."""


class Request(NamedTuple):
    """What an agent sees when it is its turn: the conversation so far, and the tools on offer.

    `task` is set by the run loop: by it an agent knows a conversation again.
    """

    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    task: str = ""


class Agent(Protocol):
    """Anything that answers one conversation."""

    def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
        """The next assistant message."""


class BatchedAgent(Protocol):
    """Anything that answers many conversations at once, in the order given."""

    def reply_many(self, requests: Sequence[Request]) -> Sequence[Message]:
        """One assistant message for each request."""


class StreamingAgent(Protocol):
    """Anything that works on many conversations at once and answers each in its own time."""

    def submit(self, request: Request) -> Future[Message]:
        """Begin an answer; the future holds the next assistant message, or why there is none."""


Episode: TypeAlias = Generator[Request, Message, EpisodeRecord]


class Task(Protocol):
    """The least that a task says of itself."""

    @property
    def id(self) -> str:
        """Unique within its benchmark."""

    @property
    def category(self) -> str:
        """The group whose rate is reported on its own."""


def unit_of(task_id: str) -> str:
    """The task that a row counts for: `name#2` is another trial of `name`."""
    return _TRIAL.sub("", task_id)


_TRIAL = re.compile(r"#\d+$")

TaskT = TypeVar("TaskT", bound=Task)


@dataclass(frozen=True, slots=True)
class Score:
    """The verdict on one episode: passed or not, why not, and what else was counted.

    `value` is partial credit, from 0 to 1, where the benchmark grants it.

    Raises:
        ValueError: `value` is not between 0 and 1.
    """

    passed: bool
    reason: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    value: float | None = None

    def __post_init__(self) -> None:
        if self.value is not None and not 0 <= self.value <= 1:
            raise ValueError(f"a score of {self.value} is not between 0 and 1")

    @property
    def credit(self) -> float:
        """What the episode adds to its category's rate: the partial credit, else 1 if passed and 0 if not."""
        return float(self.passed) if self.value is None else self.value


@dataclass(frozen=True, slots=True)
class Control:
    """A run whose score is known beforehand."""

    name: str
    passed: int
    total: int
    expected: int

    @property
    def holds(self) -> bool:
        """Whether the harness gave the known score."""
        return self.passed == self.expected


class Benchmark(Protocol[TaskT]):
    """A set of tasks with a rule that scores them."""

    @property
    def name(self) -> str:
        """Short name, as reports print it."""

    @property
    def version(self) -> str:
        """Which data the figures stand on: figures of different versions don't compare."""

    def tasks(self) -> Sequence[TaskT]:
        """All tasks, in a fixed order."""

    def play(self, task: TaskT) -> Episode:
        """Play one task, in state of its own."""

    def score(self, task: TaskT, episode: EpisodeRecord) -> Score:
        """Score a finished episode from its record alone."""

    def controls(self) -> Sequence[Control]:
        """Run every control over all tasks."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """One row of a run: what was said in a task, and what it scored.

    `scored` rows hold a verdict. An `error` row broke down on the way and counts as not passed. An
    `infrastructure` row says nothing about the model and is left out of every rate. `partial` keeps
    what had been said in an episode that never finished.
    """

    task_id: str
    category: str
    status: Literal["scored", "error", "infrastructure"]
    score: Score
    episode: EpisodeRecord | None = None
    partial: tuple[Message, ...] = ()
