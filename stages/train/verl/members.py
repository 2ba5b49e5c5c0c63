"""Members of a group as text: they travel in a column of verl's rows, from the driver to the agent loops."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from stages.artifacts import dump
from stages.conversations import message_from
from stages.train.supervision.signal import SAMPLED, Member


def to_text(members: Sequence[Member]) -> str:
    """A group's members as JSON."""
    return dump([asdict(member) for member in members])


def member_of(text: str | None, place: int) -> Member:
    """The member at that place of a group; validation has no groups, and samples."""
    if text is None:
        return SAMPLED
    found = json.loads(text)[place]
    return Member(found["hint"], tuple(message_from(reply) for reply in found["replies"]))
