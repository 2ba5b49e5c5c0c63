"""Near-duplicates: Jaccard similarity over bigrams of calls, within a server (PROVE, section 3)."""

from __future__ import annotations

from itertools import pairwise

from stages.conversations import Conversation

Signature = frozenset[tuple[str, str]]


def signature(conversation: Conversation) -> Signature:
    """Bigrams of (tool, sorted argument names) with the ends marked; what was asked, where nothing was called.

    A user turn is part of the sequence, so that the same calls in one turn or in two differ.
    """
    steps = ["^"]
    for turn in conversation.turns:
        steps += [f"{call.name}({','.join(sorted(call.arguments))})" for call in turn.truth]
        steps.append(f"|{'' if turn.truth else conversation.messages[turn.start].content.casefold()}")
    return frozenset(pairwise(steps))


def jaccard(first: Signature, second: Signature) -> float:
    """Shared bigrams over all bigrams."""
    union = len(first | second)
    return len(first & second) / union if union else 1.0


class Deduplicator:
    """Remembers what was kept, server by server.

    Args:
        threshold: similarity from which on a conversation counts as a duplicate.
    """

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._kept: dict[str, list[tuple[str, Signature]]] = {}

    def duplicate_of(self, conversation: Conversation) -> str:
        """The id of a kept conversation that this one repeats, or ''; keeps it otherwise."""
        mine = signature(conversation)
        kept = self._kept.setdefault(conversation.server, [])
        for other, theirs in kept:
            if jaccard(mine, theirs) >= self._threshold:
                return other
        kept.append((conversation.id, mine))
        return ""
