"""Planning one user turn on the live state: what is asked for, and the calls that do it.

A plan is made on a fork of the session at the very moment that the turn begins, and every call of it is
run there, so a plan that exists works. Opaque identifiers never stand in the request: the plan looks them
up first, unless an earlier result of the conversation has shown them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from servers.kernel.catalog import Catalog
from servers.kernel.dice import Dice
from servers.kernel.requests import placeholders
from servers.kernel.server import ToolServer
from servers.kernel.session import Session
from servers.kernel.tool import Parameter, Tool
from stages.records import Json
from stages.sampling import Binding, LiveState, PlannedCall, Sighting, Thing, shown_entities, walk

TRIES = 12
"""How many bindings are drawn for one tool before the plan is given up."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One thing that the user asks for: a phrasing, what fills it, and what is left unsaid.

    `parents` names the holders of things that the phrasing alone does not place.
    """

    tool: str
    ask: str
    values: Mapping[str, str]
    parents: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """A turn: its sentences and its batches of calls (the calls of one batch are independent).

    `ends[i]` is how many batches the first i + 1 sentences take.
    """

    sentences: tuple[Sentence, ...]
    batches: tuple[tuple[PlannedCall, ...], ...]
    ends: tuple[int, ...]
    things: tuple[Thing, ...]


@dataclass(slots=True)
class Knowledge:
    """What the conversation has brought to light.

    `shown` holds, for each id seen in a result, all fields that were shown of it; `outputs` the things that
    the last action returned, by kind.
    """

    shown: dict[str, dict[str, Json]] = field(default_factory=dict)
    outputs: dict[str, Thing] = field(default_factory=dict)


class Planner:
    """Plans turns for one server's session.

    Args:
        catalog: the servers.
        server: the one that the turn is about.
        session: the session as the turn begins; it is not changed.
        known: what the conversation has shown so far; it is not changed.
        dice: decides phrasings, things and values.
        live: the live state at this moment, if somebody has read it already.
    """

    def __init__(
        self,
        catalog: Catalog,
        server: ToolServer,
        session: Session,
        known: Knowledge,
        dice: Dice,
        live: LiveState | None = None,
    ) -> None:
        self._catalog = catalog
        self._server = server
        self._session = session.fork()
        self._known = Knowledge({key: dict(value) for key, value in known.shown.items()}, dict(known.outputs))
        self._dice = dice
        self._live = live or LiveState(catalog, server, session)
        self._sentences: list[Sentence] = []
        self._batches: list[tuple[PlannedCall, ...]] = []
        self._ends: list[int] = []
        self._things: list[Thing] = []

    @property
    def session(self) -> Session:
        """The planning session, after every call planned so far."""
        return self._session

    @property
    def known(self) -> Knowledge:
        """What the conversation will have shown by then."""
        return self._known

    def plan(self, tools: Sequence[str]) -> TurnPlan | None:
        """A turn that asks for these tools in order, or None when the live state offers no way."""
        for name in tools:
            if not self._add(self._server.tools[name], tools):
                return None
        return TurnPlan(tuple(self._sentences), tuple(self._batches), tuple(self._ends), tuple(self._things))

    def _add(self, tool: Tool, tools: Sequence[str]) -> bool:
        for _ in range(TRIES):
            binding = self._live.working_binding(tool, self._dice, self._carried(tool), tries=TRIES)
            if binding is None:
                return False
            if self._is_clear(tool, binding) and self._run(tool, binding):
                return True
        return False

    def _carried(self, tool: Tool) -> dict[str, Thing]:
        """Parameters that take what an earlier action of the conversation returned."""
        carried: dict[str, Thing] = {}
        for p in tool.parameters:
            output = self._known.outputs.get(p.entity or "")
            if output and p.required and p.schema.get("type") != "array" and output not in carried.values():
                carried[p.name] = output
        return carried

    def _is_clear(self, tool: Tool, binding: Binding) -> bool:
        """Whether the request would leave no doubt: every needed value is said, every thing is unique."""
        wanted = placeholders(binding.ask)
        for parameter in tool.parameters:
            if parameter.required and parameter.name not in wanted and parameter.name not in binding.things:
                return False
        for name, things in binding.things.items():
            parameter = _parameter(tool, name)
            if parameter.natural and wanted.get(name, "") == "":
                continue
            fields = shown_fields(binding.ask, name)
            if name not in wanted or not fields:
                return False
            for thing in things:
                if any(thing.shown.get(field) in (None, "") for field in fields):
                    return False
                if thing is not self._known.outputs.get(thing.entity) and not self._is_unique(thing, fields):
                    return False
                if not all(self._can_be_named(parent) for parent in thing.parents):
                    return False
        return True

    def _can_be_named(self, thing: Thing) -> bool:
        """Whether a person has a word for a thing that is no opaque id."""
        tools = self._server.tools.values()
        natural = any(p.natural and p.entity == thing.entity for tool in tools for p in tool.parameters)
        return natural or thing.label != thing.id

    def _is_unique(self, thing: Thing, fields: Sequence[str]) -> bool:
        def key(other: Thing) -> tuple[str, ...]:
            parents = tuple(parent.id for parent in other.parents)
            return (*(str(other.shown.get(name)) for name in fields), *parents)

        return sum(key(other) == key(thing) for other in self._live.things(thing.entity)) == 1

    def _run(self, tool: Tool, binding: Binding) -> bool:
        """Add the lookups and the action, running each on the planning session."""
        lookups = self._lookups(tool, binding)
        if lookups is None:
            return False
        action = PlannedCall(tool.name, binding.arguments)
        fork = self._session.fork()
        texts: list[tuple[PlannedCall, str]] = []
        for call in [*(call for batch in lookups for call in batch), action]:
            outcome = self._server.call(fork, call.name, call.arguments)
            if not outcome.ok:
                return False
            texts.append((call, outcome.text))
        self._session = fork
        self._sentences.append(self._sentence(tool, binding))
        for call, text in texts:
            self._learn(call, text, is_action=call is action)
        self._batches += [*lookups, (action,)]
        self._ends.append(len(self._batches))
        self._things += [thing for group in binding.things.values() for thing in group]
        if not tool.read_only:
            self._live = LiveState(self._catalog, self._server, fork)
        return True

    def _lookups(self, tool: Tool, binding: Binding) -> list[tuple[PlannedCall, ...]] | None:
        """Calls that find what the request names, as batches of independent calls; None if nothing finds it."""
        levels: list[list[PlannedCall]] = []
        done = {(c.name, json.dumps(c.arguments, sort_keys=True)) for batch in self._batches for c in batch}
        for name, things in binding.things.items():
            fields = shown_fields(binding.ask, name)
            if _parameter(tool, name).natural and not fields:
                continue
            for thing in things:
                if thing.id in self._known.shown:
                    continue
                mentioned = str(thing.shown.get(fields[0], "")) if fields else ""
                calls = self._live.lookup(thing, mentioned, self._known.shown)
                if calls is None:
                    return None
                for depth, call in enumerate(calls):
                    key = (call.name, json.dumps(call.arguments, sort_keys=True))
                    while len(levels) <= depth:
                        levels.append([])
                    if key not in done:
                        done.add(key)
                        levels[depth].append(call)
        return [tuple(level) for level in levels if level]

    def _learn(self, call: PlannedCall, text: str, is_action: bool) -> None:
        tool = self._server.tools[call.name]
        result = json.loads(text)
        for entity in sorted(shown_entities(tool)):
            sightings = list(walk(tool, result, entity))
            for sighting in sightings:
                self._known.shown.setdefault(sighting.id, {}).update(_own_fields(sighting))
            if is_action and not tool.read_only and len({s.id for s in sightings}) == 1:
                key = sightings[0].id
                self._known.outputs[entity] = Thing(entity, key, self._known.shown[key], call)

    def _sentence(self, tool: Tool, binding: Binding) -> Sentence:
        values: dict[str, str] = {}
        parents: list[str] = []
        for name, argument in binding.arguments.items():
            things = binding.things.get(name, ())
            for shown in shown_fields(binding.ask, name):
                values[f"{name}.{shown}"] = " and ".join(str(thing.shown[shown]) for thing in things)
            values[name] = spoken(argument)
            if "enum" in _parameter(tool, name).schema:
                values[name] = values[name].replace("_", " ")
            carried = {thing.id for thing in self._known.outputs.values()}
            fresh = [thing for thing in things if thing.id not in carried]
            parents += [parent.label for thing in fresh for parent in thing.parents]
        said = " ".join([binding.ask, *values.values()]).casefold()
        unsaid = tuple(dict.fromkeys(label for label in parents if label.casefold() not in said))
        return Sentence(tool.name, binding.ask, values, unsaid)


def _own_fields(sighting: Sighting) -> Mapping[str, Json]:
    """The fields shown of a thing itself, not those of an object with another id that refers to it."""
    return sighting.shown if sighting.shown.get("id", sighting.id) == sighting.id else {}


def spoken(argument: Json) -> str:
    """A literal argument as a person says it."""
    if isinstance(argument, bool):
        return "yes" if argument else "no"
    if isinstance(argument, list):
        return " and ".join(spoken(item) for item in argument)
    if isinstance(argument, dict):
        return ", ".join(f"{key} {spoken(value)}" for key, value in argument.items())
    return str(argument)


def _parameter(tool: Tool, name: str) -> Parameter:
    return next(p for p in tool.parameters if p.name == name)


def shown_fields(ask: str, parameter: str) -> list[str]:
    """Every field that a phrasing shows of one identifier."""
    return re.findall(r"\{" + re.escape(parameter) + r"\.(\w+)\}", ask)
