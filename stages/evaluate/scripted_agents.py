"""Agents without a model: the reference solution, the same without its last call, and nothing at all.

They sit in the run loop like any other agent, so a score of theirs shows what the harness itself is worth:
the oracle is the ceiling, doing nothing the floor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from stages.evaluate.benchmark import Agent, Request
from stages.evaluate.loop import Silent
from stages.records import Message, ToolCall, ToolSpec, TruthCall

Turns = Sequence[Sequence[TruthCall]]


@dataclass(frozen=True, slots=True)
class Replay:
    """Makes given calls, then says nothing: a message holds the calls that build on none of the same message."""

    turns: Turns

    def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
        """The next batch of the turn's calls, or an empty answer after the last."""
        turn = sum(message.role == "user" for message in messages) - 1
        begun = max(index for index, message in enumerate(messages) if message.role == "user")
        batch = sum(message.role == "assistant" for message in messages[begun:])
        batches = batched(self.turns[turn]) if 0 <= turn < len(self.turns) else []
        calls = batches[batch] if batch < len(batches) else ()
        return Message(
            "assistant",
            "",
            tuple(
                ToolCall(f"call_{turn}_{batch}_{index}", call.name, call.arguments) for index, call in enumerate(calls)
            ),
        )


def batched(calls: Sequence[TruthCall]) -> list[list[TruthCall]]:
    """The calls in their order, a new batch wherever one depends on a call of the batch before."""
    batches: list[list[TruthCall]] = []
    begun = 0
    for index, call in enumerate(calls):
        if not batches or any(needed >= begun for needed in call.depends_on):
            batches.append([])
            begun = index
        batches[-1].append(call)
    return batches


@dataclass(frozen=True, slots=True)
class ByTask:
    """Lets each task have an agent of its own."""

    agents: Mapping[str, Agent]

    def reply_many(self, requests: Sequence[Request]) -> Sequence[Message]:
        """Each answer from its task's agent."""
        return [self.agents[request.task].reply(request.messages, request.tools) for request in requests]


def without_last(turns: Turns) -> Turns:
    """The calls without the very last one."""
    last = max((index for index, turn in enumerate(turns) if turn), default=None)
    return [turn[:-1] if index == last else turn for index, turn in enumerate(turns)]


SCRIPTED: Mapping[str, Callable[[Turns], Agent]] = {
    "oracle": Replay,
    "drop_last": lambda turns: Replay(without_last(turns)),
    "do_nothing": lambda turns: Silent(),
}
"""Agents by name, each made from a task's reference calls."""
