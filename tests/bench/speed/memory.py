"""What an open session keeps in memory after a conversation, as Python counts it and as the system does."""

from __future__ import annotations

import gc
import resource
import tracemalloc
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from pathlib import Path

from servers.kernel.pool import SessionPool
from stages.conversations import Conversation
from tests.bench.speed.figures import Figure, at_most
from tests.bench.speed.material import SEED, catalog, conversations
from tests.bench.speed.timing import Scale, growth, middle

SESSIONS = 20
"""Sessions at the smallest size; the largest has a hundred times as many."""


def measure(scale: Scale) -> list[Figure]:
    """The figures of the family; the process must be one that has measured nothing else."""
    chosen = conversations()[:200]
    _open(chosen, len(chosen)).clear()  # what is made once is not a session's
    sizes = [SESSIONS * factor for factor in scale.factors]
    resident = [_grown(chosen, sizes[-1], _resident) / sizes[-1] / 1000]
    tracemalloc.start()
    rounds = min(3, scale.repeats)
    taken = {count: [_grown(chosen, count, _traced) for _ in range(rounds)] for count in sizes}
    tracemalloc.stop()
    value, spread = middle([bytes_ / sizes[-1] / 1000 for bytes_ in taken[sizes[-1]]])
    about = f"{sizes[-1]:,} open sessions after {_mean_calls(chosen):.1f} calls each"
    return [
        Figure(
            name="memory traced",
            family="memory",
            title=f"memory of a session (tracemalloc): {about}",
            value=value,
            unit="kB",
            spread=spread,
            targets=(at_most(50), at_most(1.1, "exponent")),
            growth=growth("sessions (bytes, not seconds)", taken),
        ),
        Figure(
            name="memory resident",
            family="memory",
            title=f"memory of a session (resident set): {about}",
            value=middle(resident)[0],
            unit="kB",
            spread=middle(resident)[1],
            targets=(at_most(50),),
        ),
    ]


def _open(chosen: Sequence[Conversation], count: int) -> list[SessionPool]:
    """A pool with so many sessions, each after the calls of one of the conversations."""
    pool = SessionPool(catalog(), capacity=count)
    for made in islice(cycle(chosen), count):
        handle = pool.open(SEED)
        for turn in made.turns:
            pool.user_turn(handle)
            for call in turn.calls:
                if call.executed and call.arguments is not None:
                    pool.call(handle, call.name, call.arguments)
    return [pool]


def _grown(chosen: Sequence[Conversation], count: int, used: Callable[[], int]) -> float:
    """Bytes that so many sessions add."""
    gc.collect()
    before = used()
    kept = _open(chosen, count)
    gc.collect()
    added = used() - before
    kept.clear()
    return float(max(1, added))


def _traced() -> int:
    return tracemalloc.get_traced_memory()[0]


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def _mean_calls(chosen: Sequence[Conversation]) -> float:
    return sum(len(turn.calls) for made in chosen for turn in made.turns) / len(chosen)
