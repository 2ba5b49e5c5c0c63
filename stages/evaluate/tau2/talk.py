"""What has been said and done in one conversation, as each side sees it.

The record holds every message in order. The agent's view lacks the user's calls and their results, the
user's view lacks the agent's, and there the two have changed roles. Calls of the user get ids by their
number, since an endpoint makes up random ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from stages.evaluate.tau2.package import STOP_TOOL
from stages.evaluate.tau2.world import Caller, World
from stages.records import EpisodeRecord, ExecutedCall, Json, Message, ToolCall

STOP_WORDS = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")
MAX_STEPS = 200
MAX_ERRORS = 10

End: TypeAlias = Literal["user_stop", "agent_stop", "agent_error", "max_steps", "too_many_errors", "user_error"]
_STOPS: Mapping[End, Literal["answered", "rounds", "infrastructure"]] = {
    "user_stop": "answered",
    "agent_stop": "answered",
    "agent_error": "answered",
    "max_steps": "rounds",
    "too_many_errors": "rounds",
    "user_error": "infrastructure",
}


@dataclass(slots=True)
class Talk:
    """The conversation so far; `end` says why it is over."""

    world: World
    solo: bool
    messages: list[Message] = field(default_factory=list)
    agent_view: list[Message] = field(default_factory=list)
    user_view: list[Message] = field(default_factory=list)
    calls: list[ExecutedCall] = field(default_factory=list)
    end: End | None = None
    steps: int = 0
    errors: int = 0
    user_calls: int = 0

    def open(self, prompt: str, greeting: str = "") -> None:
        """Begin with the agent's system prompt, and its greeting where there is a user."""
        self._say(Message("system", prompt), self.agent_view)
        if greeting:
            self._say(Message("assistant", greeting), self.agent_view)
            self.user_view.append(Message("user", greeting))

    def hear_agent(self, message: Message) -> Sequence[ToolCall]:
        """Take in the agent's message; the calls that the environment has to answer."""
        self._say(message, self.agent_view)
        if any(call.arguments is None for call in message.tool_calls):
            position = len(self.messages) - 1
            self.calls.extend(_unread(call, position) for call in message.tool_calls)
            self.end = "agent_error"
        elif self.solo and any(call.name == STOP_TOOL for call in message.tool_calls):
            self.end = "agent_stop"
        elif message.tool_calls:
            return message.tool_calls
        elif self.solo or not message.content.strip():
            self.end = "agent_error"
        else:
            self.user_view.append(Message("user", message.content))
        return ()

    def hear_user(self, message: Message) -> Sequence[ToolCall]:
        """Take in the user's message; the calls that the environment has to answer."""
        first = self.user_calls
        self.user_calls += len(message.tool_calls)
        calls = tuple(replace(call, id=f"user_{n}") for n, call in enumerate(message.tool_calls, start=first))
        self.messages.append(Message("user", message.content, calls))
        self.user_view.append(Message("assistant", message.content, calls))
        if not calls:
            self.agent_view.append(Message("user", message.content))
            if any(word in message.content for word in STOP_WORDS):
                self.end = "user_stop"
        return calls

    def execute(self, calls: Sequence[ToolCall], caller: Caller) -> None:
        """Let the environment answer calls; only their caller hears of it."""
        position = len(self.messages) - 1
        view = self.agent_view if caller == "assistant" else self.user_view
        for call in calls:
            outcome = self.world.call(call.name, call.arguments or {}, caller)
            self.errors += outcome.failed
            self._say(Message("tool", outcome.text, tool_call_id=call.id), view)
            if caller == "assistant":
                code = "tool_error" if outcome.failed else ""
                self.calls.append(
                    ExecutedCall(call.name, call.arguments, position, True, not outcome.failed, outcome.text, code)
                )

    def count_limits(self) -> None:
        """End a conversation that has become too long or too faulty; this outweighs a stop, as officially."""
        if self.steps >= MAX_STEPS:
            self.end = "max_steps"
        if self.errors >= MAX_ERRORS:
            self.end = "too_many_errors"

    def record(self, extra: Mapping[str, Json]) -> EpisodeRecord:
        """The finished episode, with why it ended among its extras."""
        if self.end is None:
            raise RuntimeError("the conversation is not over")
        extras = {"end": self.end, "steps": self.steps, **extra}
        return EpisodeRecord(tuple(self.messages), tuple(self.calls), self.world.digest(), _STOPS[self.end], extras)

    def _say(self, message: Message, view: list[Message]) -> None:
        self.messages.append(message)
        view.append(message)


def _unread(call: ToolCall, position: int) -> ExecutedCall:
    why = call.error or "another call of this message could not be read"
    return ExecutedCall(call.name, call.arguments, position, False, False, f"Not executed: {why}", "unreadable")
