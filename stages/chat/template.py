"""Chat formats that a tokenizer brings along: Qwen, Granite, Llama and their like."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from jinja2 import TemplateError

from stages.chat.inert import Neutraliser
from stages.chat.one_call import one_call_each
from stages.chat.parse import parse_reply
from stages.records import Message, ToolCall, ToolSpec

_PLACE = "REPLY-GOES-HERE"
_ENDINGS = ("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|endoftext|>")


DATE = "26 Jul 2024"
"""What templates that tell the date (Llama 3.2) tell: their own default, whatever the host's clock says."""


class TemplateChat:
    """Renders through `apply_chat_template`; data is made inert before the template sees it.

    Templates rewrite earlier turns (Qwen3 drops old thoughts), so only the opening shows history
    through the template; later pieces are cut from a minimal conversation around a placeholder. A template
    that takes one call a message (Llama) sees parallel calls one after another, each with its own result.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        added = dict(tokenizer.get_added_vocab())
        names = {*_ENDINGS, *([tokenizer.eos_token] if tokenizer.eos_token else [])}
        self._stops = frozenset(added[n] for n in names if n in added)
        if not self._stops:
            raise ValueError(f"this tokenizer has none of the stop tokens {sorted(names)}")
        self._inert = Neutraliser(added)
        self._one_call = not self._takes_parallel_calls()

    @property
    def one_call(self) -> bool:
        """Whether the template refuses messages with more than one call."""
        return self._one_call

    @property
    def stop_ids(self) -> frozenset[int]:
        """The end-of-turn tokens that this tokenizer knows."""
        return self._stops

    def opening(self, tools: Sequence[ToolSpec], messages: Sequence[Message]) -> list[int]:
        """Tools and messages through the template, with the generation prompt."""
        return self._encode(self._render(messages, tools, cue=True))

    def reply(self, message: Message) -> list[int]:
        """What the template writes for the message after its generation prompt, to the stop token."""
        asked = [Message("user", _PLACE)]
        before = self._render(asked, (), cue=True)
        whole = self._render([*asked, message], (), cue=False)
        if not whole.startswith(before):
            raise ValueError("this template's generation prompt is no prefix of the turn it opens")
        ids = self._encode(whole[len(before) :])
        last = max((i for i, token in enumerate(ids) if token in self._stops), default=None)
        if last is None:
            raise ValueError("this template does not end an assistant turn with a stop token")
        return ids[: last + 1]

    def continuation(self, messages: Sequence[Message], *, closed: bool = True) -> list[int]:
        """What the template writes between a reply and the next one."""
        asked = [Message("user", "?"), Message("assistant", _PLACE)]
        tail = self._render([*asked, *messages], (), cue=True).partition(_PLACE)[2]
        ids = self._encode(tail)
        return ids[1:] if closed and ids and ids[0] in self._stops else ids

    def parse(self, ids: Sequence[int], *, turn: int = 0) -> Message:
        """Content and calls of a sampled reply."""
        own = ids[:-1] if ids and ids[-1] in self._stops else ids
        return parse_reply(self._tokenizer.decode(list(own)), turn=turn)

    def text(self, tools: Sequence[ToolSpec], messages: Sequence[Message]) -> str:
        """The conversation as the template renders it."""
        return self._render(messages, tools, cue=False)

    def _takes_parallel_calls(self) -> bool:
        call = ToolCall("", "a", {})
        probe = [Message("user", "?"), Message("assistant", "", (call, call))]
        self._one_call = False
        try:
            self._render(probe, (), cue=False)
        except TemplateError:
            return False
        return True

    def _render(self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, cue: bool) -> str:
        shown = [m for _, m in one_call_each(messages)] if self._one_call else messages
        text: str = self._tokenizer.apply_chat_template(
            [self._message(m) for m in shown],
            tools=[self._tool(t) for t in tools] or None,
            tokenize=False,
            add_generation_prompt=cue,
            date_string=DATE,
        )
        return text

    def _message(self, message: Message) -> dict[str, Any]:
        content = self._inert.text(message.content)
        shown: dict[str, Any] = {"role": message.role, "content": content}
        if message.tool_call_id:
            shown["tool_call_id"] = self._inert.text(message.tool_call_id)
        unread = [
            f"<tool_call>{self._inert.text(c.raw)}</tool_call>" for c in message.tool_calls if c.arguments is None
        ]
        if unread:
            shown["content"] = "\n".join([*([content] if content else []), *unread])
        calls = [c for c in message.tool_calls if c.arguments is not None]
        if calls:
            shown["tool_calls"] = [self._call(c) for c in calls]
        return shown

    def _call(self, call: ToolCall) -> dict[str, Any]:
        function = {"name": self._inert.text(call.name), "arguments": self._data(call.arguments)}
        return {"type": "function", "id": self._inert.text(call.id), "function": function}

    def _tool(self, tool: ToolSpec) -> dict[str, Any]:
        function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        return {"type": "function", "function": self._data(function)}

    def _data(self, value: Any) -> Any:
        """The value with every string made inert."""
        if isinstance(value, str):
            return self._inert.text(value)
        return json.loads(json.dumps(value, default=dict), object_pairs_hook=self._pairs)

    def _pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return {self._inert.text(k): self._string(v) for k, v in pairs}

    def _string(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._string(v) for v in value]
        return self._inert.text(value) if isinstance(value, str) else value

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])
