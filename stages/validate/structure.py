"""Whether a conversation is whole: roles in order, every call answered, every turn closed by words."""

from __future__ import annotations

import json

from stages.conversations import Conversation
from stages.validate.reasons import Reason, Rejection


def check_structure(conversation: Conversation) -> Rejection | None:
    """The first thing that is broken, or None."""
    open_calls: list[str] = []
    for index, message in enumerate(conversation.messages):
        where = f"message {index} ({message.role})"
        if message.role == "tool":
            if not open_calls or message.tool_call_id != open_calls.pop(0):
                return Rejection(Reason.RAGGED, f"{where} answers no open call")
            try:
                json.loads(message.content)
            except ValueError:
                return Rejection(Reason.RAGGED, f"{where} holds a result that is cut off")
            continue
        if open_calls:
            return Rejection(Reason.RAGGED, f"{where} comes before the result of {open_calls[0]}")
        if message.role == "assistant":
            if not message.content.strip() and not message.tool_calls:
                return Rejection(Reason.EMPTY_ROUND, f"{where} says and calls nothing")
            open_calls = [call.id for call in message.tool_calls]
    if open_calls or not conversation.messages or conversation.messages[-1].role != "assistant":
        return Rejection(Reason.RAGGED, "the conversation does not end with the assistant's answer")
    starts = [turn.start for turn in conversation.turns]
    users = [index for index, message in enumerate(conversation.messages) if message.role == "user"]
    if starts != users:
        return Rejection(Reason.RAGGED, f"turns begin at {starts}, user messages stand at {users}")
    for number, turn in enumerate(conversation.turns):
        messages = conversation.turn_messages(number)
        asked = [(call.name, call.arguments) for message in messages for call in message.tool_calls]
        shown = [message.content for message in messages if message.role == "tool"]
        if asked != [(c.name, c.arguments) for c in turn.calls] or shown != [c.result for c in turn.calls]:
            return Rejection(Reason.RAGGED, f"turn {number} records other calls than its messages show")
    return None
