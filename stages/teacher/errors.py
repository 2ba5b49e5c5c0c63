"""What can go wrong with a teacher: one closed list of failures, and two ways for them to end.

A `TeacherError` concerns one answer: whoever asked goes on without it, and says so. A `BudgetReachedError`
ends the stage: every further request would cost what nobody agreed to. Neither message holds a key, even
where the provider's own words do.
"""

from __future__ import annotations

import os
import re
from enum import StrEnum

from stages.artifacts import ArtifactError
from stages.progress import visible

LONGEST = 500
"""Characters of a provider's words that a message repeats."""

_SECRET_NAMES = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$")
_SHORTEST_SECRET = 8


class Failure(StrEnum):
    """Why there is no usable answer."""

    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    REFUSED = "refused"
    UNREADABLE = "unreadable"
    EMPTY = "empty"
    TRUNCATED = "truncated"
    BAD_STRUCTURE = "bad_structure"


TRANSIENT = frozenset({Failure.RATE_LIMITED, Failure.SERVER_ERROR, Failure.TIMEOUT, Failure.CONNECTION})
"""What may pass if the same is asked again."""


class TeacherError(Exception):
    """The teacher gave no usable answer; the message names the model, the failure and the cause.

    Args:
        model: who was asked.
        reason: the kind of failure.
        cause: in the provider's words or ours; keys in it are masked.
        retry_after: seconds that the provider asks to wait, if it says so.
    """

    def __init__(self, model: str, reason: Failure, cause: str, retry_after: float | None = None) -> None:
        super().__init__(f"{model}: {reason}: {visible(without_secrets(' '.join(cause.split())))[:LONGEST]}")
        self.reason = reason
        self.retry_after = retry_after


class BudgetReachedError(ArtifactError):
    """The teacher's budget is spent; the message says what on, and how to go on."""


class ServeError(ArtifactError):
    """The teacher's server could not be started; the message says why and what to do."""


def without_secrets(text: str) -> str:
    """The text with the value of every environment variable that is named like a secret masked."""
    for name, value in os.environ.items():
        if _SECRET_NAMES.search(name.upper()) and len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, f"<{name}>")
    return text
