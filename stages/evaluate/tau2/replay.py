"""Agents and users that follow a task's reference actions: the controls, and a stand-in for any model.

The reference lists the calls of both sides in order. Where the user is next, the agent says so; the user
then makes its calls and says that it is done. Which move comes next follows from the conversation alone, so
one agent object can serve a task over a network as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from stages.evaluate.tau2.package import STOP_TOOL
from stages.evaluate.tau2.talk import STOP_WORDS
from stages.evaluate.tau2.tasks import Tau2Task
from stages.records import Message, ToolCall, ToolSpec

_OPENING = "I need your help."
_HANDOVER = "Please do your part now."
_DONE = "I have done that."
_FAREWELL = "That is all."


@dataclass(frozen=True, slots=True)
class ReplayAgent:
    """Makes given moves, one a message; `spoken` messages of the agent come before the first."""

    moves: tuple[Message, ...]
    spoken: int

    def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
        """The move that follows what the agent has said; after the last, an empty answer."""
        made = sum(message.role == "assistant" for message in messages) - self.spoken
        return self.moves[made] if made < len(self.moves) else Message("assistant", "")


@dataclass(frozen=True, slots=True)
class ReplayUser:
    """Makes given moves on the user's side, one a message, and then stops."""

    moves: tuple[Message, ...]
    name: str = "replay"

    def reply(
        self, messages: Sequence[Message], instructions: str, tools: Sequence[ToolSpec], *, seed: int = 0
    ) -> Message:
        """The move that follows what the user has said."""
        made = sum(message.role == "assistant" for message in messages)
        return self.moves[made] if made < len(self.moves) else Message("assistant", STOP_WORDS[0])


@dataclass(frozen=True, slots=True)
class Script:
    """Both sides' moves in one task."""

    agent: ReplayAgent
    user: ReplayUser


def gold(task: Tau2Task, *, drop_last: bool = False) -> Script:
    """The reference solution, or all of it but the last call; the agent says what it has to say."""
    criteria = task.official.evaluation_criteria
    actions = list(criteria.actions or ())
    return _script(task, actions[:-1] if drop_last else actions, " ".join(criteria.communicate_info or ()))


def idle(task: Tau2Task) -> Script:
    """An agent that takes its leave at once, and a user that accepts it."""
    return _script(task, (), "")


def _script(task: Tau2Task, actions: Sequence[Any], words: str) -> Script:
    if task.track.solo:
        calls = [_call(n, action) for n, action in enumerate(actions)]
        moves = [Message("assistant", "" if n else words, (call,)) for n, call in enumerate(calls)]
        moves.append(Message("assistant", "", (ToolCall("call_stop", STOP_TOOL, {}),)))
        return Script(ReplayAgent(tuple(moves), 0), ReplayUser(()))
    agent, user = [], [Message("assistant", _OPENING)]
    numbered = list(enumerate(actions))
    for requestor, group in groupby(numbered, key=lambda pair: pair[1].requestor):
        moves = [Message("assistant", "", (_call(n, action),)) for n, action in group]
        if requestor == "user":
            agent.append(Message("assistant", _HANDOVER))
            user.extend([*moves, Message("assistant", _DONE)])
        else:
            agent.extend(moves)
    agent.append(Message("assistant", f"{words} {_FAREWELL}".strip()))
    return Script(ReplayAgent(tuple(agent), 1), ReplayUser(tuple(user)))


def _call(number: int, action: Any) -> ToolCall:
    return ToolCall(f"call_{number}", action.name, dict(action.arguments))
