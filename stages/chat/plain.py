"""ChatML with tools as compact signatures, for small models whose template knows no tools."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from stages.chat.inert import Neutraliser
from stages.chat.parse import parse_reply
from stages.chat.signatures import signature
from stages.records import Message, ToolCall, ToolSpec

_START, _END, _TEXT_END = "<|im_start|>", "<|im_end|>", "<|endoftext|>"
_INSTRUCTION = 'Call a tool by <tool_call>{"name": ..., "arguments": {...}}</tool_call>. Tools:'


class PlainChatML:
    """One turn is `<|im_start|>role\\n…<|im_end|>\\n`; everything inside is encoded as plain data.

    `described` adds each tool's first sentence to its signature, at about twice the tokens.
    """

    def __init__(self, tokenizer: Any, *, described: bool = True) -> None:
        self._tokenizer = tokenizer
        self._described = described
        self._start, self._end = (self._control(t) for t in (_START, _END))
        text_end = tokenizer.convert_tokens_to_ids(_TEXT_END)
        self._stops = frozenset({self._end} | ({text_end} if isinstance(text_end, int) else set()))
        self._inert = Neutraliser()
        self._newline = self._data("\n")
        self._cue = [self._start, *self._data("assistant\n")]

    one_call = False

    @property
    def stop_ids(self) -> frozenset[int]:
        """`<|im_end|>` and `<|endoftext|>`."""
        return self._stops

    def opening(self, tools: Sequence[ToolSpec], messages: Sequence[Message]) -> list[int]:
        """System prompt with one line per tool, the messages, and the cue for the assistant."""
        ids = self._turn("system", self._system(tools, messages))
        for role, run in groupby(_without_system(messages), key=lambda m: m.role):
            ids += self._turns(role, list(run))
        return ids + self._cue

    def reply(self, message: Message) -> list[int]:
        """Content, then one `<tool_call>` line per call."""
        return [*self._data(self._reply_text(message)), self._end]

    def continuation(self, messages: Sequence[Message], *, closed: bool = True) -> list[int]:
        """The end of the reply's turn, the messages, and the cue for the assistant."""
        ids = [*([] if closed else [self._end]), *self._newline]
        for role, run in groupby(messages, key=lambda m: m.role):
            ids += self._turns(role, list(run))
        return ids + self._cue

    def parse(self, ids: Sequence[int], *, turn: int = 0) -> Message:
        """Content and calls of a sampled reply."""
        own = ids[:-1] if ids and ids[-1] in self._stops else ids
        return parse_reply(self._tokenizer.decode(list(own)), turn=turn)

    def text(self, tools: Sequence[ToolSpec], messages: Sequence[Message]) -> str:
        """The conversation with control tokens spelled out, without a cue."""
        return str(self._tokenizer.decode(self.opening(tools, messages)[: -len(self._cue)]))

    def _turns(self, role: str, run: Sequence[Message]) -> list[int]:
        if role == "assistant":
            return [i for m in run for i in (*self._cue, *self.reply(m), *self._newline)]
        if role == "tool":  # the results of parallel calls share one turn
            body = "\n".join(f"<tool_response>{self._inert.text(m.content)}</tool_response>" for m in run)
            return self._turn("tool", body)
        return [i for m in run for i in self._turn(role, self._inert.text(m.content))]

    def _turn(self, role: str, body: str) -> list[int]:
        return [self._start, *self._data(f"{role}\n{body}"), self._end, *self._newline]

    def _system(self, tools: Sequence[ToolSpec], messages: Sequence[Message]) -> str:
        own = [self._inert.text(m.content) for m in messages[:1] if m.role == "system" and m.content]
        lines = [self._inert.text(signature(tool, described=self._described)) for tool in tools]
        return "\n".join([*own, *([_INSTRUCTION, *lines] if lines else [])])

    def _reply_text(self, message: Message) -> str:
        content = [self._inert.text(message.content)] if message.content else []
        return "\n".join([*content, *(self._call_text(call) for call in message.tool_calls)])

    def _call_text(self, call: ToolCall) -> str:
        if call.arguments is None:
            return f"<tool_call>{self._inert.text(call.raw)}</tool_call>"
        body = self._inert.json({"name": call.name, "arguments": dict(call.arguments)})
        return f"<tool_call>{body}</tool_call>"

    def _data(self, text: str) -> list[int]:
        """Tokens of a text in which nothing is special."""
        encoded = self._tokenizer(text, add_special_tokens=False, split_special_tokens=True)
        return list(encoded["input_ids"])

    def _control(self, token: str) -> int:
        found = self._tokenizer.convert_tokens_to_ids(token)
        if not isinstance(found, int) or self._tokenizer.convert_ids_to_tokens(found) != token:
            raise ValueError(f"this tokenizer has no {token} token: plain ChatML needs it")
        return found


def _without_system(messages: Sequence[Message]) -> Sequence[Message]:
    return messages[1:] if messages and messages[0].role == "system" else messages
