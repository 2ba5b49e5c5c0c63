"""Conversations that the scripted teacher writes a second on one core, and that validation then accepts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from stages.conversations import from_row
from stages.params import ValidateParams
from stages.stage import StageContext
from stages.synthesize.shards import SHARD_SIZE
from stages.synthesize.writer import Writer
from stages.validate.overlap import Decontaminator
from stages.validate.reasons import Rejection
from stages.validate.verdicts import Checker
from tests.bench.speed.figures import Figure, at_least, at_most
from tests.bench.speed.material import SEED, chains, context, jobs
from tests.bench.speed.timing import Load, Scale, growth, in_turn, rate

LARGEST = 300
"""Conversations. All of them are written each time, in shards of growing size: some cost twice what others do."""


def measure(scale: Scale) -> list[Figure]:
    """The figures of the family."""
    with asyncio.Runner() as loop:
        writer = Writer(context(), chains())
        wanted = jobs(LARGEST)
        written: list[dict[str, Any]] = []

        def write(size: int) -> Callable[[], None]:
            def run() -> None:
                written.clear()
                for start in range(0, LARGEST, size):
                    written.extend(loop.run(writer.shard(wanted[start : start + size])))

            return run

        write(SHARD_SIZE)()
        share = accepted(written) / LARGEST
        sizes = [max(2, LARGEST * factor // scale.factors[-1]) for factor in scale.factors]
        loads = {str(n): Load(write(n), LARGEST) for n in sizes}
        seconds = in_turn(loads, min(3, scale.repeats))
    largest = seconds[str(sizes[-1])]
    value, spread = rate([each / share for each in largest])
    return [
        Figure(
            name="synthesis",
            family="synthesis",
            title="accepted conversations of the scripted teacher",
            value=value,
            unit="conversations/s",
            spread=spread,
            targets=(at_least(50), at_most(1.1, "exponent")),
            growth=growth("conversations in a shard", {n: [each * n for each in seconds[str(n)]] for n in sizes}),
            note=f"{share:.1%} of {LARGEST} are accepted; only the writing is timed",
        )
    ]


def accepted(rows: Sequence[dict[str, Any]]) -> int:
    """How many rows validation accepts."""
    checker = Checker(StageContext("validate", ValidateParams(), SEED), Decontaminator([], 8))
    made = [from_row(row) for row in rows if "unwritten" not in row]
    return sum(not isinstance(checker.check(item), Rejection) for item in made)
