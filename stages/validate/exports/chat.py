"""Messages and tools in the OpenAI chat shape that chat templates and trainers read.

A call's arguments are JSON text, as that API has them: as nested columns, Arrow would give each call the argument
names of all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from stages.artifacts import dump
from stages.records import Message, ToolCall, ToolSpec

CALL = pa.struct(
    [
        ("id", pa.string()),
        ("type", pa.string()),
        ("function", pa.struct([("name", pa.string()), ("arguments", pa.string())])),
    ]
)
MESSAGES = pa.list_(
    pa.struct(
        [("role", pa.string()), ("content", pa.string()), ("tool_calls", pa.list_(CALL)), ("tool_call_id", pa.string())]
    )
)
"""Column type of a conversation; `tool_calls` and `tool_call_id` are null where a message has none."""


def chat_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Messages with the keys that they have."""
    return [_message(message) for message in messages]


def chat_tools(tools: Sequence[ToolSpec]) -> str:
    """Tools as JSON text: a list of functions with their parameter schemas."""
    return dump(
        [
            {
                "type": "function",
                "function": {"name": t.name, "description": t.description, "parameters": t.parameters},
            }
            for t in tools
        ]
    )


def _message(message: Message) -> dict[str, Any]:
    plain: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        plain["tool_calls"] = [_call(call) for call in message.tool_calls]
    if message.tool_call_id:
        plain["tool_call_id"] = message.tool_call_id
    return plain


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = call.raw if call.arguments is None else dump(call.arguments)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}
