"""Edges found by running tools: on a fresh session, B alone and B after A.

*Explicit*: A's output is fed to B. The edge stands if B then works, and fails with an identifier that
A has not shown (or, for something that A creates, on a session where A has not run). An identifier that A
was given itself is none of its outputs.
*Implicit*: B fails on the fresh session with some live arguments, and works after A on the same things.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from servers.kernel.catalog import Catalog
from servers.kernel.dice import Dice
from servers.kernel.server import Outcome, ToolServer
from servers.kernel.session import Session
from servers.kernel.store import Effects
from servers.kernel.tool import Parameter, Tool
from stages.discover.edges import Edge
from stages.sampling import Binding, LiveState, PlannedCall, Thing, shown_entities, strings, walk

ABSENT = "no-such-id"
"""An identifier that no session ever issues."""

UNRELATED_TRIES = 3
"""How much longer an enabling call is sought that shares no thing with the one that it enables."""

SIGHTINGS = 3
"""How many of A's outputs are tried as B's input."""


@dataclass(frozen=True, slots=True)
class Run:
    """A binding that works, with what it read and wrote."""

    binding: Binding
    effects: Effects
    text: str
    after: Session


class Executor:
    """Tries every pair of one server's tools.

    Args:
        catalog: the servers.
        server: the one whose pairs are tried.
        world: seed number of the sessions.
        bindings: how many working and how many failing argument sets are drawn for each tool.
    """

    def __init__(self, catalog: Catalog, server: ToolServer, world: int, bindings: int) -> None:
        self._server = server
        self._session = Session(catalog.world(world))
        self._live = LiveState(catalog, server, self._session)
        self._count = bindings
        self._works: dict[str, list[Run]] = {}
        self._fails: dict[str, list[tuple[Binding, Outcome]]] = {}

    def edges(self) -> Iterator[Edge]:
        """Every edge with schema, trace or execution evidence, in the order of the tools."""
        for tool in self._server.tools.values():
            self._sample(tool)
        for first in self._server.tools.values():
            for second in self._server.tools.values():
                if first is not second:
                    yield from self._pair(first, second)

    def _sample(self, tool: Tool) -> None:
        works: list[Run] = []
        fails: list[tuple[Binding, Outcome]] = []
        by_code: Counter[str] = Counter()
        for attempt in range(self._count * 12):
            if len(works) >= self._count and len(fails) >= 2 * self._count:
                break
            binding = self._live.bind(tool, Dice(attempt, f"discover/{tool.name}"))
            if binding is None:
                break
            fork = self._session.fork()
            outcome = self._server.call(fork, tool.name, binding.arguments)
            if outcome.ok and len(works) < self._count:
                works.append(Run(binding, outcome.effects, outcome.text, fork))
            elif not outcome.ok and by_code[outcome.error_code] < self._count:
                by_code[outcome.error_code] += 1
                fails.append((binding, outcome))
        self._works[tool.name], self._fails[tool.name] = works, fails

    def _pair(self, first: Tool, second: Tool) -> Iterator[Edge]:
        traced = self._traced(first, second)
        parameter = next((p for p in second.parameters if p.required and p.entity in shown_entities(first)), None)
        fed = self._feeds(first, second, parameter) if parameter else ""
        enabled = self._enables(first, second) if traced and not fed else ""
        if parameter and not enabled:
            yield Edge(
                self._server.name, first.name, second.name, "explicit", parameter.name,
                schema=True, trace=traced, executed=bool(fed), error_code=fed,
            )  # fmt: skip
        elif traced:
            yield Edge(
                self._server.name, first.name, second.name, "implicit",
                trace=True, executed=bool(enabled), error_code=enabled,
            )  # fmt: skip

    def _traced(self, first: Tool, second: Tool) -> bool:
        tables = {table for run in self._works[first.name] for table, _ in run.effects.writes}
        runs = [run.effects for run in self._works[second.name]]
        runs += [outcome.effects for _, outcome in self._fails[second.name]]  # it may never work at first
        return any(table in tables for effects in runs for table, _ in effects.reads)

    def _feeds(self, first: Tool, second: Tool, parameter: Parameter) -> str:
        """The error that `second` gives without an output of `first` that makes it work."""
        assert parameter.entity is not None
        for run in self._works[first.name]:
            call = PlannedCall(first.name, run.binding.arguments)
            own = set(strings(run.binding.arguments))
            found = [s for s in walk(first, json.loads(run.text), parameter.entity) if s.id not in own]
            for seen in found[:SIGHTINGS]:
                thing = Thing(parameter.entity, seen.id, seen.shown, call)
                for attempt in range(self._count):
                    dice = Dice(attempt, f"feed/{first.name}/{second.name}")
                    binding = self._live.bind(second, dice, {parameter.name: thing})
                    if binding and self._server.call(run.after.fork(), second.name, binding.arguments).ok:
                        code = self._without(second, parameter, binding)
                        if code:
                            return code
        return ""

    def _without(self, second: Tool, parameter: Parameter, binding: Binding) -> str:
        """How `second` fails when it does not have what `first` gave it."""
        fresh = self._server.call(self._session.fork(), second.name, binding.arguments)
        if not fresh.ok:
            return fresh.error_code
        absent = {
            **binding.arguments,
            parameter.name: ABSENT if isinstance(binding.arguments[parameter.name], str) else [ABSENT],
        }
        return self._server.call(self._session.fork(), second.name, absent).error_code

    def _enables(self, first: Tool, second: Tool) -> str:
        """The error that `second` gives before `first` has run and no longer gives after it."""
        for binding, failed in self._fails[second.name]:
            shared = {
                p.name: things[0]
                for p in first.parameters
                for things in binding.things.values()
                if p.entity == things[0].entity and p.schema.get("type") != "array"
            }
            for attempt in range(self._count if shared else UNRELATED_TRIES * self._count):
                before = self._live.bind(first, Dice(attempt, f"enable/{first.name}/{second.name}"), shared)
                if before is None:
                    break
                fork = self._session.fork()
                if (
                    self._server.call(fork, first.name, before.arguments).ok
                    and self._server.call(fork, second.name, binding.arguments).ok
                ):
                    return failed.error_code
        return ""
