"""From an assistant's text to its content and tool calls.

Calls are `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`, any number of them; a reply that is
nothing but such an object counts too (Llama). What cannot be read becomes a call without arguments
whose `error` says how to repair it. Nothing is evaluated, and no input raises.
"""

from __future__ import annotations

import json
import re

from stages.foreign import read_json_at
from stages.records import Json, Message, ToolCall

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_THOUGHT = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)
_NAME = re.compile(r'"name"\s*:\s*"([^"\\]{1,128})"')
_FORM = 'write <tool_call>{"name": ..., "arguments": {...}}</tool_call>'


def parse_reply(text: str, *, turn: int = 0) -> Message:
    """The assistant message that a model's text means; `turn` makes call ids unique in a conversation."""
    visible = _THOUGHT.sub("", text)
    prose: list[str] = []
    calls: list[ToolCall] = []
    bare = visible.strip().removeprefix("<|python_tag|>")
    if bare.startswith("{") and _NAME.search(bare, 0, 200):
        calls.append(_read(bare, len(bare), 0, turn, 0)[0])
        return Message("assistant", "", tuple(calls))
    at = 0
    while (start := visible.find(_OPEN, at)) >= 0:
        prose.append(visible[at:start])
        body = start + len(_OPEN)
        call, at = _read(visible, _end(visible, body), body, turn, len(calls))
        calls.append(call)
    prose.append(visible[at:])
    content = "\n".join(part for p in prose if (part := p.strip()))
    return Message("assistant", content, tuple(calls))


def _end(text: str, body: int) -> int:
    """Where a call that cannot be read stops: at its closing tag, the next call, or the end."""
    ends = [at for tag in (_CLOSE, _OPEN) if (at := text.find(tag, body)) >= 0]
    return min(ends, default=len(text))


def _read(text: str, end: int, body: int, turn: int, index: int) -> tuple[ToolCall, int]:
    """The call whose JSON starts at `body`, and where the text goes on."""
    identity = f"call_{turn}_{index}"
    start = body
    while start < len(text) and text[start] in " \t\r\n":
        start += 1
    try:
        value, stop = read_json_at(text, start)
        name, arguments = _check(value)
    except ValueError as problem:
        raw = text[body:end].strip()
        found = _NAME.search(raw)
        error = f"{_explain(problem)}; {_FORM}"
        return ToolCall(identity, found[1] if found else "", None, raw, error), _after(text, end)
    while stop < len(text) and text[stop] in " \t\r\n":
        stop += 1
    return ToolCall(identity, name, arguments, text[start:stop].rstrip()), _after(text, stop)


def _after(text: str, at: int) -> int:
    return at + len(_CLOSE) if text.startswith(_CLOSE, at) else at


def _check(value: object) -> tuple[str, dict[str, Json]]:
    if not isinstance(value, dict):
        raise ValueError(f"a call must be a JSON object, not {_kind(value)}")
    name = value.get("name")
    if not isinstance(name, str) or not name:
        raise ValueError('a call needs a "name" that is a non-empty string')
    arguments = value.get("arguments", value.get("parameters"))
    if not isinstance(arguments, dict):
        found = _kind(arguments) if arguments is not None else "missing"
        raise ValueError(f'"arguments" must be a JSON object, found {found}')
    return name, arguments


def _kind(value: object) -> str:
    names = {str: "a string", bool: "a boolean", int: "a number", float: "a number", list: "an array"}
    return names.get(type(value), "null")


def _explain(problem: ValueError) -> str:
    if isinstance(problem, json.JSONDecodeError):
        return f"the call is not valid JSON: {problem.msg} at character {problem.pos}"
    return str(problem)
