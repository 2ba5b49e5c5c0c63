"""Whole conversations as training rows, built from the same pieces as a rollout."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from stages.chat.format import ChatFormat
from stages.records import Message, ToolSpec


class Encoded(NamedTuple):
    """Token ids and, per token, whether it is the policy's own and takes part in the loss."""

    ids: tuple[int, ...]
    mask: tuple[bool, ...]


def encode_conversation(
    chat: ChatFormat,
    tools: Sequence[ToolSpec],
    messages: Sequence[Message],
    *,
    first_trained: int = 0,
    only_shown: Collection[int] = (),
) -> Encoded:
    """Encode up to the last assistant message; those at index >= `first_trained` are the policy's own.

    Messages at the indices in `only_shown` are part of the text and take no part in the loss.

    Raises ValueError if there is none.
    """
    turns = [i for i, m in enumerate(messages) if m.role == "assistant" and i >= first_trained]
    if not turns:
        raise ValueError(f"no assistant message from index {first_trained} on in {len(messages)} messages")
    ids = chat.opening(tools, messages[: turns[0]])
    mask = [False] * len(ids)
    for turn, following in zip(turns, [*turns[1:], None], strict=True):
        own = chat.reply(messages[turn])
        between = chat.continuation(messages[turn + 1 : following]) if following is not None else []
        ids += own + between
        mask += [turn not in only_shown] * len(own) + [False] * len(between)
    return Encoded(tuple(ids), tuple(mask))
