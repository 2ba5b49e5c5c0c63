"""Whole training conversations as JSON lines: in the chat shape that TRL reads, and as ShareGPT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stages.artifacts import dump
from stages.dataset import SftRow
from stages.records import Message
from stages.validate.exports.chat import chat_messages, chat_tools


def chat_line(row: SftRow) -> dict[str, Any]:
    """A conversation with its tools as JSON text; `learn` marks the messages that are to carry loss."""
    return {
        "id": row.id,
        "messages": chat_messages(row.messages),
        "tools": chat_tools(row.tools),
        "learn": list(row.learn),
    }


def sharegpt_line(row: SftRow) -> dict[str, Any]:
    """A conversation whose odd messages are `human` or `observation`, the even ones `function_call` or `gpt`.

    Parallel calls are one JSON list, and so are their results. Words beside a call have no place in this format.
    """
    return {"id": row.id, "conversations": _parts(row.messages), "tools": chat_tools(row.tools)}


def _parts(messages: Sequence[Message]) -> list[dict[str, str]]:
    parts: list[dict[str, str]] = []
    results: list[str] = []
    for index, message in enumerate(messages):
        if message.role == "tool":
            results.append(message.content)
            if index + 1 == len(messages) or messages[index + 1].role != "tool":
                parts.append({"from": "observation", "value": _one_or_list(results)})
                results = []
        elif message.tool_calls:
            calls = [dump({"name": call.name, "arguments": call.arguments}) for call in message.tool_calls]
            parts.append({"from": "function_call", "value": _one_or_list(calls)})
        else:
            parts.append({"from": "human" if message.role == "user" else "gpt", "value": message.content})
    return parts


def _one_or_list(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"[{','.join(items)}]"
