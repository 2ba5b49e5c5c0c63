"""The draft of a conversation: what each turn asks, which calls do it, and which tools are shown.

A draft is made on a scratch session, turn after turn, so that it holds when the real session plays it.
A scripted teacher acts it out; a teacher that thinks sees only the request's material, never the calls.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from servers.kernel.catalog import Catalog
from servers.kernel.dice import Dice
from servers.kernel.requests import placeholders
from servers.kernel.server import ToolServer
from servers.kernel.session import Session
from servers.kernel.tool import Tool
from stages.discover.edges import Chain
from stages.params import SynthesizeParams
from stages.records import Json, ToolSpec
from stages.sampling import LiveState, PlannedCall, shown_entities
from stages.synthesize.mix import Job
from stages.synthesize.perturb import visible_tools
from stages.synthesize.plan import Knowledge, Planner, Sentence, TurnPlan, shown_fields

ACTIONS_PER_TURN = 2
"""Most things that one user turn asks for."""

CALLS_AROUND_A_MISTAKE = 3
"""Fewest right calls of a turn in which the scripted teacher may err."""

CONTEXT_THINGS = 8
"""Live things of each kind that the sampling context shows."""


@dataclass(frozen=True, slots=True)
class DraftTurn:
    """One user turn as scripts for the user and for the assistant."""

    user: Mapping[str, Any]
    assistant: Mapping[str, Any]
    clarifies: bool = False


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
    """

    def __init__(self, catalog: Catalog, params: SynthesizeParams, seed: int) -> None:
        self._catalog = catalog
        self._params = params
        self._seed = seed
        self._fresh: dict[tuple[str, int], LiveState] = {}

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
        session, known = Session(self._catalog.world(job.world)), Knowledge()
        turns: list[DraftTurn] = []
        needed: dict[str, None] = {}
        for actions in self._split(job, server, dice):
            withhold = job.information != "complete" and not turns
            session.user_turn()
            if withhold:
                session.user_turn()
            planner = self._planner(server, session, known, dice, fresh=not turns)
            plan = planner.plan(actions)
            if plan is None:
                if not turns:
                    return None
                break
            made = self._turns(job, plan, server, withhold, not turns, dice)
            if made is None:
                return None
            turns += made
            session, known = planner.session, planner.known
            needed.update((call.name, None) for batch in plan.batches for call in batch)
        tools, applied = visible_tools(self._catalog, server, list(needed), (), self._params, dice)
        return Draft(tuple(turns), tools, applied, self._context(job, server, needed))

    def _unfinished(self, job: Job, dice: Dice) -> Draft | None:
        """A request that ends in a question or a refusal: a value or a tool is missing."""
        server = self._catalog.servers[job.chain.server]
        session = Session(self._catalog.world(job.world))
        session.user_turn()
        actions = asked_tools(server, job.chain)
        if job.kind == "abstention":
            actions = actions[-1:]
        actions = actions[-ACTIONS_PER_TURN:]
        plan = self._planner(server, session, Knowledge(), dice, fresh=True).plan(actions)
        if plan is None:
            return None
        if not job.missing_function:
            made = self._turns(job, plan, server, True, True, dice)
            if made is None:
                return None
            turns, done, hidden = made[:1], 0, set[str]()
        else:
            done = plan.ends[-2] if len(plan.ends) > 1 else 0
            hidden = {actions[-1]}
            close = "offer" if done else "decline" if job.kind == "abstention" else "offer"
            script = _assistant(plan.batches[:done], close=close)
            turns = [DraftTurn(_query(plan.sentences, job.persona, True), script)]
        needed = dict.fromkeys(call.name for batch in plan.batches[:done] for call in batch)
        if not job.missing_function:
            needed = dict.fromkeys(call.name for batch in plan.batches for call in batch)
        if hidden & needed.keys():
            return None
        tools, applied = visible_tools(self._catalog, server, list(needed), hidden, self._params, dice)
        return Draft(tuple(turns), tools, applied, self._context(job, server, needed))

    def _irrelevant(self, job: Job, dice: Dice) -> Draft | None:
        """A question that none of the visible tools has to do with."""
        others = [s for name, s in sorted(self._catalog.servers.items()) if name != job.chain.server]
        if not others:
            return None
        other, session = dice.choice(others), Session(self._catalog.world(job.world))
        session.user_turn()
        name = dice.choice(sorted(other.tools))
        plan = self._planner(other, session, Knowledge(), dice, fresh=True).plan([name])
        if plan is None:
            return None
        server = self._catalog.servers[job.chain.server]
        tools, applied = visible_tools(self._catalog, server, job.chain.tools, set(other.tools), self._params, dice)
        names = ("irrelevance", *(a for a in applied if a != "missing_function"))
        turn = DraftTurn(_query(plan.sentences, job.persona, True), _assistant((), close="decline"))
        return Draft((turn,), tools, names, {})

    def _split(self, job: Job, server: ToolServer, dice: Dice) -> list[list[str]]:
        """The chain's actions over the user turns; tools of the server fill turns that it leaves empty."""
        actions = asked_tools(server, job.chain)
        turns: list[list[str]] = []
        while actions and len(turns) < job.turns:
            size = min(len(actions), dice.integer(1, ACTIONS_PER_TURN))
            turns.append(actions[:size])
            actions = actions[size:]
        spare = dice.shuffled([name for name in server.tools if name not in job.chain.tools])
        while len(turns) < job.turns and spare:
            turns.append([spare.pop()])
        return turns

    def _turns(
        self, job: Job, plan: TurnPlan, server: ToolServer, withhold: bool, first: bool, dice: Dice
    ) -> list[DraftTurn] | None:
        if not withhold:
            batches = self._mistaken(plan, server, dice)
            return [DraftTurn(_query(plan.sentences, job.persona, first), _assistant(batches))]
        said = plan.sentences[0]
        elsewhere = {word for other in plan.sentences[1:] for word in (*other.values.values(), *other.parents)}
        silent = withheld(server.tools[said.tool], said, job.information, dice, elsewhere)
        if not silent:
            return None
        asked = Sentence(said.tool, said.ask, said.values, (), tuple(silent))
        ask = DraftTurn(
            _query((asked, *plan.sentences[1:]), job.persona, first),
            _assistant((), close="question", missing=list(silent)),
        )
        reply = DraftTurn(
            {"role": "details", "values": silent, "parents": said.parents}, _assistant(plan.batches), clarifies=True
        )
        return [ask, reply]

    def _mistaken(self, plan: TurnPlan, server: ToolServer, dice: Dice) -> tuple[tuple[PlannedCall, ...], ...]:
        """Sometimes the assistant first tries the name of a thing where its id belongs.

        Short turns are spared: one failure among few calls would get the conversation rejected.
        """
        if not dice.chance(self._params.mistake_rate) or sum(map(len, plan.batches)) < CALLS_AROUND_A_MISTAKE:
            return plan.batches
        for position, batch in enumerate(plan.batches):
            tool = server.tools[batch[0].name]
            for thing in plan.things:
                for parameter in tool.parameters:
                    fits = batch[0].arguments.get(parameter.name) == thing.id and thing.label != thing.id
                    if position and fits and not parameter.natural:
                        wrong = PlannedCall(tool.name, {**batch[0].arguments, parameter.name: thing.label})
                        return ((wrong,), *plan.batches)
        return plan.batches

    def _planner(self, server: ToolServer, session: Session, known: Knowledge, dice: Dice, *, fresh: bool) -> Planner:
        live = self._fresh_state(server, session) if fresh else None
        return Planner(self._catalog, server, session, known, dice, live)

    def _fresh_state(self, server: ToolServer, session: Session) -> LiveState:
        key = (server.name, len(session.log))
        if key not in self._fresh:
            self._fresh[key] = LiveState(self._catalog, server, session)
        return self._fresh[key]

    def _context(self, job: Job, server: ToolServer, needed: Mapping[str, None]) -> dict[str, Json]:
        """The compact sampling context: real things of every kind that the needed tools touch, drawn anew
        for every `refresh_every` conversations.
        """
        session = Session(self._catalog.world(job.world))
        session.user_turn()
        live = self._fresh_state(server, session)
        dice = Dice(self._seed, f"context/{server.name}/{job.index // self._params.refresh_every}")
        context: dict[str, Json] = {}
        for kind in sorted({k for name in needed for k in _kinds(server.tools[name])}):
            things = dice.sample(live.things(kind), CONTEXT_THINGS)
            context[kind] = [{"id": thing.id, "label": thing.label} for thing in things]
        return context


def asked_tools(server: ToolServer, chain: Chain) -> list[str]:
    """The tools of a chain that a person asks for: not the lookups that only feed the next call."""
    asked = []
    for position, name in enumerate(chain.tools):
        feeds = position < len(chain.labels) and chain.labels[position] == "explicit"
        if not (feeds and server.tools[name].read_only):
            asked.append(name)
    return asked


def withheld(tool: Tool, sentence: Sentence, level: str, dice: Dice, elsewhere: Collection[str]) -> dict[str, str]:
    """Required values that the request mentions and leaves unsaid: all of them when minimal, else one.

    What another sentence says (`elsewhere`) cannot be withheld, nor can one of a few words that the phrasing
    is built around (an enum).
    """
    wanted = placeholders(sentence.ask)
    options = {}
    for parameter in tool.parameters:
        if parameter.required and parameter.name in wanted and "enum" not in parameter.schema:
            fields = [f"{parameter.name}.{field}" for field in shown_fields(sentence.ask, parameter.name)]
            values = [sentence.values[key] for key in fields or [parameter.name]]
            if not any(value in elsewhere for value in values):
                options[parameter.name] = ", ".join(values)
    if level != "minimal" and options:
        name = dice.choice(sorted(options))
        return {name: options[name]}
    return options


def _query(sentences: tuple[Sentence, ...], persona: str, first: bool) -> dict[str, Any]:
    said = [asdict(sentence) for sentence in sentences]
    return {"role": "query", "sentences": said, "persona": persona, "first": first}


def _assistant(
    batches: tuple[tuple[PlannedCall, ...], ...], close: str = "answer", missing: list[str] | None = None
) -> dict[str, Any]:
    calls = [[{"name": c.name, "arguments": dict(c.arguments)} for c in batch] for batch in batches]
    return {"role": "assistant", "batches": calls, "close": close, "missing": missing or []}


def _kinds(tool: Tool) -> set[str]:
    return {p.entity for p in tool.parameters if p.entity} | shown_entities(tool)
