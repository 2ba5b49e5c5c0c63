"""The form of one assistant reply, whatever it says: the four states of arXiv 2606.26027, and signs of decay.

The paper names the states; where one ends and the next begins is our default, see `shape`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal, TypeAlias

from pydantic_core import from_json

from stages.records import Message
from stages.train.monitor.control import Tags

Form: TypeAlias = Literal["call", "response", "polluted", "collapsed"]

NGRAM = 4
"""Tokens of a repeated stretch."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The form of a reply, calls in it with nothing inside, and calls that were opened and never closed."""

    form: Form
    empty_calls: int
    unterminated_calls: int


def shape(message: Message, text: str, tags: Tags, *, cut: bool = False) -> Shape:
    """What form a reply has.

    Args:
        message: the reply as the chat format parses it.
        text: the reply as text without its stop token.
        tags: the markers of the chat format.
        cut: whether the token limit ended it. The beginning of a call, or of a marker, at its very end is then no
            fault, only an unterminated call.

    The rules, in this order:
        collapsed: neither text nor call; or a call with nothing inside, and none in the reply that can be read.
        polluted: a call that cannot be read, or a fragment of a marker in the prose. A fragment is at least half a
            marker with one of its ends, such as `<tool` or `_call>`; of bare JSON the whole opening.
        call: at least one call, and all can be read, closed or not. Prose may stand beside it.
        response: prose alone.

    Thoughts (`<think>`) are neither text nor call, and are not searched for fragments.
    """
    marker = _begun_marker(text, tags) if cut else ""
    in_call = cut and _in_call(text, tags)
    calls = message.tool_calls
    told = calls[:-1] if in_call and calls and calls[-1].arguments is None else calls
    broken = [call for call in told if call.arguments is None]
    empty = sum(not call.raw.strip() for call in broken)
    prose = "" if in_call and not calls else message.content.removesuffix(marker)
    called = bool(told or in_call or marker)
    form: Form = "call" if called else "response"
    if (empty and len(broken) == len(told)) or not (called or prose or (cut and text.strip())):
        form = "collapsed"
    elif broken or any(fragment in prose for fragment in _fragments(tags)):
        form = "polluted"
    return Shape(form, empty, _unterminated(text, tags))


def repetition(ids: Sequence[int]) -> float:
    """Share of the 4-grams of tokens that repeat an earlier one; 0 for fewer than four tokens."""
    grams = list(zip(*(ids[start:] for start in range(NGRAM)), strict=False))
    return 1 - len(set(grams)) / len(grams) if grams else 0.0


def _fragments(tags: Tags) -> set[str]:
    if not tags.close:
        return {tags.open}
    return {part for tag in (tags.open, tags.close) for part in (tag[: len(tag) // 2], tag[-(len(tag) // 2) :])}


def _begun_marker(text: str, tags: Tags) -> str:
    """The beginning of a marker at the end of a text; bare JSON has to begin the text, too."""
    if not tags.close:
        return text.strip() if tags.open.startswith(text.strip()) else ""
    starts = (tag[:length] for tag in (tags.open, tags.close) for length in range(len(tag) - 1, 0, -1))
    return next((start for start in starts if text.endswith(start)), "")


def _in_call(text: str, tags: Tags) -> bool:
    """Whether the text ends within a call that is well-formed so far."""
    begin, end, marker = next(reversed(list(tags.found(text))), (0, 0, "close"))
    if marker != "open":
        return False
    body = text[end if tags.close else begin :].strip()
    try:
        return not body or isinstance(from_json(body, allow_partial=True), dict)
    except ValueError:
        return False


def _unterminated(text: str, tags: Tags) -> int:
    """Opened calls without a closing tag before the next one; bare JSON is closed when it can be decoded."""
    found = list(tags.found(text))
    if not tags.close:
        return sum(not _decodes(text[begin:]) for begin, _, _ in found)
    markers = [marker for _, _, marker in found]
    pairs = zip_longest(markers, markers[1:])
    return sum(marker == "open" and after != "close" for marker, after in pairs)


def _decodes(text: str) -> bool:
    try:
        json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return False
    return True
