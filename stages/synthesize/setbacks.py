"""A request that the live state refuses, and the user's next words after hearing why.

The assistant acts on what it knows, meets the real error, tries no magic and says what happened. Then the
user either allows what has to come first ("unfreeze it, then try again") or takes something else instead.
Both are found by running them, so the remedy works.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from servers.kernel.errors import KernelFault
from servers.kernel.tool import Tool
from stages.records import Json
from stages.sampling import Binding, PlannedCall, Thing
from stages.synthesize.plan import Planner, TurnPlan
from stages.synthesize.sentences import parameter_of, shown_fields

OTHERS = 8
"""Things or values that are tried in place of the one that was refused."""

ENABLING_TRIES = 8
"""Argument sets tried for a tool that may have to come first."""

NO_SETBACK = frozenset(KernelFault)
"""Errors that say nothing about the state: the call was malformed, named nothing, or could not be run."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """What was asked for and refused."""

    tool: Tool
    binding: Binding


@dataclass(frozen=True, slots=True)
class Remedy:
    """The turn that makes it good; `retries` is true where the refused call itself is made again."""

    plan: TurnPlan
    retries: bool


def plan_refusal(planner: Planner, before: Sequence[str], tools: Sequence[str]) -> tuple[TurnPlan, Refusal] | None:
    """A turn whose last request fails in the live state, though something in it works; None if there is no such.

    Args:
        planner: stands at the beginning of the turn.
        before: tools asked for first, which work.
        tools: those that may be refused, tried in turn.
    """
    if before and planner.plan(before) is None:
        return None
    for name in tools:
        tool = planner.server.tools[name]
        for binding in planner.bindings(tool):
            outcome = planner.server.call(planner.session.fork(), name, binding.arguments)
            if outcome.ok or outcome.error_code in NO_SETBACK:
                continue
            if planner.run(tool, binding, refused=True):
                call = PlannedCall(name, binding.arguments)
                plan = (planner.in_parallel(call) if planner.dice.chance(0.5) else None) or planner.finished()
                return (plan, Refusal(tool, binding)) if sum(map(len, plan.batches)) > 1 else None
    return None


def plan_remedy(planner: Planner, refusal: Refusal, enabling: Sequence[str]) -> Remedy | None:
    """The user's next turn, or None when neither of the two ways works.

    Args:
        planner: stands at the beginning of that turn.
        refusal: what it answers.
        enabling: tools that may make the refused call possible.
    """
    again = PlannedCall(refusal.tool.name, refusal.binding.arguments)
    for name in enabling:
        tool = planner.server.tools[name]
        for binding in _enabling(planner, tool, refusal.binding):
            fork = planner.session.fork()
            if not planner.server.call(fork, name, binding.arguments).ok:
                continue
            if not planner.server.call(fork, again.name, again.arguments).ok:
                continue
            if fork.state_hash == planner.session.state_hash:
                continue  # what was refused only undoes what enabled it
            if planner.run(tool, binding) and planner.run_again(again):
                return Remedy(planner.finished(), retries=True)
    return _instead(planner, refusal)


def _enabling(planner: Planner, tool: Tool, refused: Binding) -> list[Binding]:
    """Bindings of a tool on the things that the refused call named."""
    about = {thing.entity: thing.id for group in refused.things.values() for thing in group}
    bindings = planner.bindings(tool, ENABLING_TRIES * 4)
    fitting = [b for b in bindings if all(about.get(t.entity, t.id) == t.id for g in b.things.values() for t in g)]
    return fitting[:ENABLING_TRIES]


def _instead(planner: Planner, refusal: Refusal) -> Remedy | None:
    """The same request with one thing or value exchanged."""
    tool, binding = refusal.tool, refusal.binding
    names = [p.name for p in tool.parameters if p.name in binding.arguments and not p.sensitive]
    for name in planner.dice.shuffled(names):
        for other in _others(planner, tool, name, binding):
            if planner.works(tool, other) and planner.run(tool, other):
                return Remedy(planner.finished(), retries=False)
    return None


def _others(planner: Planner, tool: Tool, name: str, binding: Binding) -> list[Binding]:
    parameter = parameter_of(tool, name)
    if parameter.schema.get("type") in ("array", "boolean", "object") or "{" + name not in binding.ask:
        return []
    if name in binding.things:
        fields = shown_fields(binding.ask, name)
        if not fields and not parameter.natural:
            return []
        taken = {thing.id for group in binding.things.values() for thing in group}
        free = [thing for thing in planner.live.things(binding.things[name][0].entity) if thing.id not in taken]
        named = (t for t in planner.dice.sample(free, OTHERS) if not fields or planner.is_named_by(t, fields[:1]))
        slot = f"{{{name}.{fields[0]}}}" if fields else f"{{{name}}}"
        return [_exchanged(binding, name, thing.id, f"Use {slot} instead.", {name: (thing,)}) for thing in named]
    values = [v for v in planner.live.requests[tool.name].values.get(name, ()) if v != binding.arguments[name]]
    plain = [value for value in values if not (isinstance(value, str) and value.startswith("$"))]
    ask = f"Make the {name.removesuffix('_id').replace('_', ' ')} {{{name}}} instead."
    return [_exchanged(binding, name, value, ask, {}) for value in planner.dice.sample(plain, OTHERS)]


def _exchanged(binding: Binding, name: str, value: Json, ask: str, things: Mapping[str, tuple[Thing, ...]]) -> Binding:
    arguments = {**binding.arguments, name: value}
    return replace(binding, arguments=arguments, ask=ask, things={**binding.things, **things})


def enabling_tools(labelled: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """For each tool, those that may have to run first: pairs (first, second) of implicit edges, in order."""
    found: dict[str, list[str]] = {}
    for first, second in sorted(set(labelled)):
        found.setdefault(second, []).append(first)
    return found
