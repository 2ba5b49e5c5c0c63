"""Rows to imitate in a pause: a right turn as a whole, or cut into single replies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stages.dataset import RlRow, SftRow
from stages.records import Message


def whole_turn(row: RlRow, right: Sequence[Message]) -> SftRow:
    """The row's conversation with the right turn; loss on every reply of the turn."""
    learn = (*(False for _ in row.messages), *(m.role == "assistant" for m in right))
    return SftRow(row.id, row.kind, row.server, row.tools, (*row.messages, *right), learn)


def single_steps(row: RlRow, right: Sequence[Message]) -> Iterator[SftRow]:
    """One row for each right reply, given what was before it: L = −mean Σ_t log π(a_t | q, τ_<t)."""
    for index, message in enumerate(right):
        if message.role == "assistant":
            messages = (*row.messages, *right[: index + 1])
            learn = (*(False for _ in messages[1:]), True)
            yield SftRow(f"{row.id}/{index}", row.kind, row.server, row.tools, messages, learn)
