"""OPS, optimal-policy supervision: part of each group is the ground truth, played in the environment.

The demonstration is executed and scored like any episode, its advantage is that over the whole group, and
its probability ratio is the one of every other episode: the present policy over the policy before the update.
"""

from __future__ import annotations

from collections.abc import Sequence

from stages.dataset import RlRow
from stages.train.supervision.demonstrations import Demonstrations
from stages.train.supervision.signal import SAMPLED, Member, Signal


class Ops(Signal):
    """The synchronous signal by demonstration; `share` of a group, at least one."""

    def __init__(self, right: Demonstrations, share: float) -> None:
        self._right, self._share = right, share

    def groups(self, rows: Sequence[RlRow], size: int) -> list[list[Member]]:
        """Demonstrations first; the group of a row without one is sampled as a whole."""
        return [self._group(row, size) for row in rows]

    def _group(self, row: RlRow, size: int) -> list[Member]:
        replies = self._right.replies(row)
        count = max(1, round(self._share * size)) if replies else 0
        return [Member(replies=replies)] * count + [SAMPLED] * (size - count)
