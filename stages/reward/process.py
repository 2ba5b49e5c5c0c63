"""R_process: how well the middle of an episode was done, by whoever judges it.

The reward knows the judge by this interface alone; `stages.skills.scorer_under` makes the one of SCRIBE.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from stages.records import EpisodeRecord, ToolSpec


class ProcessJudge(Protocol):
    """Judges the steps of an episode without its ground truth; the same episode gets the same score."""

    def process(self, visible: Sequence[ToolSpec], record: EpisodeRecord) -> float:
        """The process score of an episode, in [0, 1], given the tools that the model could see."""
