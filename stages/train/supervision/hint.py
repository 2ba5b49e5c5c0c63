"""HBG, hint-based guidance: part of each group is sampled under a hint that the loss never sees."""

from __future__ import annotations

from collections.abc import Sequence

from stages.dataset import RlRow
from stages.episodes import ScoredEpisode
from stages.train.supervision.hinter import Hinter, Query
from stages.train.supervision.signal import SAMPLED, Member, Signal


class Hint(Signal):
    """The synchronous signal by hints; `share` of a group, at least one, of at most `words` words each."""

    def __init__(self, hinter: Hinter, share: float, words: int) -> None:
        self._hinter, self._share, self._words = hinter, share, words
        self._failed: dict[str, ScoredEpisode] = {}

    def groups(self, rows: Sequence[RlRow], size: int) -> list[list[Member]]:
        """Hinted members first; where there is no hint, the group is sampled as a whole."""
        texts = self._hinter.hints([Query(row, self._failed.get(row.id)) for row in rows])
        return [self._group(shortened(text, self._words), size) for text in texts]

    def observe(self, step: int, episodes: Sequence[ScoredEpisode]) -> None:
        """Remember each row's last failure."""
        for episode in episodes:
            if not episode.reward.masked and not episode.reward.outcome:
                self._failed[episode.row] = episode

    def _group(self, text: str, size: int) -> list[Member]:
        count = max(1, round(self._share * size)) if text else 0
        return [Member(hint=text)] * count + [SAMPLED] * (size - count)


def shortened(text: str, words: int) -> str:
    """The text's first `words` words, with its line breaks."""
    kept: list[str] = []
    for line in text.splitlines():
        said = line.split(" ")
        kept.append(" ".join(said[:words]))
        words -= len(said)
        if words <= 0:
            break
    return "\n".join(kept)
