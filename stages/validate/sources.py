"""What a conversation has said and shown up to a call, and whether a literal occurs in it.

Text counts word by word: `25` is not in `250`, nor is it in `ACC-25`. Numbers are compared by value and
without their sign. Secrets are found exactly as written; other text in any case, and with spaces for
underscores, as a person says an enum's value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from stages.conversations import Conversation
from stages.validate.origins import Leaf

SourceKind: TypeAlias = Literal["user", "result"]


NUMBER = re.compile(r"(?<![\w.-])-?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?![-.,]?\d)")
"""A number that stands alone; a unit may follow it at once (`25kg`), a letter, dot or dash may not precede it."""


@dataclass(frozen=True)
class Source:
    """A message that can justify a value.

    Args:
        kind: who gave it.
        message: its index in the conversation.
        text: what it says.
        tool: the tool whose result it is.
        failed: whether it is an error. Errors justify no value: what they repeat of a bad call was the caller's
            own invention.
    """

    kind: SourceKind
    message: int
    text: str
    tool: str = ""
    failed: bool = False

    @cached_property
    def folded(self) -> str:
        """The text without regard to case."""
        return self.text.casefold()

    @cached_property
    def numbers(self) -> frozenset[float]:
        """Every number in the text."""
        return frozenset(float(found.replace(",", "")) for found in NUMBER.findall(self.text))

    def has(self, value: Leaf) -> bool:
        """Whether the message holds a value."""
        if value is None or isinstance(value, bool):
            return False
        if isinstance(value, int | float):
            return any(abs(number - abs(value)) < 1e-9 for number in self.numbers)
        plain = value.casefold()
        forms = dict.fromkeys((plain, json.dumps(plain, ensure_ascii=False)[1:-1], plain.replace("_", " ")))
        return any(occurs(form, self.folded) for form in forms)

    def has_exactly(self, value: Leaf) -> bool:
        """Whether the message holds a value letter by letter."""
        return value is not None and occurs(str(value), self.text)


def occurs(words: str, text: str) -> bool:
    """Whether words stand in a text, not as a part of longer words."""
    if not words:
        return True
    start = text.find(words)
    while start >= 0:
        end = start + len(words)
        before, after = text[start - 1 : start], text[end : end + 1]
        if not (words[0].isalnum() and before.isalnum()) and not (words[-1].isalnum() and after.isalnum()):
            return True
        start = text.find(words, start + 1)
    return False


def sources_of(conversation: Conversation) -> Sequence[Source]:
    """The user's messages and all results, in the conversation's order."""
    found: list[Source] = []
    for number, turn in enumerate(conversation.turns):
        calls = iter(turn.calls)
        for index, message in enumerate(conversation.turn_messages(number), start=turn.start):
            if message.role == "user":
                found.append(Source("user", index, message.content))
            elif message.role == "tool":
                call = next(calls)
                found.append(Source("result", index, message.content, call.name, not call.ok))
    return found
