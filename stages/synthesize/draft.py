"""The draft of a conversation: what each turn asks, which calls do it, and which tools are shown.

A draft is made on a scratch session, turn after turn, so that it holds when the real session plays it.
A scripted teacher acts it out; a teacher that thinks sees only the request's material, never the calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from servers.kernel.catalog import Catalog
from servers.kernel.dice import Dice
from servers.kernel.server import ToolServer
from servers.kernel.session import Session
from servers.kernel.tool import Tool
from stages.discover.edges import Chain
from stages.params import SynthesizeParams
from stages.records import Json, ToolSpec
from stages.sampling import LiveState, Thing, shown_entities
from stages.synthesize.agenda import ACTIONS_PER_TURN, Agenda, asked_tools
from stages.synthesize.course import Course
from stages.synthesize.knowledge import Knowledge
from stages.synthesize.mix import Job
from stages.synthesize.perturb import visible_tools
from stages.synthesize.plan import Planner
from stages.synthesize.scripts import DraftTurn, assistant_script, query_script
from stages.synthesize.setbacks import enabling_tools
from stages.synthesize.silence import silent_turn

CONTEXT_THINGS = 8
"""Live things of each kind that the sampling context shows."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A whole conversation, ready to be acted out."""

    turns: tuple[DraftTurn, ...]
    tools: tuple[ToolSpec, ...]
    perturbations: tuple[str, ...]
    context: Mapping[str, Json]


class Drafter:
    """Drafts conversations over one catalogue.

    The live state of a fresh session is read once for each server, since it is the same for every
    conversation; later turns read theirs anew.

    Args:
        catalog: the servers.
        chains: those that follow-ups are taken from.
        params: rates and sizes.
        seed: of every draw.
    """

    def __init__(self, catalog: Catalog, chains: Sequence[Chain], params: SynthesizeParams, seed: int) -> None:
        self._catalog = catalog
        self._params = params
        self._seed = seed
        self._fresh: dict[tuple[str, int], LiveState] = {}
        self._agenda = Agenda(chains)
        self._enabling = enabling_tools(
            pair
            for chain in chains
            for pair, label in zip(pairwise(chain.tools), chain.labels, strict=False)
            if label == "implicit"
        )

    def draft(self, job: Job) -> Draft | None:
        """The draft of one conversation, or None when the live state offers no way to make it."""
        dice = Dice(self._seed, f"draft/{job.index}")
        if job.irrelevant:
            return self._irrelevant(job, dice)
        if job.kind != "multi_turn":
            return self._unfinished(job, dice)
        return self._multi_turn(job, dice)

    def _multi_turn(self, job: Job, dice: Dice) -> Draft | None:
        server = self._catalog.servers[job.chain.server]
        sampling = Dice(self._seed, f"context/{job.index}")
        course = Course(
            job, server, self._params, self._enabling, dice,
            planner=lambda session, known: self._planner(job, server, session, known, dice),
            sample=lambda live, tools: _names(live, [server.tools[name] for name in tools], sampling),
        )  # fmt: skip
        turns = course.turns(Session(self._catalog.world(job.world)), self._agenda.of(job, server, dice))
        if turns is None:
            return None
        needed = _called(turns)
        tools, applied = visible_tools(self._catalog, server, needed, (), self._params, dice)
        return Draft(turns, tools, applied, self._context(job, server, needed))

    def _unfinished(self, job: Job, dice: Dice) -> Draft | None:
        """A request that ends in a question or a refusal: a value or a tool is missing."""
        server = self._catalog.servers[job.chain.server]
        session = Session(self._catalog.world(job.world))
        session.user_turn()
        actions = asked_tools(server, job.chain)
        if job.kind == "abstention":
            actions = actions[-1:]
        actions = actions[-ACTIONS_PER_TURN:]
        plan = self._planner(job, server, session, Knowledge(), dice).plan(actions)
        if plan is None:
            return None
        if not job.missing_function:
            silence = silent_turn(plan, server, job, dice, session)
            if silence is None:
                return None
            turn, hidden = silence.ask, set[str]()
            needed = list(dict.fromkeys(call.name for batch in plan.batches for call in batch))
        else:
            done = plan.ends[-2] if len(plan.ends) > 1 else 0
            script = assistant_script(
                plan.batches[:done], "decline" if job.kind == "abstention" else "offer", actions=plan.actions[:-1]
            )
            turn, hidden = DraftTurn(query_script(plan.sentences, job.persona), script), {actions[-1]}
            needed = _called([turn])
        if hidden & set(needed):
            return None
        tools, applied = visible_tools(self._catalog, server, needed, hidden, self._params, dice)
        return Draft((turn,), tools, applied, self._context(job, server, needed))

    def _irrelevant(self, job: Job, dice: Dice) -> Draft | None:
        """A question that none of the visible tools has to do with."""
        others = [s for name, s in sorted(self._catalog.servers.items()) if name != job.chain.server]
        if not others:
            return None
        other, session = dice.choice(others), Session(self._catalog.world(job.world))
        session.user_turn()
        plan = self._planner(job, other, session, Knowledge(), dice).plan([dice.choice(sorted(other.tools))])
        if plan is None:
            return None
        server = self._catalog.servers[job.chain.server]
        tools, applied = visible_tools(self._catalog, server, job.chain.tools, set(other.tools), self._params, dice)
        names = ("irrelevance", *(a for a in applied if a != "missing_function"))
        turn = DraftTurn(query_script(plan.sentences, job.persona), assistant_script((), "decline"))
        return Draft((turn,), tools, names, {"asked_server": other.name})

    def _planner(self, job: Job, server: ToolServer, session: Session, known: Knowledge, dice: Dice) -> Planner:
        return Planner(self._catalog, server, session, known, dice, self._fresh_state(server, session), job.persona)

    def _fresh_state(self, server: ToolServer, session: Session) -> LiveState | None:
        """The shared reading of a session on which only time has passed."""
        if any(entry.tool for entry in session.log):
            return None
        key = (server.name, len(session.log))
        if key not in self._fresh:
            self._fresh[key] = LiveState(self._catalog, server, session)
        return self._fresh[key]

    def _context(self, job: Job, server: ToolServer, needed: Iterable[str]) -> Mapping[str, Json]:
        """The sampling context, drawn anew for every `refresh_every` conversations."""
        session = Session(self._catalog.world(job.world))
        session.user_turn()
        dice = Dice(self._seed, f"context/{server.name}/{job.index // self._params.refresh_every}")
        live = self._fresh_state(server, session)
        assert live is not None
        tools = [server.tools[name] for name in needed]
        kinds = {kind for tool in tools for kind in _taken(tool) | shown_entities(tool)}
        return {
            kind: [{"id": thing.id, "label": thing.label} for thing in things]
            for kind, things in _sample(live, kinds, dice).items()
        }


def _names(live: LiveState, tools: Iterable[Tool], dice: Dice) -> dict[str, list[str]]:
    """What people call live things that some tools take; those without a name are left out."""
    sample = _sample(live, {kind for tool in tools for kind in _taken(tool)}, dice)
    return {kind: [thing.label for thing in things if thing.label != thing.id] for kind, things in sample.items()}


def _sample(live: LiveState, kinds: Iterable[str], dice: Dice) -> dict[str, list[Thing]]:
    return {kind: dice.sample(live.things(kind), CONTEXT_THINGS) for kind in sorted(kinds)}


def _called(turns: Iterable[DraftTurn]) -> list[str]:
    """The tools that the scripts call, in order."""
    calls = (call for turn in turns for batch in turn.assistant["batches"] for call in batch)
    return list(dict.fromkeys(call["name"] for call in calls))


def _taken(tool: Tool) -> set[str]:
    return {p.entity for p in tool.parameters if p.entity}
