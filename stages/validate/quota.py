"""The quota: at most so many accepted conversations of each kind, the first ones of the table.

What is over it is good and not needed, so it is no rejection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from stages.conversations import Conversation
from stages.params import QuotaParams
from stages.validate.reasons import Reason, Rejection


def trim(
    accepted: Sequence[Conversation], quota: QuotaParams | None
) -> tuple[list[Conversation], list[tuple[Conversation, Rejection]]]:
    """The conversations within the quota, and those over it."""
    if quota is None:
        return list(accepted), []
    limits = quota.model_dump()
    seen: Counter[str] = Counter()
    kept: list[Conversation] = []
    over: list[tuple[Conversation, Rejection]] = []
    for conversation in accepted:
        limit = limits[conversation.kind]
        seen[conversation.kind] += 1
        if seen[conversation.kind] <= limit:
            kept.append(conversation)
        else:
            over.append((conversation, Rejection(Reason.OVER_QUOTA, f"{limit} of kind {conversation.kind} are enough")))
    return kept, over


def missing(kept: Sequence[Conversation], quota: QuotaParams | None) -> dict[str, int]:
    """How many conversations of each kind the quota still lacks; kinds that are full are left out."""
    counts: Counter[str] = Counter(conversation.kind for conversation in kept)
    limits = quota.model_dump() if quota else {}
    lacking = {kind: limit - counts[kind] for kind, limit in limits.items()}
    return {kind: count for kind, count in lacking.items() if count > 0}
