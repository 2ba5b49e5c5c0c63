"""What every chat format can do, and which one a tokenizer needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from stages.records import Message, ToolSpec


class ChatFormat(Protocol):
    """Renders conversations for one model family and reads its replies."""

    @property
    def stop_ids(self) -> frozenset[int]:
        """Tokens that end an assistant message."""

    @property
    def one_call(self) -> bool:
        """Whether a message holds one call at most; parallel calls are then told one after another."""

    def opening(self, tools: Sequence[ToolSpec], messages: Sequence[Message]) -> list[int]:
        """Tokens of tools and messages, up to where the next assistant message is to be sampled."""

    def reply(self, message: Message) -> list[int]:
        """Tokens of an assistant message as the model should write it, its stop token included."""

    def continuation(self, messages: Sequence[Message], *, closed: bool = True) -> list[int]:
        """Tokens between a sampled reply and the next one: the messages in between, ready to sample.

        `closed` says whether the reply's own last token was a stop token.
        """

    def parse(self, ids: Sequence[int], *, turn: int = 0) -> Message:
        """The assistant message that sampled tokens mean; a final stop token is dropped."""

    def text(self, tools: Sequence[ToolSpec], messages: Sequence[Message]) -> str:
        """The conversation as a person may read it, control tokens spelled out."""


def chat_format(tokenizer: Any, *, described: bool = True) -> ChatFormat:
    """The tokenizer's own template where it knows tools, plain ChatML otherwise.

    `described` says whether plain ChatML shows what each tool does, or its signature alone.
    """
    from stages.chat.plain import PlainChatML
    from stages.chat.template import TemplateChat

    template = tokenizer.chat_template
    if isinstance(template, str) and "tools" in template:
        return TemplateChat(tokenizer)
    return PlainChatML(tokenizer, described=described)
