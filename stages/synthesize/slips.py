"""Slips of the scripted teacher: calls that fail for a reason that models know, and are then put right.

Each slip is run where it would stand and kept only if it fails there, so the error in the conversation is
the tool's own. After a wrong name the right id is looked up (another tool); the others are repaired by
calling again with corrected arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from servers.kernel.dice import Dice
from servers.kernel.server import ToolServer
from servers.kernel.session import Session
from servers.kernel.tool import Tool
from stages.records import Json
from stages.sampling import PlannedCall
from stages.synthesize.plan import Batches, TurnPlan

Wrong: TypeAlias = "dict[str, Json]"

GUESSES = 0.4
"""Share of slips that put a name where an id belongs, where there is such a place."""

SECOND_SLIP = 0.3
"""Share of repairs that fail once more, where the conversation has room for it."""


def slip(plan: TurnPlan, server: ToolServer, session: Session, dice: Dice, room: int) -> tuple[Batches, int]:
    """The turn's batches with a slip in them, and how many calls of them fail (0: no slip was possible).

    Args:
        plan: the turn as it should go.
        server: the tools' server.
        session: the session as the turn begins; it is not changed.
        dice: decides which slip, and where.
        room: failed calls that the conversation can bear.
    """
    if room < 1:
        return plan.batches, 0
    if dice.chance(GUESSES):
        made = _guessed_name(plan, server)
        if made is not None and _failures(made, server, session) == 1:
            return made, 1
    places = [n for n, batch in enumerate(plan.batches) if any(call in plan.actions for call in batch)]
    for place in dice.shuffled(places):
        before = session.fork()
        for call in (call for batch in plan.batches[:place] for call in batch):
            server.call(before, call.name, call.arguments)
        tries = _failing(plan.batches[place], server, before, dice)
        if tries:
            count = 2 if len(tries) > 1 and room > 1 and dice.chance(SECOND_SLIP) else 1
            made = _spliced(plan.batches, place, tries[:count])
            if _failures(made, server, session) == count:
                return made, count
    return plan.batches, 0


def _failures(batches: Batches, server: ToolServer, session: Session) -> int:
    """How many calls fail when all are run: a slip must not bring down what stands beside it."""
    fork = session.fork()
    return sum(not server.call(fork, call.name, call.arguments).ok for batch in batches for call in batch)


def _guessed_name(plan: TurnPlan, server: ToolServer) -> Batches | None:
    """First the name of a thing where its id belongs, as if the lookups were not needed."""
    for batch in plan.batches[1:]:
        tool = server.tools[batch[0].name]
        for thing in plan.things:
            for parameter in tool.parameters:
                fits = batch[0].arguments.get(parameter.name) == thing.id and thing.label != thing.id
                if fits and not parameter.natural:
                    wrong = PlannedCall(tool.name, {**batch[0].arguments, parameter.name: thing.label})
                    return ((wrong,), *plan.batches)
    return None


def _failing(batch: Sequence[PlannedCall], server: ToolServer, session: Session, dice: Dice) -> list[PlannedCall]:
    """Wrong ways to make the first call of a batch, at most two, each run and seen to fail."""
    call = batch[0]
    tool = server.tools[call.name]
    found: list[PlannedCall] = []
    for kind in dice.shuffled(KINDS):
        for arguments in kind(tool, call.arguments):
            wrong = PlannedCall(call.name, arguments)
            if wrong not in found and not server.call(session.fork(), wrong.name, wrong.arguments).ok:
                found.append(wrong)
                break
        if len(found) == 2:
            break
    return found


def _spliced(batches: Batches, place: int, wrongs: Sequence[PlannedCall]) -> Batches:
    """The batch with its first call wrong, then that call alone until it is right."""
    call, *others = batches[place]
    first, *more = wrongs
    repaired = ((first, *others), *((wrong,) for wrong in more), (call,))
    return (*batches[:place], *repaired, *batches[place + 1 :])


def _spoken_enum(tool: Tool, arguments: Mapping[str, Json]) -> Iterator[Wrong]:
    """A choice in the user's words instead of the schema's."""
    for p in tool.parameters:
        value = arguments.get(p.name)
        if "enum" in p.schema and isinstance(value, str):
            yield {**arguments, p.name: value.replace("_", " ") if "_" in value else value.capitalize()}


def _number_as_text(tool: Tool, arguments: Mapping[str, Json]) -> Iterator[Wrong]:
    """A number in quotes."""
    for p in tool.parameters:
        value = arguments.get(p.name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield {**arguments, p.name: str(value)}


def _left_out(tool: Tool, arguments: Mapping[str, Json]) -> Iterator[Wrong]:
    """A required argument forgotten."""
    for p in reversed(tool.parameters):
        if p.required and p.name in arguments:
            yield {name: value for name, value in arguments.items() if name != p.name}


def _single_for_list(tool: Tool, arguments: Mapping[str, Json]) -> Iterator[Wrong]:
    """One value where a list belongs."""
    for p in tool.parameters:
        value = arguments.get(p.name)
        if isinstance(value, list) and value:
            yield {**arguments, p.name: value[0]}


KINDS: Sequence[Callable[[Tool, Mapping[str, Json]], Iterator[Wrong]]] = (
    _spoken_enum,
    _number_as_text,
    _left_out,
    _single_for_list,
)
