"""ETS, error-targeted SFT: queries that the policy keeps failing are imitated in the pauses of GRPO."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from stages.dataset import RlRow, SftRow
from stages.episodes import ScoredEpisode
from stages.records import Message
from stages.train.supervision.demonstrations import Demonstrations
from stages.train.supervision.failures import Failures
from stages.train.supervision.lessons import whole_turn
from stages.train.supervision.signal import Signal


class Ets(Signal):
    """The interleaved signal by imitation; `schedule` holds the steps after which it acts."""

    def __init__(
        self,
        rows: Sequence[RlRow],
        right: Demonstrations,
        schedule: tuple[int, ...],
        window: int,
        failing: Literal["all", "any"],
    ) -> None:
        self._rows: Mapping[str, RlRow] = {row.id: row for row in rows}
        self._right, self._schedule, self._failing = right, schedule, failing
        self._failures = Failures(window)

    @property
    def pauses(self) -> tuple[int, ...]:
        """The schedule."""
        return self._schedule

    def observe(self, step: int, episodes: Sequence[ScoredEpisode]) -> None:
        """Remember who failed."""
        self._failures.observe(step, episodes)

    def lessons(self, step: int) -> list[SftRow]:
        """The right turn of every failing query."""
        return [whole_turn(row, right) for row, _, right in self.failing()]

    def failing(self) -> list[tuple[RlRow, ScoredEpisode, Sequence[Message]]]:
        """Each failing query with its worst episode and its right turn."""
        found = self._failures.queries(self._failing)
        rows = [(self._rows[name], episode) for name, episode in found.items()]
        return [(row, episode, right) for row, episode in rows if (right := self._right.of(row))]
