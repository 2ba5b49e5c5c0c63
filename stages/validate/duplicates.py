"""Near-duplicates: Jaccard similarity over bigrams of calls, within a server (PROVE, section 3).

Comparing every pair is quadratic. Two sets of similarity t or more share an element among the first
|x| − ⌈t·|x|⌉ + 1 of each, under any one order of all elements, and their sizes differ by at most the factor t
(prefix filtering: Chaudhuri et al. 2006, Bayardo et al. 2007). So an index from those elements to the sets that have
them finds every candidate; ordered by rarity, it finds few others. Each candidate is then compared in full.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TypeAlias

from stages.conversations import Conversation

Bigram: TypeAlias = tuple[str, str]
Signature: TypeAlias = frozenset[Bigram]

_ROUNDING = 1e-9


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


def rarity(signatures: Iterable[Signature]) -> Mapping[Bigram, int]:
    """In how many signatures each bigram occurs."""
    return Counter(bigram for item in signatures for bigram in item)


class NearIndex:
    """Signatures that were kept, and the first of them that a new one resembles.

    Args:
        threshold: similarity from which on two are alike, 0 to 1.
        counts: how often each bigram occurs. It decides the speed only, never an answer.
    """

    def __init__(self, threshold: float, counts: Mapping[Bigram, int]) -> None:
        self._threshold = threshold
        self._counts = counts
        self._kept: list[Signature] = []
        self._having: dict[Bigram, list[int]] = {}

    def first_like(self, mine: Signature) -> int | None:
        """The place of the first kept signature that is alike, or None."""
        if self._threshold <= 0 or not mine:
            alike = list(range(len(self._kept)))
        else:
            alike = sorted({n for bigram in self._prefix(mine) for n in self._having.get(bigram, ())})
        return next((n for n in alike if self._may(mine, n) and jaccard(mine, self._kept[n]) >= self._threshold), None)

    def keep(self, mine: Signature) -> None:
        """Add a signature, at the next place."""
        for bigram in self._prefix(mine):
            self._having.setdefault(bigram, []).append(len(self._kept))
        self._kept.append(mine)

    def _may(self, mine: Signature, place: int) -> bool:
        small, large = sorted((len(mine), len(self._kept[place])))
        return small >= self._threshold * large - _ROUNDING

    def _prefix(self, mine: Signature) -> list[Bigram]:
        ordered = sorted(mine, key=lambda bigram: (self._counts.get(bigram, 0), bigram))
        return ordered[: len(ordered) - math.ceil(self._threshold * len(ordered) - _ROUNDING) + 1]


class Deduplicator:
    """Remembers what was kept, server by server.

    Args:
        threshold: similarity from which on a conversation counts as a duplicate.
        counts: how often each bigram occurs, if known; see `rarity`.
    """

    def __init__(self, threshold: float, counts: Mapping[Bigram, int] | None = None) -> None:
        self._threshold = threshold
        self._counts = counts or {}
        self._servers: dict[str, tuple[NearIndex, list[str]]] = {}

    def duplicate_of(self, conversation: Conversation) -> str:
        """The id of the first kept conversation that this one repeats, or ''; keeps it otherwise."""
        fresh = (NearIndex(self._threshold, self._counts), list[str]())
        index, ids = self._servers.setdefault(conversation.server, fresh)
        mine = signature(conversation)
        found = index.first_like(mine)
        if found is not None:
            return ids[found]
        index.keep(mine)
        ids.append(conversation.id)
        return ""
