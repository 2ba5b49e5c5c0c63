"""ACEBench's normal and special tasks as a benchmark: ask each item, score the replies, run the controls.

Every item is one question with one reply; nothing is executed. The items of a multi-turn conversation are
asked one after the other, each with the history that the benchmark gives, not with the model's replies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from stages.evaluate.acebench.data import SPECIAL, AceData, Item, Language, Task
from stages.evaluate.acebench.rendering import Rendering, reply_of, request_of
from stages.evaluate.acebench.scoring import score_task
from stages.evaluate.acebench.special import reference_reply
from stages.evaluate.benchmark import Control, Episode, Score
from stages.evaluate.loop import OneByOne, Silent, run_tasks
from stages.records import EpisodeRecord, Json, Message, ToolSpec

BAD_REFERENCES: Mapping[Language, frozenset[str]] = {
    "en": frozenset({"normal_single_turn_parallel_function_42", "normal_preference_40"}),
    "zh": frozenset(
        {
            "normal_single_turn_parallel_function_45",
            "normal_single_turn_parallel_function_80",
            "normal_atom_list_28",
            "normal_atom_object_short_1",
        }
    ),
}
"""Items whose own reference fails the published rule."""


class AceBench:
    """The normal and special tasks of one language in one rendering.

    Args:
        directory: the folder that holds `data_en` and `data_zh`.
        language: `en` or `zh`.
        rendering: `native` (ACEBench's own notation) or `training` (tools and tool calls).

    Raises:
        BenchmarkUnavailableError: the data is not there; the message says how to get it.
    """

    def __init__(
        self, directory: Path | None = None, language: Language = "en", rendering: Rendering = "native"
    ) -> None:
        self.data = AceData(directory, language)
        self.language = language
        self.rendering = rendering
        self.name = f"acebench_{language}_{rendering}"

    @cached_property
    def version(self) -> str:
        """Revision of the data, language and rendering."""
        return f"{self.data.revision}, {self.language}, {self.rendering}"

    def tasks(self) -> Sequence[Task]:
        """All tasks, category by category."""
        return self._all

    @cached_property
    def _all(self) -> tuple[Task, ...]:
        return self.data.tasks()

    def play(self, task: Task) -> Episode:
        """Ask a task's items one after the other."""
        said: list[Message] = []
        replies: list[Json] = []
        for item in task.items:
            request = request_of(item, task.category, self.language, self.rendering)
            said.extend(request.messages)
            reply = yield request
            replies.append(len(said))
            said.append(reply)
        return EpisodeRecord(tuple(said), (), "", "answered", {"replies": replies})

    def score(self, task: Task, episode: EpisodeRecord) -> Score:
        """The verdict on a task, from the replies in its record."""
        return score_task(task, episode, self.rendering)

    def controls(self) -> tuple[Control, ...]:
        """Runs over all items with a known score: references, nothing, and references short of a call."""
        normal = [task for task in self.tasks() if task.category not in SPECIAL]
        special = [task for task in self.tasks() if task.category in SPECIAL]
        bad = sum(item.id in BAD_REFERENCES[self.language] for task in normal for item in task.items)
        return (
            self._control("gold_replay_normal", normal, self._gold, lambda total: total - bad),
            self._control("gold_replay_special", special, self._gold, lambda total: total),
            self._control("do_nothing", [*normal, *special], lambda task: OneByOne(Silent()), lambda total: 0),
            self._control("last_call_dropped", normal, self._short, lambda total: 0),
        )

    def _control(
        self,
        name: str,
        tasks: Sequence[Task],
        agent_of: Callable[[Task], OneByOne],
        expected: Callable[[int], int],
    ) -> Control:
        rows = [run_tasks(self, [task], agent_of(task), width=1)[0] for task in tasks]
        total = sum(len(task.items) for task in tasks)
        return Control(name, sum(row.score.counts.get("items_passed", 0) for row in rows), total, expected(total))

    def _gold(self, task: Task) -> OneByOne:
        return OneByOne(Scripted([self.reference(task.category, item) for item in task.items]))

    def _short(self, task: Task) -> OneByOne:
        return OneByOne(Scripted([reply_of(item.gold()[0][:-1], self.rendering) for item in task.items]))

    def reference(self, category: str, item: Item) -> Message:
        """The reply that an item's first reference amounts to."""
        for special in SPECIAL:
            if special == category:
                return Message("assistant", reference_reply(special, item.faults))
        return reply_of(item.gold()[0], self.rendering)


@dataclass(slots=True)
class Scripted:
    """An agent that says given messages in order."""

    lines: list[Message]

    def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
        """The next message."""
        return self.lines.pop(0)
