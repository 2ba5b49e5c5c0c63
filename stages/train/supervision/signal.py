"""What a supervisory signal may add to GRPO; every hook adds nothing unless a signal says otherwise.

A signal acts in three places: on how the members of a group come about (a hint while sampling, or a
demonstration in a sample's stead), on what it remembers of finished steps, and on what is learnt by imitation
in the pauses between phases of GRPO.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stages.dataset import RlRow, SftRow
from stages.episodes import ScoredEpisode
from stages.records import Message


@dataclass(frozen=True, slots=True)
class Member:
    """How one episode of a group comes about: sampled, sampled under a hint, or played from given replies.

    The hint stands in the system prompt while sampling and is gone before the loss.
    """

    hint: str = ""
    replies: tuple[Message, ...] = ()


SAMPLED = Member()


class Signal:
    """No signal: GRPO alone."""

    @property
    def pauses(self) -> tuple[int, ...]:
        """GRPO steps after which lessons are learnt; 0 is before the first step."""
        return ()

    def groups(self, rows: Sequence[RlRow], size: int) -> list[list[Member]]:
        """For each row of a step, how each of the `size` episodes of its group comes about."""
        return [[SAMPLED] * size for _ in rows]

    def observe(self, step: int, episodes: Sequence[ScoredEpisode]) -> None:
        """Hear of a finished step; after a resume, of all finished ones again, in order."""

    def lessons(self, step: int) -> list[SftRow]:
        """What is learnt by imitation in the pause after a step."""
        return []
