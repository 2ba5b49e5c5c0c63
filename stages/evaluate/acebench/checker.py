"""ACEBench's published rule for calls: the same APIs as the reference, with arguments that fit it.

The rule is lenient, and it is kept as published so that figures compare: names must be the same ones,
equally often; required arguments must be there, and none that the reference lacks; text must contain
the reference text, case, blanks and some punctuation aside; lists of scalars must be equal; members of
objects are compared by their printed form, which must contain the reference's. Numbers and booleans on
their own are checked for their type alone. `equal_calls` says whether the calls also equal the
reference value by value.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from stages.evaluate.acebench.calls import Call
from stages.records import Json

_TYPES: Mapping[str, type] = {
    "string": str,
    "any": str,
    "integer": int,
    "int": int,
    "number": int,
    "float": float,
    "boolean": bool,
    "bool": bool,
    "array": list,
    "list": list,
    "tuple": list,
    "object": dict,
    "dict": dict,
}
_LOOKED_INTO = ("array", "tuple", "object")
_SPOKEN: Mapping[str, bool] = {"true": True, "false": False}
_PUNCTUATION = re.compile(r"[ ,./\-_*^]")


def call_fault(calls: Sequence[Call], gold: Sequence[Call], schemas: Mapping[str, Mapping[str, Any]]) -> str:
    """Why calls don't pass against one reference answer, or nothing if they do.

    `schemas` has the parameters of each API as its documentation states them.

    Raises:
        ValueError: a documented type is not one that the rule knows.
    """
    if len(calls) != len(gold):
        return "call_count"
    if Counter(call.name for call in calls) != Counter(call.name for call in gold):
        return "wrong_api"
    for want in gold:
        schema = schemas.get(want.name)
        if schema is None:
            return "undocumented_api"
        faults = [_arguments_fault(call.arguments, want.arguments, schema) for call in calls if call.name == want.name]
        if all(faults):
            return faults[-1]
    return ""


def equal_calls(calls: Sequence[Call], gold: Sequence[Call]) -> bool:
    """Whether calls and reference are the same value by value, in any order."""
    left = list(calls)
    for want in gold:
        twin = next((call for call in left if call.name == want.name and _equal(call.arguments, want.arguments)), None)
        if twin is None:
            return False
        left.remove(twin)
    return not left


def _arguments_fault(arguments: Mapping[str, Json], want: Mapping[str, Json], schema: Mapping[str, Any]) -> str:
    if any(name not in arguments for name in schema.get("required", ())):
        return "missing_argument"
    if not arguments and want:
        return "missing_argument"
    properties = schema.get("properties", {})
    for name, value in arguments.items():
        if name not in properties or name not in want:
            return "extra_argument"
        if fault := _value_fault(value, want[name], properties[name]):
            return fault
    return ""


def _value_fault(value: Json, want: Json, declared: Mapping[str, Any]) -> str:
    expected, inner = _type(declared.get("type")), _inner_type(declared)
    if expected is float and type(value) is int:
        value = float(value)
    if not _fits(value, want, expected, inner):
        return "type"
    found = _spoken(value)
    if type(found) is not expected or (want != "" and type(want) is not expected):
        return ""  # the reference itself departs from the documentation, so only the type was compared
    return "" if _agrees(found, want, inner) else "value"


def _agrees(value: Json, want: Json, inner: type | None) -> bool:
    """Whether a value of the documented type agrees with the reference."""
    if isinstance(value, str):
        return isinstance(want, str) and _standard(want) in _standard(value)
    if isinstance(value, dict):
        return _object_agrees(value, want)
    if isinstance(value, list) and inner is dict:
        return (
            isinstance(want, list)
            and len(value) == len(want)
            and all(_object_agrees(part, wanted) for part, wanted in zip(value, want, strict=True))
        )
    if isinstance(value, list):
        return isinstance(want, list) and [*map(_plain, value)] == [*map(_plain, want)]
    return True


def _object_agrees(value: Json, want: Json) -> bool:
    if not isinstance(value, dict) or not isinstance(want, dict) or value.keys() != want.keys():
        return False
    for name, wanted in want.items():
        found = _spoken(value[name])
        if isinstance(wanted, dict):
            if not _object_agrees(found, wanted):
                return False
        elif f"{_plain(wanted)}" not in f"{_plain(found)}":
            return False
    return True


def _fits(value: Json, want: Json, expected: type, inner: type | None) -> bool:
    """Whether a value is of the documented type, or else of the reference's."""
    found = _spoken(value)
    if type(found) is expected:
        return inner is None or _parts_fit(found, want, inner)
    return want != "" and (type(found) is type(want) or want == found)


def _parts_fit(value: Json, want: Json, inner: type) -> bool:
    """The published look into lists and objects: an empty reference fits nothing."""
    if not isinstance(want, list):
        return bool(want)
    parts = value if isinstance(value, list) else []
    return any(
        not isinstance(wanted, list) or all(_fits(part, wanted, inner, inner) for part in parts) for wanted in want
    )


def _type(name: object) -> type:
    known = _TYPES.get(name) if isinstance(name, str) else None
    if known is None:
        raise ValueError(f"type {name!r} of an API's documentation is unknown; known: {', '.join(_TYPES)}")
    return known


def _inner_type(declared: Mapping[str, Any]) -> type | None:
    if declared.get("type") not in _LOOKED_INTO:
        return None
    items = declared.get("items")
    return _type(items["type"]) if isinstance(items, dict) and "type" in items else dict


def _spoken(value: Json) -> Json:
    """The booleans that are written as text."""
    return _SPOKEN.get(value, value) if isinstance(value, str) else value


def _standard(text: str) -> str:
    """Text without blanks, case and the punctuation that the rule ignores."""
    return _PUNCTUATION.sub("", text).lower().replace("'", '"')


def _plain(value: Json) -> Json:
    return _standard(value) if isinstance(value, str) else value


def _equal(value: object, want: object) -> bool:
    """Equality of JSON values: 1 equals 1.0, and no number equals a boolean."""
    if isinstance(value, bool) or isinstance(want, bool):
        return value is want
    if isinstance(value, Mapping) and isinstance(want, Mapping):
        return value.keys() == want.keys() and all(_equal(value[name], want[name]) for name in want)
    if isinstance(value, list) and isinstance(want, list):
        return len(value) == len(want) and all(_equal(a, b) for a, b in zip(value, want, strict=True))
    return value == want
