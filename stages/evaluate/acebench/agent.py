"""ACEBench's agent tasks as a benchmark: calls act on a simulated world, step by step.

Multi-step tasks are for the agent alone. In multi-turn tasks a second model plays the user, so those are
there only if one is given, and a result must name it. An episode ends when somebody says the fixed words
*finish conversation*, or after 20 replies of the agent; it is scored where it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from stages.evaluate.acebench.agent_scoring import score_agent
from stages.evaluate.acebench.calls import Call
from stages.evaluate.acebench.data import AceData, AgentTask, Language
from stages.evaluate.acebench.policies import PHONE, TRAVEL
from stages.evaluate.acebench.prompts import WORDS
from stages.evaluate.acebench.rendering import Rendering, api_lines, reading_of
from stages.evaluate.acebench.schema import tool_of
from stages.evaluate.acebench.world import ScenarioCode, World
from stages.evaluate.benchmark import Control, Episode, InfrastructureError, Request, Score
from stages.evaluate.loop import OneByOne, Silent, run_tasks
from stages.evaluate.user import UserModel
from stages.records import EpisodeRecord, ExecutedCall, Message

MAX_REPLIES = 20
"""Replies of the agent in one episode."""

FINISHED = "finish conversation"


class AceAgent:
    """The agent tasks of one language in one rendering.

    Args:
        directory: the folder that holds `data_en` and `data_zh`.
        code: an upstream clone, whose scenario classes are run.
        language: `en` or `zh`.
        rendering: `native` (ACEBench's own notation) or `training` (tools and tool calls).
        user: who plays the user of multi-turn tasks; without one only multi-step tasks are there.

    Raises:
        BenchmarkUnavailableError: data or code is not there; the message says how to get it.
    """

    def __init__(
        self,
        directory: Path,
        code: Path,
        language: Language = "en",
        rendering: Rendering = "native",
        user: UserModel | None = None,
    ) -> None:
        self.data = AceData(directory, language)
        self.code = ScenarioCode(code, language)
        self.language = language
        self.rendering = rendering
        self.user = user
        self.name = f"acebench_agent_{language}_{rendering}"

    @cached_property
    def version(self) -> str:
        """Revision of the data, language, rendering, and who plays the user."""
        user = "no user model" if self.user is None else f"user model {self.user.name}"
        return f"{self.data.revision}, {self.language}, {self.rendering}, {user}"

    def tasks(self) -> Sequence[AgentTask]:
        """All tasks that can be played."""
        return [task for task in self.data.agent_tasks() if self.user or task.category == "agent_multi_step"]

    def play(self, task: AgentTask) -> Episode:
        """Play one task in a world of its own."""
        talk = _Talk(World(self.code, task), self.rendering, [Message("system", self._system(task))])
        told = _Told(task, self.language, self.user)
        talk.messages.append(Message("user", told.opening()))
        tools = tuple(map(tool_of, task.apis)) if self.rendering == "training" else ()
        for _ in range(MAX_REPLIES):
            reply = yield Request(tuple(talk.messages), tools)
            talk.messages.append(reply)
            if talk.execute_last():
                continue
            if FINISHED in reply.content.lower():
                return talk.record("answered")
            answer = told.answer(reply.content)
            talk.messages.append(Message("user", answer))
            if FINISHED in answer.lower():
                return talk.record("answered")
        return talk.record("rounds")

    def score(self, task: AgentTask, episode: EpisodeRecord) -> Score:
        """The verdict on an episode, from the calls in its record."""
        return score_agent(self.code, task, episode)

    def controls(self) -> tuple[Control, ...]:
        """Doing nothing passes nothing. Milestones are no full solutions, so there is no gold replay."""
        rows = run_tasks(self, self.tasks(), OneByOne(Silent()))
        return (Control("agent_do_nothing", sum(row.score.passed for row in rows), len(rows), 0),)

    def _system(self, task: AgentTask) -> str:
        words = WORDS[self.language]
        policy = TRAVEL if "Travel" in task.classes else PHONE
        native = [words.notation, f"{words.apis}\n{api_lines(task.apis)}"] if self.rendering == "native" else []
        return "\n\n".join([words.agent, policy[self.language], *native])


@dataclass(slots=True)
class _Told:
    """The other side: a model that plays the user, or nobody."""

    task: AgentTask
    language: Language
    user: UserModel | None
    messages: list[Message] = field(default_factory=list)

    def opening(self) -> str:
        """What the agent hears first."""
        if self.task.category == "agent_multi_step":
            return self.task.instruction
        return self.answer(WORDS[self.language].greeting)

    def answer(self, said: str) -> str:
        """What the agent hears after its words; a user that can't answer is nobody's failure."""
        words = WORDS[self.language]
        if self.task.category == "agent_multi_step" or self.user is None:
            return words.alone
        self.messages.append(Message("user", said))
        try:
            reply = self.user.reply(tuple(self.messages), words.user + self.task.instruction, ())
        except Exception as problem:
            raise InfrastructureError(f"the model that plays the user failed: {problem}") from problem
        self.messages.append(Message("assistant", reply.content))
        return reply.content


@dataclass(slots=True)
class _Talk:
    """The conversation so far, and what its calls did to the world."""

    world: World
    rendering: Rendering
    messages: list[Message]
    calls: list[ExecutedCall] = field(default_factory=list)

    def execute_last(self) -> bool:
        """Run the calls of the last message and append their results; False if it has none."""
        reply, position = self.messages[-1], len(self.messages) - 1
        reading = reading_of(reply, self.rendering)
        if self.rendering == "training":
            for call in reply.tool_calls:
                text = (
                    self._run(Call(call.name, call.arguments), position) if call.arguments is not None else call.error
                )
                self.messages.append(Message("tool", text, tool_call_id=call.id))
            return bool(reply.tool_calls)
        if reading.calls:
            self.messages.append(Message("user", "\n".join(self._run(call, position) for call in reading.calls)))
        return bool(reading.calls)

    def _run(self, call: Call, position: int) -> str:
        done = self.world.call(call.name, call.arguments)
        self.calls.append(
            ExecutedCall(
                name=call.name,
                arguments=call.arguments,
                position=position,
                executed=done.executed,
                ok=not done.error,
                result=done.text,
                error_code=done.error,
            )
        )
        return done.text

    def record(self, stop: Literal["answered", "rounds"]) -> EpisodeRecord:
        """The finished episode."""
        return EpisodeRecord(tuple(self.messages), tuple(self.calls), "", stop)
