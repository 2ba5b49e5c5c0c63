"""The reward of a training run; where it judges the process, its skill library follows the policy.

Every `reward.scribe.refresh` steps the library takes in the episodes since the last refresh (SCRIBE, arXiv 2601.03555),
under its prototypes' old ids. Validation keeps the library of the data, so that its rewards compare over the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stages.dataset import RlRow
from stages.episodes import ScoredEpisode
from stages.records import EpisodeRecord
from stages.skills import refreshed_scorer, scorer_for
from stages.stage import StageContext


class Scoring:
    """Scores episodes, and hears of finished steps; after a resume it hears of all of them again, in order."""

    def __init__(self, ctx: StageContext[Any]) -> None:
        self._ctx = ctx
        self._given = self._scorer = scorer_for(ctx)
        self._every = self._given.rules.scribe.refresh if self._given.judge else 0
        self._steps: dict[int, Sequence[ScoredEpisode]] = {}
        self._refreshed = 0

    def score(self, policy: str, row: RlRow, sample: int, record: EpisodeRecord) -> ScoredEpisode:
        """Score a finished episode of a row by the library of the moment."""
        return self._scorer.score(policy, row, sample, record)

    def observe(self, step: int, episodes: Sequence[ScoredEpisode]) -> None:
        """Take in a step; at every `refresh`-th the library is made anew."""
        if not self._every:
            return
        if step <= self._refreshed:  # gone back to before the last refresh
            self._scorer, self._refreshed = self._given, 0
        self._steps = {s: kept for s, kept in self._steps.items() if step - self._every < s < step} | {step: episodes}
        if step % self._every == 0:
            seen = [episode for s in sorted(self._steps) for episode in self._steps[s] if not episode.reward.masked]
            self._scorer = refreshed_scorer(self._given.rules, seen, self._ctx.catalog)
            self._refreshed = step
