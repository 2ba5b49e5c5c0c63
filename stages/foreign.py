"""Text and JSON that others wrote (models, their servers, people), read so that it can be kept.

Python's own reader takes more than JSON has: NaN, numbers that become infinite, halves of surrogate pairs,
nesting up to the end of the stack. All of that would fail much later, when a table is written.
"""

from __future__ import annotations

import json
import math
from typing import NoReturn

from stages.records import Json

MAX_DEPTH = 32
"""Levels of nesting that are read."""


def paired(text: str) -> str:
    """The text without unpaired surrogates, which have no place in UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def read_json(text: str) -> Json:
    """The JSON value that is all of a text, white space around it aside.

    Raises:
        ValueError: it is none, or one that cannot be kept; says what is wrong.
    """
    value, stop = read_json_at(text, len(text) - len(text.lstrip(" \t\r\n")))
    if text[stop:].strip(" \t\r\n"):
        raise json.JSONDecodeError("Extra data", text, stop)
    return value


def read_json_at(text: str, start: int) -> tuple[Json, int]:
    """The JSON value that begins at `start`, and where it ends.

    Raises:
        ValueError: there is none, or one that cannot be kept; says what is wrong.
    """
    try:
        value, stop = _DECODER.raw_decode(text, start)
    except RecursionError:
        raise ValueError(f"the JSON is nested deeper than {MAX_DEPTH} levels") from None
    if _depth(value) > MAX_DEPTH:
        raise ValueError(f"the JSON is nested deeper than {MAX_DEPTH} levels")
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("a string holds half of a surrogate pair") from None
    return value, stop


def _depth(value: object) -> int:
    deepest, pending = 0, [(value, 1)]
    while pending:
        node, depth = pending.pop()
        deepest = max(deepest, depth)
        children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        pending.extend((child, depth + 1) for child in children)
    return deepest


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:40]} is too large")
    return value


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)
