"""The calculator tool's arithmetic, read as syntax and never evaluated as Python.

The official tool lets through digits, the four signs, brackets, dots and spaces, and hands the rest to
Python's `eval`. That allows powers that take hours. Here the same text gives the same number or the same
kind of error, except that powers beyond a hundred thousand bits are refused.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

_SIGNS = frozenset("0123456789+-*/(). ")
_BITS = 100_000

Number = int | float | complex

_BINARY: Mapping[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}


def calculate(expression: str) -> str:
    """The value of an expression, rounded to two decimals.

    Raises:
        ValueError: the text has other signs, is no plain arithmetic, or asks for an enormous power.
        SyntaxError: the text is not an expression.
        ArithmeticError: division by zero, or a result too large for a float.
        TypeError: the result is not a real number.
    """
    if not set(expression) <= _SIGNS:
        raise ValueError("Invalid characters in expression")
    value = _value(ast.parse(expression.strip(), "<string>", mode="eval").body)
    return str(round(float(value), 2))  # type: ignore[arg-type]


def _value(node: ast.expr) -> Number:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        inner = _value(node.operand)
        return -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left), _value(node.right)
        if isinstance(node.op, ast.Pow):
            return _power(left, right)
        return _BINARY[type(node.op)](left, right)
    raise ValueError("not plain arithmetic")


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * abs(exponent) > _BITS:
        raise ValueError(f"a power of more than {_BITS} bits is refused")
    result: Number = base**exponent
    return result
