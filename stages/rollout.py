"""One episode of any agent against a session: a teacher, a policy or an oracle.

An episode takes the agent's replies one by one, runs the calls in them, and appends what the agent reads
next. Model output is data: tool names are looked up exactly, broken calls are answered with an error that
says how to repair them, and nothing that a model writes ends the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias, get_args

from pydantic_core import to_json

from servers.kernel.catalog import Catalog
from servers.kernel.errors import KernelFault
from servers.kernel.session import Session
from servers.kernel.store import shown
from servers.kernel.tool import Tool
from stages.dataset import ReplayStep, RlRow
from stages.records import EpisodeRecord, ExecutedCall, Message, ToolCall, ToolSpec

Stop: TypeAlias = Literal["answered", "rounds", "length", "deadline", "infrastructure"]

MAX_PARALLEL_CALLS = 8
"""Calls of one reply that are run; the rest is refused."""


class Episode:
    """A conversation that is going on in a live session.

    Args:
        catalog: the servers behind the session.
        session: the live state; the episode owns it from here on.
        tools: the tools that the agent sees; others are refused.
        messages: what has been said so far.
        max_rounds: replies with calls that the agent may make before it is stopped.
    """

    def __init__(
        self,
        catalog: Catalog,
        session: Session,
        tools: Sequence[ToolSpec],
        messages: Iterable[Message],
        max_rounds: int = 5,
    ) -> None:
        self.session = session
        self.tools = tools
        self.messages = list(messages)
        self.calls: list[ExecutedCall] = []
        self.done = False
        self._catalog = catalog
        self._visible = {tool.name for tool in tools}
        self._max_rounds = self._rounds_left = max_rounds
        self._stop: Stop = "answered"

    def respond(self, reply: Message) -> None:
        """Take one reply: run its calls and append it with their results."""
        position = len(self.messages)
        self.messages.append(reply)
        if not reply.tool_calls:
            self.done = True
            return
        for index, call in enumerate(reply.tool_calls):
            done = self._run(call, position, index)
            self.calls.append(done)
            self.messages.append(Message("tool", done.result, tool_call_id=call.id))
        self._rounds_left -= 1
        if self._rounds_left <= 0:
            self.done = True
            self._stop = "rounds"

    def say(self, text: str) -> None:
        """Begin a user turn: time passes and the user speaks."""
        self.session.user_turn()
        self.messages.append(Message("user", text))
        self.done = False
        self._rounds_left, self._stop = self._max_rounds, "answered"

    def finish(self, stop: str | None = None) -> EpisodeRecord:
        """The record of the episode; `stop` names an end that the episode could not see itself.

        Raises:
            ValueError: the stop is not one of the known ones.
        """
        reason = stop or self._stop
        for known in get_args(Stop):
            if known == reason:
                return EpisodeRecord(tuple(self.messages), tuple(self.calls), self.session.state_hash, known)
        raise ValueError(f"unknown stop {reason!r}; known: {', '.join(get_args(Stop))}")

    def _run(self, call: ToolCall, position: int, index: int) -> ExecutedCall:
        if index >= MAX_PARALLEL_CALLS:
            return _refused(call, position, "too_many_calls", f"At most {MAX_PARALLEL_CALLS} calls at once.")
        if call.arguments is None:
            return _refused(call, position, "invalid_call", call.error or "The call is not valid JSON.")
        if call.name not in self._visible:
            names = ", ".join(sorted(self._visible))
            message = f"There is no tool {shown(call.name)}. The tools are: {names}."
            return _refused(call, position, "unknown_tool", message)
        if call.name not in self._catalog.entries:
            return _refused(call, position, "unknown_tool", f"{shown(call.name)} is not connected here.")
        outcome = self._catalog.call(self.session, call.name, call.arguments)
        return ExecutedCall(
            name=call.name,
            arguments=call.arguments,
            position=position,
            executed=outcome.error_code != KernelFault.INVALID_ARGUMENTS,
            ok=outcome.ok,
            result=outcome.text,
            error_code=str(outcome.error_code),
            infrastructure=outcome.error_code == KernelFault.INTERNAL,
        )


def _refused(call: ToolCall, position: int, code: str, message: str) -> ExecutedCall:
    text = to_json({"error": {"code": code, "message": message}}).decode()
    return ExecutedCall(call.name, call.arguments, position, executed=False, ok=False, result=text, error_code=code)


def replayed_session(catalog: Catalog, world: int, steps: Iterable[ReplayStep]) -> Session:
    """A fresh session brought to the moment at which a row's turn begins.

    Raises:
        HarnessError: a step fails, so the rows are of other servers.
    """
    session = Session(catalog.world(world))
    for step in steps:
        catalog.redo(session, step.name, step.arguments)
    return session


def episode_for(catalog: Catalog, row: RlRow, max_rounds: int = 5) -> Episode:
    """A fresh episode of a dataset row, ready for the agent's first reply."""
    session = replayed_session(catalog, row.world, row.replay)
    return Episode(catalog, session, row.tools, row.messages, max_rounds)


def visible_spec(tool: Tool) -> ToolSpec:
    """A server's tool as a model sees it."""
    return ToolSpec(tool.name, tool.description, tool.input_schema)
