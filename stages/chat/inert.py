"""Making data inert: text in which no control token and none of our own tags can be recognised."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from stages.foreign import paired
from stages.records import Json

TAGS = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>")


class Neutraliser:
    """Breaks every marker that occurs in a text by a space after its first character."""

    def __init__(self, extra: Iterable[str] = ()) -> None:
        markers = {m for m in (*TAGS, *extra) if len(m) > 1 and not m.isspace()}
        longest_first = sorted(markers, key=lambda m: (-len(m), m))
        self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def text(self, data: str) -> str:
        """The data as plain text, unpaired surrogates replaced."""
        return self._pattern.sub(lambda m: f"{m[0][0]} {m[0][1:]}", paired(data))

    def json(self, value: Json) -> str:
        """The value as JSON text; markers inside strings are spelled with an escape, so it reads back equal."""
        text = paired(json.dumps(value, ensure_ascii=False))
        return self._pattern.sub(lambda m: f"\\u{ord(m[0][0]):04x}{m[0][1:]}", text)
