"""Acting a draft out: user and assistant take turns in a live session, and the machine records each step."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import Any

from servers.kernel.catalog import Catalog
from servers.kernel.session import Session
from stages.conversations import Conversation, Turn
from stages.params import SynthesizeParams
from stages.records import ExecutedCall, Message
from stages.rollout import Episode
from stages.synthesize.draft import Draft
from stages.synthesize.machine import Event, Machine, State
from stages.synthesize.mix import Job
from stages.synthesize.scripts import DraftTurn
from stages.synthesize.truth import ground_truth
from stages.teacher.client import Completion
from stages.teacher.errors import Failure
from stages.teacher.team import Teachers

MAX_ROUNDS = 12
"""Assistant messages in one user turn, before the turn is closed."""


@dataclass(slots=True)
class Spent:
    """What a conversation's answers cost."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0

    def add(self, completion: Completion) -> Message:
        """Count an answer and return its message."""
        self.prompt_tokens += completion.prompt_tokens
        self.completion_tokens += completion.completion_tokens
        self.cost += completion.cost
        return completion.message


class Dialogue:
    """The setting of one conversation.

    Args:
        catalog: the servers.
        teachers: play both sides.
        job: what is to be written.
        draft: its turns and visible tools.
        params: limits of recovery.
    """

    def __init__(self, catalog: Catalog, teachers: Teachers, job: Job, draft: Draft, params: SynthesizeParams) -> None:
        self._catalog = catalog
        self._assistant, self._teachers = teachers.of("assistant"), teachers
        self._job = job
        self._draft = draft
        self._params = params
        self._machine = Machine()
        self._spent = Spent()
        self._session = Session(catalog.world(job.world))
        self._date = f"{self._session.now:%A, %Y-%m-%d}"
        self._episode = Episode(catalog, self._session, draft.tools, (), max_rounds=MAX_ROUNDS + 1)

    async def play(self) -> Conversation:
        """Run every turn of the draft.

        Raises:
            TeacherError: the teacher gave no usable answer.
        """
        turns = []
        for number, drafted in enumerate(self._draft.turns):
            start, ran = len(self._episode.messages), len(self._episode.calls)
            self._episode.say(await self._ask(drafted))
            self._machine.fire(Event.QUERY_WRITTEN)
            await self._act(drafted.assistant)
            self._machine.fire(Event.ANSWERED)
            calls = tuple(self._episode.calls[ran:])
            turns.append(Turn(start, calls, ground_truth(self._catalog, calls), self._session.state_hash))
            self._continue(number)
        return self._conversation(tuple(turns))

    def _continue(self, number: int) -> None:
        following = self._draft.turns[number + 1 : number + 2]
        if not following:
            self._machine.fire(Event.DONE)
        else:
            self._machine.fire(Event.CLARIFY if following[0].clarifies else Event.FOLLOW_UP)

    async def _ask(self, drafted: DraftTurn) -> str:
        """The user's next message; who writes it is shown the last reply and the live state of this moment."""
        script = drafted.user
        prompt = _prompt(str(script["role"]), persona=self._job.persona, date=self._date)
        material = json.dumps(_material(script, drafted.context), ensure_ascii=False)
        messages = [Message("system", prompt), *self._episode.messages[-1:], Message("user", material)]
        teacher = self._teachers.of("user" if script["role"] == "details" else "query")
        completion = await teacher.complete(messages, script=script, seed=self._job.index)
        text = self._spent.add(completion).content
        if not text.strip():
            raise teacher.unusable(Failure.EMPTY, "a call where a user's message was asked for")
        return text

    async def _act(self, script: Mapping[str, Any]) -> None:
        """The assistant's part of one turn, with recovery from failed calls."""
        policy = self._catalog.servers[self._job.chain.server].policy
        system = Message("system", _prompt("assistant", date=self._date, policy=policy))
        failed: list[ExecutedCall] = []
        recoveries = 0
        for _ in range(MAX_ROUNDS):
            completion = await self._assistant.complete(
                [system, *self._episode.messages], script=script, tools=self._draft.tools, seed=self._job.index
            )
            reply = self._spent.add(completion)
            if not reply.tool_calls:
                self._machine.fire(Event.GIVE_UP if failed else Event.ANSWER)
                self._episode.respond(reply)
                return
            if failed:
                recoveries += 1
                if recoveries > self._params.max_retries + 1:
                    break
                again = {call.name for call in failed} & {call.name for call in reply.tool_calls}
                self._machine.fire(Event.RETRY if again else Event.ALTERNATIVE)
            else:
                self._machine.fire(Event.CALLS)
            failed = self._run(reply)
        self._give_up()

    def _run(self, reply: Message) -> list[ExecutedCall]:
        ran = len(self._episode.calls)
        self._episode.respond(reply)
        results = self._episode.calls[ran:]
        failed = [call for call in results if not call.ok]
        if not failed:
            self._machine.fire(Event.SUCCESS)
        else:
            self._machine.fire(Event.FAILURE if len(failed) == len(results) else Event.PARTIAL_SUCCESS)
        return failed

    def _give_up(self) -> None:
        """Close a turn that found no way."""
        self._machine.fire(Event.GIVE_UP if self._machine.state is State.RECOVERY else Event.ANSWER)
        self._episode.respond(Message("assistant", "I'm sorry, I could not get that done."))

    def _conversation(self, turns: tuple[Turn, ...]) -> Conversation:
        job, draft = self._job, self._draft
        return Conversation(
            id=job.id,
            kind=job.kind,
            server=job.chain.server,
            chain=job.chain.tools,
            world=job.world,
            persona=job.persona,
            information=job.information,
            perturbations=draft.perturbations,
            tools=draft.tools,
            messages=tuple(self._episode.messages),
            turns=turns,
            context=draft.context,
            transitions=tuple(self._machine.transitions),
            teacher=self._assistant.params.model,
            cost=self._spent.cost,
            reference_date=self._date,
        )


def _material(script: Mapping[str, Any], context: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What the writer of a user message is told; the plan of calls is not part of it."""
    if script["role"] == "details":
        return {"values": script["values"], "where": script["parents"]}
    wants = [
        {
            "wish": sentence["ask"],
            "values": {k: sentence["values"][k] for k in _mentioned(sentence)},
            "where": sentence["parents"],
            "withheld": sentence["withheld"],
        }
        for sentence in script["sentences"]
    ]
    silent = {value for sentence in script["sentences"] for value in _unsaid(sentence)}
    shown = {kind: [name for name in names if name not in silent] for kind, names in context.items()}
    return {"wants": wants, "context": shown, "last_turn": script["after"], "try_again": script["retries"]}


def _unsaid(sentence: Mapping[str, Any]) -> list[str]:
    return [v for k, v in sentence["values"].items() if k.partition(".")[0] in sentence["withheld"]]


def _mentioned(sentence: Mapping[str, Any]) -> list[str]:
    """The placeholders that the user fills in: an identifier that is found by a lookup is never one."""
    keys = (key for _, key, _, _ in Formatter().parse(sentence["ask"]) if key)
    return [key for key in keys if key.partition(".")[0] not in sentence["withheld"]]


def _prompt(name: str, **values: str) -> str:
    text = _template(name)
    for key, value in values.items():
        text = text.replace("{" + key + "}", value)
    return text


@cache
def _template(name: str) -> str:
    return files("stages.synthesize").joinpath(f"prompts/{name}.md").read_text(encoding="utf-8")
