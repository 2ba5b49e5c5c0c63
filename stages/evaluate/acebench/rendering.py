"""The two ways to show an item to a model and to read what it answers.

*Native* is ACEBench's own: the APIs are described in the prompt, and the reply is text in its notation,
so both format and content are new to a policy. *Training* shows the same APIs as tools and the history
as messages, and the reply makes tool calls, so only the content is new.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from stages.evaluate.acebench.calls import Call, UnreadableError, read_calls, write_calls
from stages.evaluate.acebench.data import SPECIAL, Item, Language
from stages.evaluate.acebench.history import messages_of
from stages.evaluate.acebench.prompts import WORDS
from stages.evaluate.acebench.schema import tool_of
from stages.evaluate.benchmark import Request
from stages.records import Message, ToolCall

Rendering: TypeAlias = Literal["native", "training"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply says: its calls (None if they can't be read) and its text in ACEBench's notation."""

    calls: tuple[Call, ...] | None
    text: str


def request_of(item: Item, category: str, language: Language, rendering: Rendering) -> Request:
    """What the model sees of an item."""
    words = WORDS[language]
    parts = [
        words.notation if rendering == "native" else words.tools,
        words.profile_arguments if item.profile else words.arguments,
        words.special if category in SPECIAL else "",
        item.time,
        f"{words.profile}\n{item.profile}" if item.profile else "",
    ]
    if rendering == "training":
        system = Message("system", _joined(parts))
        return Request((system, *messages_of(item.question)), tuple(tool_of(api) for api in item.apis))
    system = Message("system", _joined([*parts, f"{words.apis}\n{api_lines(item.apis)}"]))
    return Request((system, Message("user", f"{words.conversation}\n{item.question}")), ())


def reading_of(reply: Message, rendering: Rendering) -> Reading:
    """What a reply says in a rendering; the other rendering's calls count as none that can be read."""
    if rendering == "training":
        return _tool_calls(reply)
    if reply.tool_calls:
        return Reading(None, reply.content)
    try:
        return Reading(read_calls(reply.content), reply.content)
    except UnreadableError:
        return Reading(None, reply.content)


def reply_of(calls: Sequence[Call], rendering: Rendering) -> Message:
    """The reply that makes the given calls."""
    if rendering == "native":
        return Message("assistant", write_calls(calls))
    return Message("assistant", "", tuple(ToolCall(f"call_{n}", *call) for n, call in enumerate(calls)))


def api_lines(apis: Sequence[Mapping[str, Any]]) -> str:
    """The documentation of APIs, one JSON object a line."""
    return "\n".join(json.dumps(api, ensure_ascii=False) for api in apis)


def _tool_calls(reply: Message) -> Reading:
    if not reply.tool_calls:
        return Reading((), reply.content)
    calls = [Call(call.name, call.arguments) for call in reply.tool_calls if call.arguments is not None]
    text = write_calls(calls)
    return Reading(tuple(calls) if len(calls) == len(reply.tool_calls) else None, text)


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(part for part in parts if part)
