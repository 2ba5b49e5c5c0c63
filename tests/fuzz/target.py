"""What a fuzzer drives: one reader of foreign text or bytes, with inputs to start from.

A target takes any bytes. It returns when the reader gave a value or one of its documented errors, and raises on
anything else: another exception, or a value that breaks a promise.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

SLOWEST = 2.0
"""Seconds of processor time that one input may take."""


class BrokenPromiseError(AssertionError):
    """A reader gave a value that it must not give."""


@dataclass(frozen=True, slots=True)
class Target:
    """A reader under test.

    Args:
        name: by which the command selects it.
        seeds: inputs to start from, good and bad; they are tests of their own.
        run: feeds one input and raises on a finding.
    """

    name: str
    seeds: tuple[bytes, ...]
    run: Callable[[bytes], None]


def require(holds: bool, what: str) -> None:
    """Raise a finding unless the promise holds."""
    if not holds:
        raise BrokenPromiseError(what)


def text_of(data: bytes) -> str:
    """Any bytes as text; those that are no UTF-8 become halves of surrogate pairs."""
    return data.decode("utf-8", "surrogateescape")


def run_timed(target: Target, data: bytes) -> None:
    """Feed one input; taking too long is a finding too."""
    begin = time.thread_time()
    target.run(data)
    took = time.thread_time() - begin
    require(took < SLOWEST, f"took {took:.1f} s")


def mutated(seeds: tuple[bytes, ...], random: Random) -> bytes:
    """One of the seeds with a few changes: bytes replaced, pieces removed, repeated or taken from another seed."""
    data = random.choice(seeds)
    for _ in range(random.randint(1, 4)):
        start, end = sorted(random.choices(range(len(data) + 1), k=2))
        end = min(end, start + 40)
        other = random.choice(seeds)
        at = random.randint(0, len(other))
        piece = random.choice(
            (b"", bytes([random.randrange(256)]), data[start:end] * random.choice((2, 30)), other[at : at + 40])
        )
        data = data[:start] + piece + data[end:]
    return data[:20_000]
