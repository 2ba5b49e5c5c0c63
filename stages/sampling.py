"""Live-state sampling: which real things exist in a session, how a model would find each of them, and
arguments for a tool that are bound to them.

Nothing is invented. Identifiers come from what read-only tools show, secrets from what the user of the
world knows, and the remaining values from `requests.yaml`; whether a binding works is decided by running
it on a fork of the session.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from servers.kernel.catalog import Catalog
from servers.kernel.dice import Dice
from servers.kernel.requests import ToolRequests, load_requests, placeholders
from servers.kernel.server import ToolServer
from servers.kernel.session import Session
from servers.kernel.tool import Parameter, Tool
from stages.records import Json

LABELS = ("name", "title", "label", "subject", "summary", "description", "text", "memo")
"""Fields that people use to name a thing, best first."""

ENUMERATION_LIMIT = 50
MOST_PAGES = 12
"""Pages of one listing that are read."""

PARENTS = 12
"""How many parents are opened when a lookup needs another identifier first."""


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call that has been bound but not made part of an episode yet."""

    name: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Thing:
    """A live thing: its id, the object in which a tool showed it, and that tool's call.

    `parents` are the things whose ids the call itself needed.
    """

    entity: str
    id: str
    shown: Mapping[str, Json]
    call: PlannedCall
    parents: tuple[Thing, ...] = ()

    @property
    def label(self) -> str:
        """What a person would call it."""
        return next((str(self.shown[name]) for name in LABELS if self.shown.get(name)), self.id)


@dataclass(frozen=True, slots=True)
class Binding:
    """Arguments for one tool, with the phrasing that they fill and the things that they name."""

    tool: str
    arguments: Mapping[str, Json]
    ask: str
    things: Mapping[str, tuple[Thing, ...]] = field(default_factory=dict)


class LiveState:
    """What one server shows of a session at this moment."""

    def __init__(self, catalog: Catalog, server: ToolServer, session: Session) -> None:
        self.catalog = catalog
        self.server = server
        self.session = session.fork()
        self.requests = load_requests(server)
        self._things: dict[str, list[Thing]] = {}
        self._ways: dict[tuple[str, str], list[Thing]] = {}
        self._open: set[str] = set()

    def things(self, entity: str) -> list[Thing]:
        """Every thing of a kind that the server's read-only tools show, in the order that they do."""
        if entity not in self._things:
            if entity in self._open:
                return []
            self._open.add(entity)
            found: dict[str, Thing] = {}
            for tool in producers(self.server, entity):
                for thing in self._enumerate(tool, entity):
                    found.setdefault(thing.id, thing)
                    self._ways.setdefault((entity, thing.id), []).append(thing)
            self._open.discard(entity)
            self._things[entity] = list(found.values())
        return self._things[entity]

    def lookup(self, thing: Thing, mentioned: str, known: Container[str] = ()) -> list[PlannedCall] | None:
        """The calls by which a model finds a thing that was mentioned by one of its fields.

        The first listing that shows the thing wins: a search for what was mentioned, then the plain
        listing. Parents come first, unless their ids are known. None if no listing shows the thing, or each
        needs a value that nobody mentioned.
        """
        calls: list[PlannedCall] = []
        for parent in thing.parents:
            found = [] if parent.id in known else self.lookup(parent, parent.label, known)
            if found is None:
                return None
            calls += found
        for arguments in self._searches(thing, mentioned):
            outcome = self.server.call(self.session, thing.call.name, arguments)
            if outcome.ok and self._shows(thing, outcome.text):
                return [*calls, PlannedCall(thing.call.name, arguments)]
        return None

    def _searches(self, thing: Thing, mentioned: str) -> Iterator[Mapping[str, Json]]:
        """Arguments of the thing's lookup that a request which mentions it justifies, best first."""
        parameters = self.server.tools[thing.call.name].parameters
        required = {p.name: thing.call.arguments[p.name] for p in parameters if p.required}
        untold = {p.name for p in parameters if p.required and p.entity is None}
        if any(p.name == "query" for p in parameters) and mentioned and untold <= {"query"}:
            yield {**required, "query": mentioned}
        if not untold:
            yield required

    def _shows(self, thing: Thing, text: str) -> bool:
        tool = self.server.tools[thing.call.name]
        return any(found.id == thing.id for found in walk(tool, json.loads(text), thing.entity))

    def bind(
        self, tool: Tool, dice: Dice, given: Mapping[str, Thing] | None = None, ask: str | None = None
    ) -> Binding | None:
        """Arguments for a tool, or None when something it needs does not exist.

        Args:
            tool: one of the server's tools.
            dice: decides the phrasing, the things and the values.
            given: things that certain parameters must take.
            ask: the phrasing to fill; drawn when absent.
        """
        entry = self.requests[tool.name]
        ask = ask if ask is not None else dice.choice(entry.ask)
        wanted = placeholders(ask)
        arguments: dict[str, Json] = {}
        things: dict[str, tuple[Thing, ...]] = {}
        for parameter in sorted(tool.parameters, key=lambda p: (p.entity is None, p.sensitive)):
            if not (parameter.required or parameter.name in wanted or parameter.name in (given or {})):
                continue
            if given and parameter.name in given:
                chosen: list[Thing] | None = [given[parameter.name]]
            else:
                chosen = self._choose(parameter, entry, dice, [t for group in things.values() for t in group])
            if chosen is not None:
                if not chosen:
                    return None
                things[parameter.name] = tuple(chosen)
                many = parameter.schema.get("type") == "array"
                arguments[parameter.name] = [t.id for t in chosen] if many else chosen[0].id
                continue
            options = list(self._values(parameter, entry, arguments, things))
            if not options:
                return None
            arguments[parameter.name] = dice.choice(options)
        ordered = {p.name: arguments[p.name] for p in tool.parameters if p.name in arguments}
        bound = {thing.id for group in things.values() for thing in group}
        near = {name: tuple(self._nearest(thing, bound) for thing in group) for name, group in things.items()}
        return Binding(tool.name, ordered, ask, near)

    def _nearest(self, thing: Thing, bound: Container[str]) -> Thing:
        """The sighting of a thing whose parents the call names anyway, if there is one."""
        ways = self._ways.get((thing.entity, thing.id), [])
        if not thing.parents or thing not in ways:
            return thing
        return max(ways, key=lambda way: sum(parent.id in bound for parent in way.parents))

    def working_binding(
        self, tool: Tool, dice: Dice, given: Mapping[str, Thing] | None = None, tries: int = 24
    ) -> Binding | None:
        """A binding that succeeds when it is run on a fork of the session, or None."""
        for _ in range(tries):
            binding = self.bind(tool, dice, given)
            if binding is None:
                continue
            if self.server.call(self.session.fork(), tool.name, binding.arguments).ok:
                return binding
        return None

    def _choose(
        self, parameter: Parameter, entry: ToolRequests, dice: Dice, taken: Sequence[Thing]
    ) -> list[Thing] | None:
        """Things for an identifier; None when the parameter is to be filled from values instead."""
        if parameter.entity is None or parameter.name in entry.values:
            return None
        pool = self.things(parameter.entity)
        free = [thing for thing in pool if all(thing.id != other.id for other in taken)] or pool
        count = dice.integer(1, 2) if parameter.schema.get("type") == "array" else 1
        return dice.sample(free, max(count, int(parameter.schema.get("minItems", 1))))

    def _values(
        self,
        parameter: Parameter,
        entry: ToolRequests,
        arguments: Mapping[str, Json],
        things: Mapping[str, Sequence[Thing]],
    ) -> Iterator[Json]:
        if parameter.sensitive:
            about = {thing.id for group in things.values() for thing in group}
            facts = [fact for fact in self.server.knows(self.session) if fact.param == parameter.name]
            close = [fact.value for fact in facts if fact.about in about]
            yield from close or [fact.value for fact in facts if not fact.about]
            if facts:
                return
        if parameter.name in entry.values:
            for value in entry.values[parameter.name]:
                if isinstance(value, str) and value.startswith("$"):
                    entity, _, shown = value[1:].partition(".")
                    yield from (t.shown[shown] for t in self.things(entity) if t.shown.get(shown) is not None)
                else:
                    yield value
        elif "enum" in parameter.schema:
            yield from parameter.schema["enum"]
        elif parameter.schema.get("type") == "boolean":
            yield from (True, False)

    def _enumerate(self, tool: Tool, entity: str) -> Iterator[Thing]:
        for arguments, parents in self._listings(tool):
            call = PlannedCall(tool.name, arguments)
            for result in self._pages(call):
                for found in walk(tool, result, entity):
                    yield Thing(entity, found.id, found.shown, call, parents)

    def _pages(self, call: PlannedCall) -> Iterator[Any]:
        """The results of a listing, page after page."""
        offset: Json = 0
        for _ in range(MOST_PAGES):
            arguments = {**call.arguments, "offset": offset} if offset else call.arguments
            outcome = self.server.call(self.session, call.name, arguments)
            if not outcome.ok:
                return
            result = json.loads(outcome.text)
            yield result
            offset = result.get("next_offset")
            if not offset or all(p.name != "offset" for p in self.server.tools[call.name].parameters):
                return

    def _listings(self, tool: Tool) -> Iterator[tuple[dict[str, Json], tuple[Thing, ...]]]:
        """Ways to call a read-only tool so that it shows as much as possible."""
        entry = self.requests[tool.name]
        frames: list[tuple[dict[str, Json], tuple[Thing, ...]]] = [({}, ())]
        for parameter in tool.parameters:
            if parameter.name == "limit":
                top = min(int(parameter.schema.get("maximum", ENUMERATION_LIMIT)), ENUMERATION_LIMIT)
                frames = [({**arguments, "limit": top}, parents) for arguments, parents in frames]
            if not parameter.required:
                continue
            if parameter.entity is not None and parameter.name not in entry.values:
                many = parameter.schema.get("type") == "array"
                frames = [
                    ({**arguments, parameter.name: [t.id] if many else t.id}, (*parents, t))
                    for arguments, parents in frames
                    for t in self.things(parameter.entity)[:PARENTS]
                ]
            else:
                frames = [
                    ({**arguments, parameter.name: value}, parents)
                    for arguments, parents in frames
                    for value in list(self._values(parameter, entry, {}, {}))[:PARENTS]
                ]
        yield from frames[: PARENTS * 2]


@dataclass(frozen=True, slots=True)
class Sighting:
    """An identifier in a result, with the object that carries it."""

    id: str
    shown: Mapping[str, Json]


def producers(server: ToolServer, entity: str) -> list[Tool]:
    """Read-only tools whose result shows ids of this kind: those first that a person's words suffice for.

    A lookup that needs another id comes later, and last one that needs a value which nobody mentions.
    """

    def demands(tool: Tool) -> tuple[int, int]:
        required = [p for p in tool.parameters if p.required and p.name != "query"]
        return sum(p.entity is None for p in required), len(required)

    found = [t for t in server.tools.values() if t.read_only and entity in shown_entities(t)]
    return sorted(found, key=demands)


@lru_cache(maxsize=4096)
def shown_entities(tool: Tool) -> frozenset[str]:
    """The kinds of identifier that a tool's result can hold."""
    return frozenset(_entities(tool.output_schema))


def _entities(schema: Mapping[str, Any]) -> Iterator[str]:
    if "x-entity" in schema:
        yield str(schema["x-entity"])
    for child in schema.get("properties", {}).values():
        yield from _entities(child)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from _entities(schema[key])


def walk(tool: Tool, result: Any, entity: str) -> Iterator[Sighting]:
    """Every id of this kind in a result, in reading order."""
    route = _route(tool, entity)
    if route is not None:
        yield from _sightings(route, result, {})


@dataclass(frozen=True, slots=True)
class _Route:
    """The part of a result's schema that leads to ids of one kind; an object's own id comes first."""

    ends: bool
    properties: tuple[tuple[str, _Route], ...]
    extra: _Route | None
    items: _Route | None


@lru_cache(maxsize=4096)
def _route(tool: Tool, entity: str) -> _Route | None:
    return _towards(tool.output_schema, entity)


def _towards(schema: Any, entity: str) -> _Route | None:
    """The way through a schema, or None where it leads nowhere."""
    if not isinstance(schema, dict):
        return None
    own = sorted(schema.get("properties", {}).items(), key=lambda item: item[0] != "id")
    properties = tuple((name, way) for name, child in own if (way := _towards(child, entity)))
    extra, items = _towards(schema.get("additionalProperties"), entity), _towards(schema.get("items"), entity)
    ends = schema.get("x-entity") == entity
    return _Route(ends, properties, extra, items) if ends or properties or extra or items else None


def _sightings(route: _Route, value: Any, holder: Mapping[str, Json]) -> Iterator[Sighting]:
    if isinstance(value, str):
        if route.ends:
            yield Sighting(value, holder)
    elif isinstance(value, dict):
        for name, way in route.properties:
            if name in value:
                yield from _sightings(way, value[name], value)
        if route.extra:
            for item in value.values():
                yield from _sightings(route.extra, item, value)
    elif route.items and isinstance(value, list):
        for item in value:
            yield from _sightings(route.items, item, holder)


def strings(value: Json | Mapping[str, Json]) -> Iterator[str]:
    """Every string inside a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
