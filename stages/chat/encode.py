"""Whole conversations as training rows, built from the same pieces as a rollout."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from stages.chat.format import ChatFormat
from stages.chat.one_call import one_call_each
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
    said = one_call_each(messages) if chat.one_call else list(enumerate(messages))
    shown = [message for _, message in said]
    turns = [i for i, (origin, m) in enumerate(said) if m.role == "assistant" and origin >= first_trained]
    if not turns:
        raise ValueError(f"no assistant message from index {first_trained} on in {len(messages)} messages")
    ids = chat.opening(tools, shown[: turns[0]])
    mask = [False] * len(ids)
    for turn, following in zip(turns, [*turns[1:], None], strict=True):
        own = chat.reply(shown[turn])
        between = chat.continuation(shown[turn + 1 : following]) if following is not None else []
        ids += own + between
        mask += [said[turn][0] not in only_shown] * len(own) + [False] * len(between)
    return Encoded(tuple(ids), tuple(mask))
