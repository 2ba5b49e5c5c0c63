"""The sparse alternative to the dense reward: did the episode end right, and find what it had to?"""

from __future__ import annotations

import json
from collections.abc import Sequence

from stages.reward.equality import values_equal


def outcome(state_hash: str, truth_hash: str, results: Sequence[str] = (), required: Sequence[str] = ()) -> bool:
    """Whether the state is the ground truth's and every required result was observed.

    `results` are the results of the episode's successful calls, `required` those of ground-truth calls
    whose point is to learn something, both as JSON text; spelling of the JSON does not matter.
    """
    if state_hash != truth_hash:
        return False
    seen = [_value(text) for text in results]
    return all(any(values_equal(_value(text), s, strict=True) for s in seen) for text in required)


def _value(text: str) -> object:
    """The JSON value of a result, or the text itself where it is not JSON."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value
