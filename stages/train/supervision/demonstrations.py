"""The right way through each row: the conversation that it was made from, without its mistakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from stages.dataset import RlRow, SftRow
from stages.records import Json, Message, ToolCall


class Demonstrations:
    """Finds a row's turn in the conversations to imitate."""

    def __init__(self, conversations: Sequence[SftRow]) -> None:
        self._conversations = {row.id: row for row in conversations}

    def of(self, row: RlRow) -> tuple[Message, ...]:
        """The turn's right replies with the results of their calls; empty if its conversation is not at hand.

        Calls that are not in the ground truth (mistakes that were corrected later) are left out with their results.
        """
        found = self._conversations.get(row.conversation)
        if found is None:
            return ()
        starts = [i for i, message in enumerate(found.messages) if message.role == "user"]
        end = starts[row.turn + 1] if row.turn + 1 < len(starts) else len(found.messages)
        right: list[Message] = []
        missing = [(step.name, step.arguments) for step in row.truth]
        kept: set[str] = set()
        for message in found.messages[starts[row.turn] + 1 : end]:
            if message.role == "tool":
                right += [message] if message.tool_call_id in kept else []
                continue
            calls = tuple(call for call in message.tool_calls if _take(missing, call))
            kept |= {call.id for call in calls}
            if calls or not message.tool_calls:
                right.append(replace(message, tool_calls=calls))
        return tuple(right)

    def replies(self, row: RlRow) -> tuple[Message, ...]:
        """The turn's right replies alone."""
        return tuple(message for message in self.of(row) if message.role == "assistant")


def _take(missing: list[tuple[str, Mapping[str, Json]]], call: ToolCall) -> bool:
    """Strike the call off the list; False if it is not there."""
    for index, (name, arguments) in enumerate(missing):
        if name == call.name and arguments == call.arguments:
            del missing[index]
            return True
    return False
