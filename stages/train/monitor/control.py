"""The control markers of a chat format, and which tokens of a reply they are made of.

The markers are read off the format's own rendering of a call, so that a new template brings its own. A marker is
found in the characters of the reply, not among its token ids: in plain ChatML a tag is several ordinary tokens, and
the last character of one may share a token with what follows (`></` ends an opening and begins a closing tag).
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal, TypeAlias

from stages.chat import ChatFormat
from stages.records import Message, ToolCall

Marker: TypeAlias = Literal["open", "close", "stop"]

_NAME, _PROSE = "probe_name", "probe prose"


@dataclass(frozen=True, slots=True)
class Tags:
    """The texts that open and close a call.

    Where calls are bare JSON, `close` is empty and `open` is the JSON up to the tool's name: such a call can only
    stand at the beginning of a reply, and its JSON ends it.
    """

    open: str
    close: str

    def found(self, text: str) -> Iterator[tuple[int, int, Marker]]:
        """Where each marker begins and ends in a reply's text, in order."""
        if not self.close:
            begun = re.match(rf"\s*({re.escape(self.open)})", text)
            if begun:
                yield (*begun.span(1), "open")
            return
        for match in re.finditer(f"(?P<open>{re.escape(self.open)})|{re.escape(self.close)}", text):
            yield (*match.span(), "open" if match["open"] else "close")


class ControlTokens:
    """The markers of one chat format in the token ids of one tokenizer.

    Raises:
        ValueError: the format writes a call in a way that holds no JSON object.
    """

    def __init__(self, chat: ChatFormat, tokenizer: Any) -> None:
        self._tokenizer, self._stops = tokenizer, chat.stop_ids
        self._pieces: dict[int, str] = {}
        prose = self.text(chat.reply(Message("assistant", _PROSE)))
        call = self.text(chat.reply(Message("assistant", "", (ToolCall("probe", _NAME, {}),))))
        self.tags = _tags(call.removeprefix(prose[: prose.index(_PROSE)]))

    def text(self, ids: Sequence[int]) -> str:
        """A reply as text without its stop token, token by token, so that characters can be traced to tokens."""
        return "".join(self._own_pieces(ids))

    def stopped(self, ids: Sequence[int]) -> bool:
        """Whether the reply ended itself; otherwise it was cut off."""
        return bool(ids) and ids[-1] in self._stops

    def labels(self, ids: Sequence[int]) -> tuple[Marker | None, ...]:
        """For each token of one reply the marker that it is part of.

        A token that is part of two markers belongs to the one that has more of its characters, or to the first.
        """
        pieces = self._own_pieces(ids)
        labels: list[Marker | None] = ["stop" if i in self._stops else None for i in ids]
        ends = list(accumulate(map(len, pieces)))
        starts = [end - len(piece) for end, piece in zip(ends, pieces, strict=True)]
        most = [0] * len(pieces)
        for begin, end, marker in self.tags.found("".join(pieces)):
            for token in range(bisect_right(starts, begin) - 1, bisect_right(starts, end - 1)):
                overlap = min(ends[token], end) - max(starts[token], begin)
                if overlap > most[token]:
                    labels[token], most[token] = marker, overlap
        return tuple(labels)

    def _own_pieces(self, ids: Sequence[int]) -> list[str]:
        return ["" if i in self._stops else self._piece(i) for i in ids]

    def _piece(self, token: int) -> str:
        found = self._pieces.get(token)
        if found is None:
            found = str(self._tokenizer.decode([token], clean_up_tokenization_spaces=False))
            self._pieces[token] = found
        return found


def _tags(call: str) -> Tags:
    """What stands around the JSON of a rendered call."""
    begin = call.find("{")
    try:
        _, end = json.JSONDecoder().raw_decode(call, max(begin, 0))
    except ValueError:
        raise ValueError(
            f"this chat format writes a call as {call!r}, which holds no JSON object: its markers cannot be told"
        ) from None
    opening, closing = call[:begin].strip(), call[end:].strip()
    if closing and opening:
        return Tags(opening, closing)
    return Tags(opening or call[begin : call.index(_NAME)].rstrip('" '), "")
