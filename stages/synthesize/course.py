"""The course of a multi-turn conversation: turns planned one after another, each on the state that the last left."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from servers.kernel.dice import Dice
from servers.kernel.server import ToolServer
from servers.kernel.session import Session
from stages.params import SynthesizeParams
from stages.sampling import LiveState
from stages.synthesize.knowledge import Knowledge
from stages.synthesize.mix import Job
from stages.synthesize.plan import Planner, TurnPlan
from stages.synthesize.scripts import After, DraftTurn, assistant_script, details_script, query_script
from stages.synthesize.setbacks import plan_refusal, plan_remedy
from stages.synthesize.silence import Silence, silent_turn
from stages.synthesize.slips import slip

FOLLOW_UP_TRIES = 5
"""Things tried for one follow-up before the conversation ends without it."""

TOGETHER = 0.5
"""Share of turns with two requests whose calls run side by side where they can."""

MOST_ERRORS = 0.3
"""Failed calls over all calls in a draft; more of them would get the conversation rejected."""

PlannerFor: TypeAlias = Callable[[Session, Knowledge], Planner]
Sampler: TypeAlias = Callable[[LiveState, Sequence[str]], Mapping[str, Sequence[str]]]


@dataclass(slots=True)
class Planned:
    """A turn with the state that it begins in."""

    plan: TurnPlan
    before: Session
    context: Mapping[str, Sequence[str]]
    silence: Silence | None = None
    refused: bool = False
    retries: bool = False


@dataclass(slots=True)
class Course:
    """Plans the turns of one conversation.

    Args:
        job: how many turns, what is left unsaid, whether something is refused.
        server: the conversation's server.
        params: rate of slips and length of repairs.
        enabling: for each tool, those that may have to run first.
        dice: decides.
        planner: makes a planner for a session and what is known by then.
        sample: draws names of live things that some tools take.
    """

    job: Job
    server: ToolServer
    params: SynthesizeParams
    enabling: Mapping[str, Sequence[str]]
    dice: Dice
    planner: PlannerFor
    sample: Sampler
    planned: list[Planned] = field(default_factory=list)

    def turns(self, session: Session, agenda: Iterator[list[str]]) -> tuple[DraftTurn, ...] | None:
        """The scripts of all turns.

        None where the chain offers no first turn, or too few in all; where too many calls would fail; or where a
        chain that changes something would never come to it.
        """
        known, left = Knowledge(), self.job.turns
        while left > 0:
            silent = not self.planned and self.job.information != "complete"
            for _ in range(2 if silent else 1):
                session.user_turn()
            actions = next(agenda)
            if self.job.setback and not self.planned and not silent:
                ended = self._setback(session, known, actions, agenda)
            else:
                ended = self._step(session, known, actions, agenda)
            if ended is None or (silent and not self._leave_out()):
                break
            session, known = ended
            left = self.job.turns - len(self.planned) - any(item.silence for item in self.planned)
        whole = left <= 0 or (self.planned and self.job.turns - left >= min(2, self.job.turns))
        changes = any(not self.server.tools[name].read_only for name in self.job.chain.tools)
        if not whole or self._room() < 0 or (changes and not any(entry.tool for entry in session.log)):
            return None
        return self._scripts()

    def _room(self) -> int:
        """Failed calls that the conversation can still bear."""
        calls = sum(len(batch) for item in self.planned for batch in item.plan.batches)
        refused = sum(item.refused for item in self.planned)
        return int((calls - refused) * MOST_ERRORS / (1 - MOST_ERRORS)) - refused

    def _step(
        self, session: Session, known: Knowledge, actions: list[str], agenda: Iterator[list[str]]
    ) -> tuple[Session, Knowledge] | None:
        """One turn that works; a follow-up may be about something else than was meant."""
        for _ in range(FOLLOW_UP_TRIES if self.planned else 1):
            planner = self.planner(session, known)
            live = planner.live
            plan = planner.plan(actions, together=len(actions) > 1 and self.dice.chance(TOGETHER))
            if plan is not None:
                self.planned.append(Planned(plan, session, self.sample(live, actions)))
                return planner.session, planner.known
            actions = next(agenda)
        return None

    def _setback(
        self, session: Session, known: Knowledge, actions: list[str], agenda: Iterator[list[str]]
    ) -> tuple[Session, Knowledge] | None:
        """A turn that the live state refuses and, where there is a way, the turn that makes it good."""
        planner = self.planner(session, known)
        live = planner.live
        rest = self.dice.shuffled([name for name in self.server.tools if name not in actions])
        before = rest[:1] if self.dice.chance(0.5) else []
        made = plan_refusal(planner, before, [*reversed(actions), *rest[1:]])
        if made is None:
            return self._step(session, known, actions, agenda)
        plan, refusal = made
        tools = [sentence.tool for sentence in plan.sentences]
        self.planned.append(Planned(plan, session, self.sample(live, tools), refused=True))
        following = planner.session.fork()
        following.user_turn()
        answer = self.planner(following, planner.known)
        live = answer.live
        remedy = plan_remedy(answer, refusal, self.enabling.get(refusal.tool.name, ()))
        if remedy is None:
            return planner.session, planner.known
        context = self.sample(live, [sentence.tool for sentence in remedy.plan.sentences])
        self.planned.append(Planned(remedy.plan, following, context, retries=remedy.retries))
        return answer.session, answer.known

    def _leave_out(self) -> bool:
        first = self.planned[0]
        first.silence = silent_turn(first.plan, self.server, self.job, self.dice, first.before)
        if first.silence is None:
            self.planned.clear()
            return False
        first.plan = first.silence.plan
        return True

    def _scripts(self) -> tuple[DraftTurn, ...]:
        room = self._room()
        after: After = ""
        due = False
        turns: list[DraftTurn] = []
        for item in self.planned:
            batches = item.plan.batches
            # A slip that finds no place in one turn waits for the next.
            due = self.dice.chance(self.params.mistake_rate) or due
            if due and not item.refused:
                most = min(room, max(1, self.params.max_retries))
                batches, failed = slip(item.plan, self.server, item.before, self.dice, most)
                room, due = room - failed, not failed
            acts = assistant_script(batches, actions=item.plan.actions)
            if item.silence is None:
                asks = query_script(item.plan.sentences, self.job.persona, after, retries=item.retries)
                turns.append(DraftTurn(asks, acts, item.context))
            else:
                told = details_script(item.silence.values, item.silence.parents, self.job.persona)
                turns += [
                    replace(item.silence.ask, context=item.context),
                    DraftTurn(told, acts, item.context, clarifies=True),
                ]
            after = self._ending(item)
        return tuple(turns)

    def _ending(self, item: Planned) -> After:
        if item.refused:
            return "partial" if len(item.plan.actions) > 1 else "failed"
        return "listed" if self.server.tools[item.plan.actions[-1].name].read_only else "done"
