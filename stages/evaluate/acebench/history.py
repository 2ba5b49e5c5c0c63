"""A conversation of ACEBench, written as one text with `user:` and `system:` lines, as messages.

`system` is how the benchmark calls the assistant. A line of the assistant that is a list of calls
becomes a message with tool calls, so that the history looks as a tool-calling model knows it.
"""

from __future__ import annotations

import re

from stages.evaluate.acebench.calls import UnreadableError, read_calls
from stages.records import Message, ToolCall

_SPEAKER = re.compile(r"^(user|system)[:：][ \t]*", re.MULTILINE)


def messages_of(question: str) -> tuple[Message, ...]:
    """The messages of a conversation; text before the first speaker is the user's."""
    parts = _SPEAKER.split(question)
    spoken = list(zip(parts[1::2], parts[2::2], strict=True))
    if parts[0].strip():
        spoken.insert(0, ("user", parts[0]))
    return tuple(
        Message("user", text.strip()) if speaker == "user" else _assistant(text.strip(), index)
        for index, (speaker, text) in enumerate(spoken)
    )


def _assistant(text: str, index: int) -> Message:
    try:
        calls = read_calls(text)
    except UnreadableError:
        return Message("assistant", text)
    return Message("assistant", "", tuple(ToolCall(f"history_{index}_{n}", *call) for n, call in enumerate(calls)))
