"""When two argument values count as the same.

Lenient (the default): numbers and numeric strings by value within 1e-9 (5 = 5.0 = "5"), other strings
stripped and casefolded, containers as canonical JSON whose leaves follow the same rule. Strict: the same
JSON value, in which 5 and 5.0 are one number and "5" is a string. A boolean is never a number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal, localcontext

from stages.records import Json

_TOLERANCE = Decimal("1e-9")
# Beyond this exponent an absolute tolerance means exact equality, and subtraction could not be exact.
_EXACT_EXPONENT = 60
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,6})?")


def values_equal(left: object, right: object, *, strict: bool = False) -> bool:
    """Whether two JSON values are the same under the lenient or the strict rule."""
    pending: list[tuple[object, object]] = [(left, right)]
    while pending:  # a stack of our own: values as deep as a model likes
        a, b = pending.pop()
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            if a.keys() != b.keys():
                return False
            pending.extend((a[key], b[key]) for key in a)
        elif isinstance(a, list | tuple) and isinstance(b, list | tuple):
            if len(a) != len(b):
                return False
            pending.extend(zip(a, b, strict=True))
        elif not _leaves_equal(a, b, strict=strict):
            return False
    return True


def equal_keys(
    arguments: Mapping[str, Json] | None, truth: Mapping[str, Json], *, strict: bool = False
) -> tuple[str, ...]:
    """The keys of `truth` whose value in `arguments` is equal."""
    given = arguments or {}
    return tuple(k for k, v in truth.items() if k in given and values_equal(given[k], v, strict=strict))


def _leaves_equal(a: object, b: object, *, strict: bool) -> bool:
    if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None:
        return a is b
    if strict and isinstance(a, str) != isinstance(b, str):
        return False
    if strict and isinstance(a, str):
        return a == b
    if isinstance(a, Mapping | list | tuple) or isinstance(b, Mapping | list | tuple):
        return False
    x, y = _number(a), _number(b)
    if x is not None and y is not None:
        return x == y if strict else _close(x, y)
    if isinstance(a, str) and isinstance(b, str):
        return a.strip().casefold() == b.strip().casefold()
    return a == b


def _number(value: object) -> Decimal | None:
    """Its exact value if it is a finite number or the JSON text of one."""
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, float):
        # repr is the shortest decimal that means this float, so 0.1 equals "0.1"
        return Decimal(repr(value)) if math.isfinite(value) else None
    if isinstance(value, str) and _NUMBER.fullmatch(text := value.strip()):
        return Decimal(text)
    return None


def _close(x: Decimal, y: Decimal) -> bool:
    if x == y:
        return True
    if max(x.adjusted(), y.adjusted()) > _EXACT_EXPONENT:
        return False
    with localcontext() as context:
        context.prec = 2 * _EXACT_EXPONENT
        return abs(x - y) <= _TOLERANCE
