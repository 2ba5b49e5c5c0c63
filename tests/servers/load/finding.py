"""What a measurement found of one demand: tests assert it at a small size, `tests.bench.load` prints the whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

GROWTH = 0.05
"""How much memory may grow after the warm-up, as a share."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A demand, the figure that was seen, the one that is wanted, and whether the demand holds."""

    demand: str
    seen: str
    wanted: str
    holds: bool


def equal(demand: str, seen: object, wanted: object) -> Finding:
    """Holds if both are the same."""
    return Finding(demand, str(seen), str(wanted), seen == wanted)


def within(demand: str, seconds: float, most: float) -> Finding:
    """Holds if it took no longer than `most` seconds."""
    return Finding(demand, f"{seconds:.2f} s", f"at most {most:g} s", seconds <= most)


def growth(demand: str, before: int, after: int) -> Finding:
    """Holds if the resident bytes grew by less than `GROWTH`."""
    share = after / before - 1
    seen = f"{share:+.2%} ({before / 2**20:.0f} → {after / 2**20:.0f} MiB)"
    return Finding(demand, seen, f"under {GROWTH:.0%}", share < GROWTH)


def assert_all(findings: Iterable[Finding]) -> None:
    """Fail with every demand that does not hold."""
    broken = [f"{found.demand}: {found.seen}, wanted {found.wanted}" for found in findings if not found.holds]
    assert not broken, "; ".join(broken)
