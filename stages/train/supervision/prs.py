"""PRS, procedural reflection: failing queries are learnt with a reflection on what went wrong, 1:1 with corrections.

Loss = SFT on the reflection given the query and its failed trajectory + SFT on the corrected calls given the query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from stages.dataset import RlRow, SftRow
from stages.episodes import ScoredEpisode
from stages.records import Message
from stages.train.supervision.ets import Ets
from stages.train.supervision.lessons import whole_turn
from stages.train.supervision.mistakes import first_mistake
from stages.train.supervision.reflector import QUESTION, Case, Reflector
from stages.train.supervision.signal import Signal


class Prs(Signal):
    """The interleaved signal by reflection on the failures that `errors` collects.

    Args:
        rows: the training rows, from which similar requests and contrasts are taken.
        errors: finds the failing queries, their right turns and the schedule.
        reflector: who writes.
        scenarios: similar requests in a reflection at most.
    """

    def __init__(self, rows: Sequence[RlRow], errors: Ets, reflector: Reflector, scenarios: int) -> None:
        self._errors, self._reflector, self._scenarios = errors, reflector, scenarios
        self._by_tool: Mapping[str, list[RlRow]] = _by_tool(rows)
        self._by_server: Mapping[str, list[RlRow]] = _by_server(rows)

    @property
    def pauses(self) -> tuple[int, ...]:
        """The schedule."""
        return self._errors.pauses

    def observe(self, step: int, episodes: Sequence[ScoredEpisode]) -> None:
        """Remember who failed."""
        self._errors.observe(step, episodes)

    def lessons(self, step: int) -> list[SftRow]:
        """For each failing query a reflection, where one could be had, and the right turn, in turns."""
        failing = self._errors.failing()
        texts = self._reflector.reflect([self._case(row, episode) for row, episode, _ in failing])
        return [
            lesson
            for (row, episode, right), text in zip(failing, texts, strict=True)
            for lesson in (*_reflections(row, episode, text), whole_turn(row, right))
        ]

    def _case(self, row: RlRow, episode: ScoredEpisode) -> Case:
        tool = first_mistake(episode).tool
        alike = [r for r in self._by_tool.get(tool, ()) if r.id != row.id][: self._scenarios]
        near = self._by_server[row.server]
        contrast = next((r for r in near if tool not in {step.name for step in r.truth} and r.id != row.id), None)
        return Case(row, episode, tuple(alike), contrast)


def _reflections(row: RlRow, episode: ScoredEpisode, text: str) -> Iterator[SftRow]:
    if text:
        said = (*episode.record.messages, Message("user", QUESTION), Message("assistant", text))
        learn = (*(False for _ in said[1:]), True)
        yield SftRow(f"{row.id}/reflection", row.kind, row.server, row.tools, said, learn)


def _by_tool(rows: Sequence[RlRow]) -> dict[str, list[RlRow]]:
    found: dict[str, list[RlRow]] = {}
    for row in rows:
        for name in dict.fromkeys(step.name for step in row.truth):
            found.setdefault(name, []).append(row)
    return found


def _by_server(rows: Sequence[RlRow]) -> dict[str, list[RlRow]]:
    found: dict[str, list[RlRow]] = {}
    for row in rows:
        found.setdefault(row.server, []).append(row)
    return found
