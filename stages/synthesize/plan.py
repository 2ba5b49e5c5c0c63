"""Planning one user turn on the live state: what is asked for, and the calls that do it.

A plan is made on a fork of the session at the very moment that the turn begins, and every call of it is
run there, so a plan that exists works. Opaque identifiers never stand in the request: the plan looks them
up first, unless an earlier result of the conversation has shown them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from servers.kernel.catalog import Catalog
from servers.kernel.dice import Dice
from servers.kernel.requests import placeholders
from servers.kernel.server import ToolServer
from servers.kernel.session import Session
from servers.kernel.tool import Tool
from stages.sampling import Binding, LiveState, PlannedCall, Thing
from stages.synthesize.knowledge import Knowledge
from stages.synthesize.sentences import Sentence, parameter_of, sentence_for, shown_fields
from stages.teacher.wording import liking

TRIES = 40
"""How many bindings are drawn for one tool before the plan is given up."""

Batches = tuple[tuple[PlannedCall, ...], ...]


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """A turn: its sentences and its batches of calls (the calls of one batch are independent).

    `ends[i]` is how many batches the first i + 1 sentences take. `actions` are the calls that the sentences
    ask for, one for each, and `things` what they name.
    """

    sentences: tuple[Sentence, ...]
    batches: Batches
    ends: tuple[int, ...]
    things: tuple[Thing, ...]
    actions: tuple[PlannedCall, ...]


class Planner:
    """Plans turns for one server's session.

    Args:
        catalog: the servers.
        server: the one that the turn is about.
        session: the session as the turn begins; it is not changed.
        known: what the conversation has shown so far; it is not changed.
        dice: decides phrasings, things and values.
        live: the live state at this moment, if somebody has read it already.
        persona: who speaks; likes some phrasings better than others.
    """

    def __init__(
        self,
        catalog: Catalog,
        server: ToolServer,
        session: Session,
        known: Knowledge,
        dice: Dice,
        live: LiveState | None = None,
        persona: str = "plain",
    ) -> None:
        self.server = server
        self.session = session.fork()
        self.known = known.copy()
        self.live = live or LiveState(catalog, server, session)
        self.dice = dice
        self._catalog = catalog
        self._persona = persona
        self._start, self._before = session.fork(), known
        self._sentences: list[Sentence] = []
        self._parts: list[Batches] = []
        self._things: list[Thing] = []

    def plan(self, tools: Sequence[str], *, together: bool = False) -> TurnPlan | None:
        """A turn that asks for these tools in order, or None when the live state offers no way.

        Args:
            tools: one for each sentence.
            together: whether to call in parallel what does not depend on each other.
        """
        for name in tools:
            if not self._add(self.server.tools[name]):
                return None
        return (self.in_parallel() if together else None) or self.finished()

    def finished(self) -> TurnPlan:
        """The turn as planned so far, one call for each sentence after its lookups."""
        batches = [batch for part in self._parts for batch in part]
        ends = [sum(map(len, self._parts[: n + 1])) for n in range(len(self._parts))]
        actions = tuple(part[-1][0] for part in self._parts)
        return TurnPlan(tuple(self._sentences), tuple(batches), tuple(ends), tuple(self._things), actions)

    def bindings(self, tool: Tool, tries: int = TRIES) -> Iterator[Binding]:
        """Arguments for a tool that a request can name without doubt, in the persona's phrasings."""
        asks = self.live.requests[tool.name].ask
        weights = [liking(self._persona, ask) for ask in asks]
        carried = self._carried(tool)
        for _ in range(tries):
            binding = self.live.bind(tool, self.dice, carried, self.dice.weighted(asks, weights))
            if binding is not None and self._is_clear(tool, binding):
                yield binding

    def run(self, tool: Tool, binding: Binding, *, refused: bool = False) -> bool:
        """Add a sentence with its lookups and its action, each run on the planning session.

        Args:
            tool: what is asked for.
            binding: its arguments.
            refused: whether the action is to fail; it then changes nothing.
        """
        lookups = self._lookups(tool, binding)
        if lookups is None:
            return False
        fork, known = self.session.fork(), self.known.copy()
        action = PlannedCall(tool.name, binding.arguments)
        for call in (call for batch in lookups for call in batch):
            outcome = self.server.call(fork, call.name, call.arguments)
            if not outcome.ok:
                return False
            known.learn(self.server, call, outcome.text, is_action=False)
        outcome = self.server.call(fork, action.name, action.arguments)
        if outcome.ok == refused or (outcome.ok and self._is_dead(tool, fork)):
            return False
        sentence = sentence_for(tool, binding, {thing.id for thing in self.known.outputs.values()})
        if outcome.ok:
            known.learn(self.server, action, outcome.text, is_action=True)
        self.session, self.known = fork, known
        self._note(sentence, (*lookups, (action,)), [thing for group in binding.things.values() for thing in group])
        if outcome.ok and not tool.read_only:
            self.live = LiveState(self._catalog, self.server, fork)
        return True

    def run_again(self, action: PlannedCall) -> bool:
        """Add a call whose arguments were all said before, without a sentence of its own."""
        outcome = self.server.call(self.session, action.name, action.arguments)
        if not outcome.ok:
            return False
        self.known.learn(self.server, action, outcome.text, is_action=True)
        self._parts.append(((action,),))
        return True

    def works(self, tool: Tool, binding: Binding) -> bool:
        """Whether a binding succeeds at this moment."""
        return self.server.call(self.session.fork(), tool.name, binding.arguments).ok

    def in_parallel(self, refused: PlannedCall | None = None) -> TurnPlan | None:
        """The turn so far with calls side by side, the actions last; None where one needs another's result.

        Args:
            refused: the one call that is to fail.
        """
        depth = max(map(len, self._parts))
        padded = [((),) * (depth - len(part)) + part for part in self._parts]
        batches = tuple(tuple(call for batch in level for call in batch) for level in zip(*padded, strict=True))
        session, known = self._start.fork(), self._before.copy()
        for batch in batches:
            if not all(known.justifies(self.server, call) for call in batch):
                return None
            for call in batch:
                outcome = self.server.call(session, call.name, call.arguments)
                if outcome.ok == (call == refused):
                    return None
                if outcome.ok:
                    known.learn(self.server, call, outcome.text, is_action=batch is batches[-1])
        self.session, self.known = session, known
        self.live = LiveState(self._catalog, self.server, session)
        return replace(self.finished(), batches=batches, ends=(len(batches),) * len(self._parts))

    def _is_dead(self, tool: Tool, after: Session) -> bool:
        """Whether a change has changed nothing: the turn's outcome would be met by doing nothing at all."""
        return not tool.read_only and after.state_hash in (self.session.state_hash, self._start.state_hash)

    def _note(self, sentence: Sentence, batches: Batches, things: Sequence[Thing]) -> None:
        self._sentences.append(sentence)
        self._parts.append(batches)
        self._things += things

    def _add(self, tool: Tool) -> bool:
        done = [part[-1][0] for part in self._parts]
        for binding in self.bindings(tool):
            if PlannedCall(tool.name, binding.arguments) in done or not self.works(tool, binding):
                continue
            if self.run(tool, binding):
                return True
        return False

    def _carried(self, tool: Tool) -> dict[str, Thing]:
        """Parameters that take what an earlier action of the conversation returned."""
        carried: dict[str, Thing] = {}
        for p in tool.parameters:
            output = self.known.outputs.get(p.entity or "")
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
            fields = shown_fields(binding.ask, name)
            if parameter_of(tool, name).natural and not fields:
                continue
            if name not in wanted or not fields or not all(self.is_named_by(thing, fields) for thing in things):
                return False
        return True

    def is_named_by(self, thing: Thing, fields: Sequence[str]) -> bool:
        """Whether these fields of a thing tell it from all others of its kind."""
        if any(thing.shown.get(field) in (None, "") for field in fields):
            return False
        if thing is not self.known.outputs.get(thing.entity) and not self._is_unique(thing, fields):
            return False
        return all(self._can_be_named(parent) for parent in thing.parents)

    def _can_be_named(self, thing: Thing) -> bool:
        """Whether a person has a word for a thing that is no opaque id."""
        tools = self.server.tools.values()
        natural = any(p.natural and p.entity == thing.entity for tool in tools for p in tool.parameters)
        return natural or thing.label != thing.id

    def _is_unique(self, thing: Thing, fields: Sequence[str]) -> bool:
        def key(other: Thing) -> tuple[str, ...]:
            parents = tuple(parent.id for parent in other.parents)
            return (*(str(other.shown.get(name)) for name in fields), *parents)

        wanted = key(thing)
        return sum(key(other) == wanted for other in self.live.things(thing.entity)) == 1

    def _lookups(self, tool: Tool, binding: Binding) -> Batches | None:
        """Calls that find what the request names, as batches of independent calls; None if nothing finds it."""
        levels: list[list[PlannedCall]] = []
        done = {_key(call) for part in self._parts for batch in part for call in batch}
        for name, things in binding.things.items():
            fields = shown_fields(binding.ask, name)
            if parameter_of(tool, name).natural and not fields:
                continue
            for thing in things:
                if thing.id in self.known.shown:
                    continue
                mentioned = str(thing.shown.get(fields[0], "")) if fields else ""
                calls = self.live.lookup(thing, mentioned, self.known.shown)
                if calls is None:
                    return None
                for depth, call in enumerate(calls):
                    while len(levels) <= depth:
                        levels.append([])
                    if _key(call) not in done:
                        done.add(_key(call))
                        levels[depth].append(call)
        return tuple(tuple(level) for level in levels if level)


def _key(call: PlannedCall) -> tuple[str, str]:
    return call.name, json.dumps(call.arguments, sort_keys=True)
