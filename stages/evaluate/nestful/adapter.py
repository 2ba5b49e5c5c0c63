"""NESTFUL as a benchmark: ask once for the whole sequence, score it, run the controls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from stages.evaluate.benchmark import Control, Episode, Request, Score
from stages.evaluate.loop import OneByOne, Silent, run_tasks
from stages.evaluate.nestful.data import VERSION, NestfulPackage, NestfulTask
from stages.evaluate.nestful.scoring import score_episode
from stages.records import EpisodeRecord, Message, ToolCall, ToolSpec, TruthCall

INSTRUCTION = (
    "Answer with all the tool calls that the request needs, in order, in one message. They run later, one after "
    "another. Where a call needs the result of an earlier one, write it as a variable: $var1.name$ is the output "
    "`name` of the first call, $var2.name$ of the second, and $var1$ is the whole result of the first."
)


class Nestful:
    """The 300 sequences of NESTFUL's first version."""

    name = "nestful"
    version = f"nestful-wrapper {VERSION}, v1 data"

    @cached_property
    def package(self) -> NestfulPackage:
        """The installed package; first use fails with the cure when it is missing."""
        return NestfulPackage()

    def tasks(self) -> Sequence[NestfulTask]:
        """All 300 tasks, source by source."""
        return self.package.tasks

    def play(self, task: NestfulTask) -> Episode:
        """Ask once; nothing is run."""
        asked = (Message("system", INSTRUCTION), Message("user", task.question))
        answer = yield Request(asked, task.tools)
        return EpisodeRecord((*asked, answer), (), "", "answered")

    def score(self, task: NestfulTask, episode: EpisodeRecord) -> Score:
        """Passed where the answer equals the whole gold sequence."""
        return score_episode(task.gold, episode)

    def controls(self) -> tuple[Control, ...]:
        """Gold replay passes everything; doing nothing or leaving out the last call passes nothing."""
        return (
            self._control("gold_replay", len(self.tasks()), lambda task: _Replay(task.gold)),
            self._control("do_nothing", 0, lambda task: Silent()),
            self._control("last_call_dropped", 0, lambda task: _Replay(task.gold[:-1])),
        )

    def _control(self, name: str, expected: int, agent_of: Callable[[NestfulTask], _Replay | Silent]) -> Control:
        rows = [run_tasks(self, [task], OneByOne(agent_of(task)), width=1)[0] for task in self.tasks()]
        return Control(name, sum(row.score.passed for row in rows), len(rows), expected)


@dataclass(frozen=True, slots=True)
class _Replay:
    """An agent that answers with given calls."""

    calls: Sequence[TruthCall]

    def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
        """All calls in one message."""
        calls = (ToolCall(f"call_{index}", call.name, call.arguments) for index, call in enumerate(self.calls))
        return Message("assistant", "", tuple(calls))
