"""Calls that work and change something, drawn from the live state of each server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from servers.kernel.catalog import Catalog
from servers.kernel.dice import Dice
from servers.kernel.session import Session
from stages.records import Json
from stages.sampling import LiveState


@dataclass(frozen=True, slots=True)
class Write:
    """A call that changes the world of the seed; `reads` tells a call that only looks."""

    tool: str
    arguments: Mapping[str, Json]
    reads: bool = False


def drawn_calls(catalog: Catalog, server: str, session: Session, count: int, label: str) -> list[Write]:
    """Calls of a server that work one after the other from the session's present; the session is left as it was.

    Reads and writes take turns as far as the server has both.
    """
    going, dice, found = session.fork(), Dice(11, f"{server}/{label}"), list[Write]()
    tools = dice.shuffled(list(catalog.servers[server].tools.values()))
    for number in range(10 * count):
        if len(found) == count:
            break
        reads = len(found) % 2 == 0
        fitting = [tool for tool in tools if tool.read_only == reads]
        tool = fitting[number % len(fitting)]
        binding = LiveState(catalog, catalog.servers[server], going).working_binding(tool, dice)
        if binding is not None and catalog.call(going, tool.name, binding.arguments).ok:
            found.append(Write(tool.name, dict(binding.arguments), reads))
    assert len(found) == count, f"{server}: {len(found)} of {count} calls work"
    return found


def first_write(catalog: Catalog, server: str) -> Write:
    """A call that changes something in a fresh session."""
    session = Session(catalog.world(0))
    live = LiveState(catalog, catalog.servers[server], session)
    for tool in catalog.servers[server].tools.values():
        binding = None if tool.read_only else live.working_binding(tool, Dice(11, tool.name))
        if binding is not None:
            outcome = catalog.call(session.fork(), tool.name, binding.arguments)
            if outcome.effects.writes:
                return Write(tool.name, dict(binding.arguments))
    raise AssertionError(f"no call of {server} changes anything")
