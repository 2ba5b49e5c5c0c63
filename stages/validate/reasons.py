"""The closed list of reasons for which a conversation is not in the dataset; docs/data.md explains each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why a conversation is not in the dataset.

    All but the last are faults of the conversation; one that is over quota is good and not needed.
    """

    RAGGED = "ragged"
    EMPTY_ROUND = "empty_round"
    SHOWS_HELD_OUT_SERVER = "shows_held_out_server"
    UNTRACED_ARGUMENT = "untraced_argument"
    UNTRACED_SECRET = "untraced_secret"
    CONFLICTING_SOURCE = "conflicting_source"
    UNKNOWN_TOOL = "unknown_tool"
    REPLAY_DIFFERS = "replay_differs"
    TRUTH_FAILS = "truth_fails"
    ERROR_RATE = "error_rate"
    DEAD_STATE = "dead_state"
    BENCHMARK_OVERLAP = "benchmark_overlap"
    NEAR_DUPLICATE = "near_duplicate"
    OVER_QUOTA = "over_quota"


@dataclass(frozen=True, slots=True)
class Rejection:
    """A reason, and the call or message it is about."""

    reason: Reason
    detail: str
