"""Messages and tools in the wire format of chat completions, and back.

Reasoning that a model leaves in its answer between `<think>` and `</think>` is dropped: it is no part of
what was said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from stages.foreign import paired, read_json
from stages.records import Json, Message, ToolCall, ToolSpec
from stages.teacher.errors import without_secrets

_THINKING = re.compile(r"<think>.*?(?:</think>|\Z)\s*", re.DOTALL)


class SaidCall(NamedTuple):
    """A tool call as the model wrote it."""

    id: str
    name: str
    arguments: str


def to_openai(message: Message) -> dict[str, Any]:
    """A message in the wire format."""
    out: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        out["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": call.raw if call.arguments is None else json.dumps(call.arguments),
                },
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        out["tool_call_id"] = message.tool_call_id
    return out


def from_openai(message: Any) -> Message:
    """An assistant message from the wire format; a key of ours that the provider repeats is masked."""
    calls = (
        SaidCall(*(without_secrets(part or "") for part in (call.id, call.function.name, call.function.arguments)))
        for call in message.tool_calls or ()
    )
    return assistant_message(without_secrets(message.content or ""), calls)


def assistant_message(content: str, calls: Iterable[SaidCall]) -> Message:
    """What an assistant said; arguments that are no JSON object are kept as raw text."""
    return Message("assistant", _THINKING.sub("", paired(content)).strip(), tuple(_read(call) for call in calls))


def function(tool: ToolSpec) -> dict[str, Any]:
    """A tool in the wire format."""
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
    }


def _read(call: SaidCall) -> ToolCall:
    arguments, error = _arguments(call.arguments)
    return ToolCall(paired(call.id), paired(call.name), arguments, paired(call.arguments), error)


def _arguments(text: str) -> tuple[dict[str, Json] | None, str]:
    try:
        value = read_json(text or "{}")
    except ValueError as error:
        return None, f"The arguments are not JSON: {error}"
    if not isinstance(value, dict):
        return None, "The arguments must be a JSON object."
    return value, ""
