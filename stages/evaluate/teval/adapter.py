"""T-Eval as a benchmark: one prompt, one answer as text, scored by its ability's rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from stages.evaluate.benchmark import Control, Episode, Request, Score
from stages.evaluate.loop import OneByOne, Silent, run_tasks
from stages.evaluate.teval.data import TevalData, TevalTask
from stages.evaluate.teval.gold import cut_answer, gold_answer
from stages.evaluate.teval.scoring import score_answer
from stages.evaluate.teval.similarity import MiniLm, Similarity
from stages.records import EpisodeRecord, Message, ToolSpec


class Teval:
    """The six abilities in both formats.

    Args:
        directory: T-Eval's test data, as published; None fails at first use with the cure.
        similarity: what compares plans and thoughts; None takes the packaged model.
    """

    name = "teval"

    def __init__(self, directory: Path | None, similarity: Similarity | None = None) -> None:
        self._directory = directory
        self._similarity = similarity

    @cached_property
    def data(self) -> TevalData:
        """The directory's tasks, read on first use."""
        return TevalData(self._directory)

    @cached_property
    def similarity(self) -> Similarity:
        """The sentence model, loaded on first use."""
        return self._similarity or MiniLm()

    @property
    def version(self) -> str:
        """The data's version and digest, and the sentence model."""
        return f"T-Eval {self.data.version}, sentences by {self.similarity.name}"

    def tasks(self) -> Sequence[TevalTask]:
        """All tasks, ability by ability; a missing model is told here, before anything is played."""
        tasks = self.data.tasks
        _ = self.similarity
        return tasks

    def play(self, task: TevalTask) -> Episode:
        """Ask once; there are no tools to call."""
        answer = yield Request(task.prompt, ())
        return EpisodeRecord((*task.prompt, answer), (), "", "answered")

    def score(self, task: TevalTask, episode: EpisodeRecord) -> Score:
        """The value of the answer by its ability's rule."""
        return score_answer(task, episode.messages[-1].content, self.similarity)

    def controls(self) -> tuple[Control, ...]:
        """Reference answers are all right; nothing, or one part less, is never right."""
        return (
            self._control("gold_replay", len(self.tasks()), lambda task: _Saying(gold_answer(task))),
            self._control("do_nothing", 0, lambda task: Silent()),
            self._control("last_part_dropped", 0, lambda task: _Saying(cut_answer(task))),
        )

    def _control(self, name: str, expected: int, agent_of: Callable[[TevalTask], _Saying | Silent]) -> Control:
        rows = [run_tasks(self, [task], OneByOne(agent_of(task)), width=1)[0] for task in self.tasks()]
        return Control(name, sum(row.score.passed for row in rows), len(rows), expected)


@dataclass(frozen=True, slots=True)
class _Saying:
    """An agent that says one thing."""

    text: str

    def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
        """The thing."""
        return Message("assistant", self.text)
