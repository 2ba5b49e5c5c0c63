"""Edges found by running tools: on a fresh session, B alone and B after A.

*Explicit*: A's output is fed to B. The edge stands if B then works, and fails with an identifier that
A has not shown (or, for something that A creates, on a session where A has not run). An identifier that A
was given itself is none of its outputs.
*Implicit*: B fails on the fresh session with some live arguments, and works after A with the same ones. The
store's trace has to name a row that A wrote and B reads, and B has to fail as well when only as much time has
passed as A took; else it was not A's doing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from servers.kernel.catalog import Catalog
from servers.kernel.dice import Dice
from servers.kernel.server import ToolServer
from servers.kernel.session import Session
from servers.kernel.store import Effects, RowRef
from servers.kernel.tool import Parameter, Tool
from stages.discover import evidence
from stages.discover.edges import Edge, Pair
from stages.discover.evidence import Trial
from stages.discover.samples import Failure, Run, Samples, sample
from stages.sampling import Binding, LiveState, PlannedCall, Thing, shown_entities, strings, walk

ABSENT = "no-such-id"
"""An identifier that no session ever issues."""

UNRELATED_TRIES = 3
"""How much longer an enabling call is sought that shares no thing with the one that it enables."""

SIGHTINGS = 3
"""How many of A's outputs are tried as B's input."""


class Executor:
    """Tries every pair of one server's tools.

    `evidence` says for each ordered pair, once `edges` has passed it, what decided about it.

    Args:
        catalog: the servers.
        server: the one whose pairs are tried.
        world: seed number of the sessions.
        bindings: how many working and how many failing argument sets are drawn for each tool.
    """

    def __init__(self, catalog: Catalog, server: ToolServer, world: int, bindings: int) -> None:
        self.evidence: dict[Pair, str] = {}
        self._server = server
        self._session = Session(catalog.world(world))
        self._live = LiveState(catalog, server, self._session)
        self._count = bindings
        self._samples: dict[str, Samples] = {}

    def edges(self) -> Iterator[Edge]:
        """Every edge with schema, trace or execution evidence, in the order of the tools."""
        tools = self._server.tools.values()
        self._samples = {t.name: sample(self._server, self._live, self._session, t, self._count) for t in tools}
        for first in tools:
            for second in tools:
                if first is not second:
                    yield from self._pair(first, second)

    def _pair(self, first: Tool, second: Tool) -> Iterator[Edge]:
        traced = self._traced(first, second)
        parameter = next((p for p in second.parameters if p.required and p.entity in shown_entities(first)), None)
        fed = self._feeds(first, second, parameter) if parameter else evidence.unfed(first, second)
        if fed.code:
            enabled = Trial("", "")
        else:
            enabled = self._enables(first, second) if traced else evidence.untraced(first, second)
        decided = fed if fed.code else enabled if enabled.code else Trial("", f"{fed.text}; {enabled.text}")
        self.evidence[first.name, second.name] = decided.text
        if parameter and not enabled.code:
            yield Edge(
                self._server.name, first.name, second.name, "explicit", parameter.name, schema=True, trace=traced,
                executed=bool(fed.code), error_code=fed.code, evidence=decided.text,
            )  # fmt: skip
        elif traced:
            yield Edge(
                self._server.name, first.name, second.name, "implicit", trace=True,
                executed=bool(enabled.code), error_code=enabled.code, evidence=decided.text,
            )  # fmt: skip

    def _traced(self, first: Tool, second: Tool) -> bool:
        written = {table for run in self._samples[first.name].works for table, _ in run.effects.writes}
        runs = [run.effects for run in self._samples[second.name].works]
        runs += [failure.outcome.effects for failure in self._samples[second.name].fails]  # it may never work at first
        return any(table in written for effects in runs for table, _ in effects.reads)

    def _feeds(self, first: Tool, second: Tool, parameter: Parameter) -> Trial:
        """Whether an output of `first` makes `second` work that fails without it."""
        assert parameter.entity is not None
        shown, worked = 0, False
        for run in self._samples[first.name].works:
            for thing in self._outputs(first, run, parameter.entity):
                shown += 1
                for attempt in range(self._count):
                    dice = Dice(attempt, f"feed/{first.name}/{second.name}")
                    binding = self._live.bind(second, dice, {parameter.name: thing})
                    if binding and self._server.call(run.after.fork(), second.name, binding.arguments).ok:
                        worked = True
                        code = self._without(second, parameter, binding)
                        if code:
                            return evidence.fed(run.binding, parameter, thing.id, binding, code)
        return evidence.not_fed(first, second, parameter, shown, worked)

    def _outputs(self, first: Tool, run: Run, entity: str) -> list[Thing]:
        call = PlannedCall(first.name, run.binding.arguments)
        own = set(strings(run.binding.arguments))
        found = [seen for seen in walk(first, json.loads(run.text), entity) if seen.id not in own]
        return [Thing(entity, seen.id, seen.shown, call) for seen in found[:SIGHTINGS]]

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

    def _enables(self, first: Tool, second: Tool) -> Trial:
        """Whether `second` fails before `first` has run, and works after it because of what it wrote."""
        tries = 0
        for failure in self._samples[second.name].fails:
            for before in self._preludes(first, second, failure.binding):
                tries += 1
                rows = self._rows_that_helped(before, failure)
                if rows:
                    return evidence.enabled(before, failure, rows)
        return evidence.not_enabled(first, second, self._samples[second.name].fails, tries)

    def _preludes(self, first: Tool, second: Tool, binding: Binding) -> Iterator[Binding]:
        """Calls of `first`, on the same things as the call that it may enable where they share a kind."""
        shared = {
            p.name: things[0]
            for p in first.parameters
            for things in binding.things.values()
            if p.entity == things[0].entity and p.schema.get("type") != "array"
        }
        for attempt in range(self._count if shared else UNRELATED_TRIES * self._count):
            before = self._live.bind(first, Dice(attempt, f"enable/{first.name}/{second.name}"), shared)
            if before is None:
                return
            yield before

    def _rows_that_helped(self, before: Binding, failure: Failure) -> list[RowRef]:
        """The rows written by the first call and read by the second that now works; none if that isn't why."""
        session, second = self._session.fork(), failure.binding
        ran = self._server.call(session, before.tool, before.arguments)
        if not ran.ok:
            return []
        now = session.now
        then = self._server.call(session, second.tool, second.arguments)
        if not then.ok:
            return []
        waited = self._session.fork()
        waited.restore(replace(waited.snapshot(), time=now))
        if self._server.call(waited, second.tool, second.arguments).ok:
            return []
        return read_after_write(ran.effects, failure.outcome.effects, then.effects)


def read_after_write(wrote: Effects, failed: Effects, worked: Effects) -> list[RowRef]:
    """The rows that one call wrote and the next one read, when it failed or when it worked, in order.

    A scan records the rows that it found, so a row that begins or ceases to match is in one of the two.
    """
    return sorted(wrote.writes & (failed.reads | worked.reads))
