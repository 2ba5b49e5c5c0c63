"""SFT, then RL: every right trajectory, cut into single steps, is imitated once before the first GRPO step."""

from __future__ import annotations

from collections.abc import Sequence

from stages.dataset import RlRow, SftRow
from stages.train.supervision.demonstrations import Demonstrations
from stages.train.supervision.lessons import single_steps
from stages.train.supervision.signal import Signal


class SftThenRl(Signal):
    """The sequential signal."""

    def __init__(self, rows: Sequence[RlRow], right: Demonstrations) -> None:
        self._rows, self._right = rows, right

    @property
    def pauses(self) -> tuple[int, ...]:
        """Before the first step."""
        return (0,)

    def lessons(self, step: int) -> list[SftRow]:
        """All rows' right replies."""
        return [lesson for row in self._rows for lesson in single_steps(row, self._right.of(row))]
