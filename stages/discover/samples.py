"""Runs of single tools, each on a fork of the untouched session: calls that work, and calls that fail."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from servers.kernel.dice import Dice
from servers.kernel.server import Outcome, ToolServer
from servers.kernel.session import Session
from servers.kernel.store import Effects
from servers.kernel.tool import Tool
from stages.sampling import Binding, LiveState

TRIES_PER_BINDING = 12
"""Bindings drawn for each working one that is wanted."""


@dataclass(frozen=True, slots=True)
class Run:
    """A call that works, with what it read and wrote, its result and the session after it."""

    binding: Binding
    effects: Effects
    text: str
    after: Session


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that fails, and how."""

    binding: Binding
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Samples:
    """What became of one tool by itself."""

    works: tuple[Run, ...]
    fails: tuple[Failure, ...]


def sample(server: ToolServer, live: LiveState, session: Session, tool: Tool, count: int) -> Samples:
    """Draw up to `count` working calls of a tool, and up to `count` failing ones for each error code.

    Args:
        server: the tool's server.
        live: what exists in the session.
        session: where the calls start from; it is not changed.
        tool: the tool.
        count: how many working calls are wanted.
    """
    works: list[Run] = []
    fails: list[Failure] = []
    by_code: Counter[str] = Counter()
    for attempt in range(count * TRIES_PER_BINDING):
        if len(works) >= count and len(fails) >= 2 * count:
            break
        binding = live.bind(tool, Dice(attempt, f"discover/{tool.name}"))
        if binding is None:
            break
        fork = session.fork()
        outcome = server.call(fork, tool.name, binding.arguments)
        if outcome.ok and len(works) < count:
            works.append(Run(binding, outcome.effects, outcome.text, fork))
        elif not outcome.ok and by_code[outcome.error_code] < count:
            by_code[outcome.error_code] += 1
            fails.append(Failure(binding, outcome))
    return Samples(tuple(works), tuple(fails))
