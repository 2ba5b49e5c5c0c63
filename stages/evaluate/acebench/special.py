"""Special tasks: the right answer is no call but a fixed phrase that says what is wrong.

Three things can be wrong: parameters are missing, a value is not of its parameter's form, or no API can
do it. The published rule looks for the phrase and for the names or values concerned, anywhere in the
reply. Here a reply that makes a call has not seen the problem, whatever its arguments say, and blanks
around a reference's names don't count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

Special: TypeAlias = Literal["special_incomplete", "special_error_param", "special_irrelevant"]
Faults: TypeAlias = Mapping[str, Sequence[str]]
"""Missing parameters by API, or wrong values by parameter; empty where no API can help."""

PHRASES: Mapping[Special, str] = {
    "special_incomplete": "Missing necessary parameters",
    "special_error_param": "There is incorrect value",
    "special_irrelevant": "the limitations of the function",
}


def published_fault(category: Special, text: str, faults: Faults) -> str:
    """Why a reply does not pass by the published rule, or nothing if it does."""
    if PHRASES[category] not in text:
        return "not_detected"
    names = faults if category == "special_incomplete" else ()
    parts = [*names, *(value for values in faults.values() for value in values)]
    return "" if all(part in text for part in parts) else "not_named"


def special_fault(category: Special, text: str, calls: int, faults: Faults) -> str:
    """Why a reply with that many readable calls does not pass, or nothing if it does."""
    if calls:
        return "called"
    return published_fault(category, text, {name: [v.strip() for v in values] for name, values in faults.items()})


def reference_reply(category: Special, faults: Faults) -> str:
    """A reply that names every fault in the fixed phrases."""
    match category:
        case "special_incomplete":
            parts = [f"{PHRASES[category]} ({', '.join(v)}) for the api ({name})" for name, v in faults.items()]
        case "special_error_param":
            parts = [
                f"{PHRASES[category]} ({', '.join(v)}) for the parameters ({name}) in the conversation history."
                for name, v in faults.items()
            ]
        case "special_irrelevant":
            parts = [f"Due to {PHRASES[category]}, I cannot solve this problem."]
    quoted = ", ".join(f'"{part}"' for part in parts)
    return f"[{quoted}]"
