"""One published figure: a value with its unit and spread, what it is held against, and whether that is met."""

from __future__ import annotations

import operator
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

Bound: TypeAlias = Literal["at least", "at most"]
_HOLDS = {"at least": operator.ge, "at most": operator.le}


class Strict(BaseModel):
    """Base of all that is read back: no unknown fields, no NaN, never changed."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Target(Strict):
    """What a figure must reach: its value, its ratio to the reference, or the exponent of its growth."""

    of: Literal["value", "ratio", "exponent"]
    bound: Bound
    limit: float

    def __str__(self) -> str:
        what = {"value": "", "ratio": "ratio ", "exponent": "exponent "}[self.of]
        return f"{what}{self.bound} {self.limit:g}"


class Growth(Strict):
    """Seconds of the same work at several sizes, and the exponent of the power of the size that fits them."""

    axis: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    exponent: float


class Figure(Strict):
    """A measured figure.

    `spread` holds the quartiles of the value over the repetitions. `ratio` says how many times better the value
    is than the reference's, each pair measured side by side. `targets` is empty where nothing was promised.
    """

    name: str
    family: str
    title: str
    value: float
    unit: str
    spread: tuple[float, float]
    reference: str = ""
    ratio: float | None = None
    targets: tuple[Target, ...] = ()
    growth: Growth | None = None
    note: str = ""

    def seen(self, target: Target) -> float | None:
        """The number that a target is about."""
        if target.of == "exponent":
            return self.growth.exponent if self.growth else None
        return self.ratio if target.of == "ratio" else self.value

    def missed(self) -> list[Target]:
        """The targets that do not hold; one whose number was not measured does not."""
        return [t for t in self.targets if (v := self.seen(t)) is None or not _HOLDS[t.bound](v, t.limit)]

    @property
    def met(self) -> bool | None:
        """Whether every target holds; None where there is none."""
        return not self.missed() if self.targets else None


def at_least(limit: float, of: Literal["value", "ratio", "exponent"] = "value") -> Target:
    """A floor."""
    return Target(of=of, bound="at least", limit=limit)


def at_most(limit: float, of: Literal["value", "ratio", "exponent"] = "value") -> Target:
    """A ceiling."""
    return Target(of=of, bound="at most", limit=limit)
