"""Parallel calls for model families that make one call a message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from stages.records import Message


def one_call_each(messages: Sequence[Message]) -> list[tuple[int, Message]]:
    """The conversation with parallel calls one after another, each with its own result.

    Each message comes with the index of the one that it was made of.
    """
    spread: list[tuple[int, Message]] = []
    place = 0
    while place < len(messages):
        message = messages[place]
        end = place + 1
        if len(message.tool_calls) > 1:
            while end < len(messages) and messages[end].role == "tool":
                end += 1
            spread += _sequence(place, messages[place:end])
        else:
            spread.append((place, message))
        place = end
    return spread


def _sequence(start: int, block: Sequence[Message]) -> Iterator[tuple[int, Message]]:
    """A message with several calls and its results, as pairs of a call and its result."""
    message, results = block[0], {m.tool_call_id: (start + i, m) for i, m in enumerate(block) if i}
    for number, call in enumerate(message.tool_calls):
        yield start, replace(message, content="" if number else message.content, tool_calls=(call,))
        if call.id in results:
            yield results[call.id]
