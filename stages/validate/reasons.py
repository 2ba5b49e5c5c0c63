"""The closed list of reasons for which a conversation is rejected."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why a conversation is not in the dataset."""

    RAGGED = "ragged"
    EMPTY_ROUND = "empty_round"
    UNKNOWN_TOOL = "unknown_tool"
    REPLAY_DIFFERS = "replay_differs"
    TRUTH_FAILS = "truth_fails"
    ERROR_RATE = "error_rate"
    UNTRACED_ARGUMENT = "untraced_argument"
    UNTRACED_SECRET = "untraced_secret"
    CONFLICTING_SOURCE = "conflicting_source"
    NEAR_DUPLICATE = "near_duplicate"


@dataclass(frozen=True, slots=True)
class Rejection:
    """A reason, and the call or message it is about."""

    reason: Reason
    detail: str
