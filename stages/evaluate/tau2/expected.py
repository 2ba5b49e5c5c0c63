"""The controls' known scores, by task data and track; each was counted over all tasks of the track.

Doing nothing passes where the policy forbids what is asked. Without its last call the reference passes where
that call only reads, or where there is none.
"""

from __future__ import annotations

from collections.abc import Mapping

V1_0_1 = "task data 9f371bdb82f9"
"""How the task files of tau2-bench 1.0.1 are named here."""

_NONE = {"do_nothing": 0, "last_call_dropped": 0}
_KNOWN: Mapping[tuple[str, str], Mapping[str, int]] = {
    ("v0.2 tasks", "airline"): {"do_nothing": 19, "last_call_dropped": 21},
    ("v0.2 tasks", "retail"): {"do_nothing": 7, "last_call_dropped": 16},
    ("v0.2 tasks", "telecom"): _NONE,
    ("v0.2 tasks", "telecom_solo"): _NONE,
    ("v0.2 tasks", "telecom_workflow_solo"): _NONE,
    ("v0.2 tasks", "mock_solo"): _NONE,
    (V1_0_1, "airline"): {"do_nothing": 23, "last_call_dropped": 24},
}


def known_scores(data_version: str, track: str, tasks: int) -> dict[str, int]:
    """What each control passes: the replay everything, the others what is known of this data."""
    return {"gold_replay": tasks, **_KNOWN.get((data_version, track), {})}
