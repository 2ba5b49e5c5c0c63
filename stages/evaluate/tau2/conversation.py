"""Playing a task: who speaks next, and when it is over, by the rules of the official orchestrator.

A step is one message to the user, to the agent or to the environment. A conversation is over after 200 steps
or ten failed calls, looked at when nobody waits for the environment; when the user says one of three stop
words; and in solo mode when the agent calls the stop tool. An agent that says nothing, or in solo mode calls
nothing, ends it too, and fails; so does one whose call cannot be read.

A user model that gives no usable answer is asked twice more; then the episode is masked.
"""

from __future__ import annotations

from dataclasses import dataclass

from stages.evaluate.benchmark import Episode, Request
from stages.evaluate.tau2.package import Tau2Package
from stages.evaluate.tau2.talk import Talk
from stages.evaluate.tau2.tasks import Tau2Task
from stages.evaluate.tau2.world import World
from stages.evaluate.user import UserError, UserModel
from stages.records import Message, ToolSpec

USER_ATTEMPTS = 3
_TRIALS_APART = 1_000


def play_solo(package: Tau2Package, task: Tau2Task) -> Episode:
    """Play a ticket with the agent alone."""
    talk = Talk(World(package, task), solo=True, steps=-1)  # officially the first message is not a step
    talk.open(package.prompts.for_solo(task.track.rules(package), str(task.official.ticket)))
    tools = package.tools(task.track.domain, solo=True)
    while talk.end is None:
        calls = talk.hear_agent((yield Request(tuple(talk.agent_view), tools)))
        talk.steps += 1
        if calls:
            talk.execute(calls, "assistant")
            talk.steps += 1
        if talk.end != "agent_error":
            talk.count_limits()
    return talk.record({})


def play_with_user(package: Tau2Package, task: Tau2Task, user: UserModel, seed: int = 0) -> Episode:
    """Play a conversation; `seed` is handed to the user model, another one in each trial and attempt."""
    domain = task.track.domain
    talk = Talk(World(package, task), solo=False)
    talk.open(package.prompts.for_agent(task.track.rules(package)), package.prompts.greeting)
    partner = _Partner(
        user, _instructions(package, task), package.user_tools(domain), seed + _TRIALS_APART * task.trial
    )
    tools = package.tools(domain, solo=False)
    agent_speaks = False
    while talk.end is None:
        if agent_speaks:
            calls = talk.hear_agent((yield Request(tuple(talk.agent_view), tools)))
        elif (message := partner.reply(talk.user_view)) is not None:
            calls = talk.hear_user(message)
        else:
            talk.end = "user_error"
            break
        talk.steps += 1
        if calls:
            talk.execute(calls, "assistant" if agent_speaks else "user")
            talk.steps += 1
        else:
            agent_speaks = not agent_speaks
        if talk.end != "agent_error":
            talk.count_limits()
    return talk.record(
        {
            "user_model": user.name,
            "user_requests": partner.requests,
            "user_failures": partner.failures,
            "user_format_breaks": partner.format_breaks,
            "user_problem": partner.problem,
        }
    )


@dataclass(slots=True)
class _Partner:
    """The user model in one conversation, and how it has behaved."""

    model: UserModel
    instructions: str
    tools: tuple[ToolSpec, ...]
    seed: int
    requests: int = 0
    failures: int = 0
    format_breaks: int = 0
    problem: str = ""

    def reply(self, view: list[Message]) -> Message | None:
        """A usable answer, or None when no attempt gave one."""
        for attempt in range(USER_ATTEMPTS):
            self.requests += 1
            try:
                message = self.model.reply(tuple(view), self.instructions, self.tools, seed=self.seed + attempt)
            except UserError as error:
                self.failures, self.problem = self.failures + 1, str(error)[:500]
                continue
            self.format_breaks += self._breaks_format(message)
            if all(call.arguments is not None for call in message.tool_calls) and _says_something(message):
                return message
            self.failures, self.problem = self.failures + 1, "the answer is empty or holds a call that cannot be read"
        return None

    def _breaks_format(self, message: Message) -> bool:
        """Whether an answer has both words and calls, calls what is not there, or cannot be read."""
        names = {tool.name for tool in self.tools}
        strange = any(call.arguments is None or call.name not in names for call in message.tool_calls)
        return strange or bool(message.tool_calls and message.content.strip())


def _says_something(message: Message) -> bool:
    return bool(message.tool_calls or message.content.strip())


def _instructions(package: Tau2Package, task: Tau2Task) -> str:
    return package.prompts.for_user(package.guidelines(task.track.domain), str(task.official.user_scenario))
