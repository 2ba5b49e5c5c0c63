"""A request that leaves something out, and the question that it gets.

Where the thing left out is one of a few, the assistant may look at them before it asks, and name them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from servers.kernel.dice import Dice
from servers.kernel.server import ToolServer
from servers.kernel.session import Session
from stages.sampling import PlannedCall, walk
from stages.synthesize.mix import Job
from stages.synthesize.plan import TurnPlan
from stages.synthesize.scripts import DraftTurn, assistant_script, query_script
from stages.synthesize.sentences import withheld

OPTIONS = 8
"""Things that a question lists at most."""

LISTED = 0.6
"""Share of questions about one of a few things that name them."""


@dataclass(frozen=True, slots=True)
class Silence:
    """The question turn, what the user then says, and the plan that is left to do.

    `values` are the values left out, by parameter; `parents` hold what they name.
    """

    ask: DraftTurn
    values: Mapping[str, str]
    parents: tuple[str, ...]
    plan: TurnPlan


def silent_turn(plan: TurnPlan, server: ToolServer, job: Job, dice: Dice, session: Session) -> Silence | None:
    """The plan with part of its first request left unsaid; None where nothing can be.

    Args:
        plan: the turn as it would go if all were said.
        server: the tools' server.
        job: says how much is left out, and whether the conversation goes on.
        dice: decides what.
        session: the session as the question comes.
    """
    said = plan.sentences[0]
    elsewhere = {word for other in plan.sentences[1:] for word in (*other.values.values(), *other.parents)}
    values = withheld(server.tools[said.tool], said, job.information, dice, elsewhere)
    if not values:
        return None
    asked = replace(said, parents=(), withheld=tuple(values))
    listing = None
    if job.kind == "multi_turn" and dice.chance(LISTED):
        listing = next((found for name in values if (found := _listing(plan, name, server, session))), None)
    script = assistant_script(((listing,),) if listing else (), close="question", missing=list(values))
    ask = DraftTurn(query_script((asked, *plan.sentences[1:]), job.persona), script)
    return Silence(ask, values, said.parents, _without(plan, listing) if listing else plan)


def _listing(plan: TurnPlan, name: str, server: ToolServer, session: Session) -> PlannedCall | None:
    """A call without arguments that shows all things which the parameter could mean, where they are few."""
    value = plan.actions[0].arguments.get(name)
    thing = next((thing for thing in plan.things if thing.id == value), None)
    if thing is None or any(p.required for p in server.tools[thing.call.name].parameters):
        return None
    parameter = next(p for p in server.tools[plan.actions[0].name].parameters if p.name == name)
    if parameter.natural:
        return None
    outcome = server.call(session.fork(), thing.call.name, {})
    if not outcome.ok:
        return None
    result = json.loads(outcome.text)
    shown = {seen.id for seen in walk(server.tools[thing.call.name], result, thing.entity)}
    whole = isinstance(result.get("items"), list) and 1 < result.get("total", 0) == len(result["items"]) <= OPTIONS
    return PlannedCall(thing.call.name, {}) if whole and thing.id in shown else None


def _without(plan: TurnPlan, listing: PlannedCall) -> TurnPlan:
    """The plan without the lookups that the listing made needless."""
    kept = (
        tuple(c for c in batch if c in plan.actions or c.name != listing.name or set(c.arguments) - {"query"})
        for batch in plan.batches
    )
    return replace(plan, batches=tuple(batch for batch in kept if batch))
