"""Rows of the dataset as the engine takes them: tokenised, and short enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stages.chat import ChatFormat, Encoded, encode_conversation
from stages.dataset import RlRow, SftRow


@dataclass(frozen=True, slots=True)
class Fitting:
    """Encoded conversations, and how many were cut after a whole turn or left out to fit."""

    rows: tuple[Encoded, ...]
    cut: int
    left_out: int


def encode_sft(chat: ChatFormat, rows: Sequence[SftRow], max_length: int) -> Fitting:
    """Conversations as token ids with their loss masks, each as many whole user turns as `max_length` takes."""
    kept: list[Encoded] = []
    cut = left_out = 0
    for row in rows:
        ends = [i for i, m in enumerate(row.messages) if m.role == "user" and i > 0] + [len(row.messages)]
        fitting = _longest(chat, row, ends, max_length)
        if fitting is None:
            left_out += 1
            continue
        encoded, end = fitting
        cut += end < len(row.messages)
        kept.append(encoded)
    return Fitting(tuple(kept), cut, left_out)


def fitting_rl(chat: ChatFormat, rows: Sequence[RlRow], max_prompt: int) -> list[RlRow]:
    """RL rows whose prompt has at most `max_prompt` tokens."""
    return [row for row in rows if len(chat.opening(row.tools, row.messages)) <= max_prompt]


def _longest(chat: ChatFormat, row: SftRow, ends: Sequence[int], max_length: int) -> tuple[Encoded, int] | None:
    for end in reversed(ends):
        messages = row.messages[:end]
        own = [i for i, message in enumerate(messages) if message.role == "assistant"]
        if not any(row.learn[i] for i in own):
            continue
        shown = [i for i in own if not row.learn[i]]
        encoded = encode_conversation(chat, row.tools, messages, only_shown=shown)
        if len(encoded.ids) <= max_length:
            return encoded, end
    return None
