"""Seeded choice without the standard library's generator.

Every draw is a hash of (seed, label, counter), so the same seed gives the same world on any machine
and any Python version, and two labels never disturb each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """A deterministic stream of choices for one seed and label."""

    def __init__(self, seed: int, label: str) -> None:
        self._key = f"{seed}/{label}/".encode()
        self._count = 0

    def _draw(self) -> int:
        self._count += 1
        return int.from_bytes(blake2b(self._key + str(self._count).encode(), digest_size=8).digest())

    def integer(self, low: int, high: int) -> int:
        """A whole number between `low` and `high`, both included."""
        if high < low:
            raise ValueError(f"empty range {low}..{high}")
        return low + self._draw() % (high - low + 1)

    def unit(self) -> float:
        """A number in [0, 1)."""
        return (self._draw() >> 11) / 9007199254740992.0

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self.unit() < probability

    def choice(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.integer(0, len(items) - 1)]

    def weighted(self, items: Sequence[T], weights: Sequence[float]) -> T:
        """One of the items, each as likely as its weight says."""
        point = self.unit() * sum(weights)
        for item, weight in zip(items, weights, strict=True):
            point -= weight
            if point < 0:
                return item
        return items[-1]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """A new list with the items in another order."""
        out = list(items)
        for last in range(len(out) - 1, 0, -1):
            other = self.integer(0, last)
            out[last], out[other] = out[other], out[last]
        return out

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """`count` different items (all of them when there are fewer), in drawn order."""
        return self.shuffled(items)[:count]
