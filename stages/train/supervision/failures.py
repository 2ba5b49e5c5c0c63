"""Which queries failed in the last steps of a phase, and the episodes that did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from stages.episodes import ScoredEpisode


class Failures:
    """Remembers the episodes of the last `window` steps; an episode failed if its outcome is wrong.

    The outcome (right final state and every required fact observed) decides under the dense reward too.
    Masked episodes say nothing.
    """

    def __init__(self, window: int) -> None:
        self._window = window
        self._steps: dict[int, list[ScoredEpisode]] = {}

    def observe(self, step: int, episodes: Sequence[ScoredEpisode]) -> None:
        """Remember a step and forget those that fell out of the window."""
        self._steps[step] = [e for e in episodes if not e.reward.masked]
        for old in [s for s in self._steps if s <= step - self._window or s > step]:
            del self._steps[old]

    def queries(self, rule: Literal["all", "any"]) -> dict[str, ScoredEpisode]:
        """Row ids whose episodes all failed (or any did), each with its worst episode, earliest first."""
        of_row: dict[str, list[ScoredEpisode]] = {}
        for step in sorted(self._steps):
            for episode in self._steps[step]:
                of_row.setdefault(episode.row, []).append(episode)
        found = {}
        for row, episodes in of_row.items():
            failed = [e for e in episodes if not e.reward.outcome]
            if failed and (rule == "any" or len(failed) == len(episodes)):
                found[row] = min(failed, key=lambda e: e.reward.total)
        return found
