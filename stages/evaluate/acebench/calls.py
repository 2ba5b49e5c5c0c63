"""ACEBench's call notation: `[ApiName(key='value'), …]`, read without ever running it.

A reply is parsed as Python syntax and walked node by node: calls of plain or dotted names, keyword
arguments, literals, lists and objects. Everything else is refused with a reason. Bare `true`, `false`
and `null` are their JSON values; any other bare word is read as text, as the published reader does.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from stages.foreign import paired
from stages.records import Json

MAX_LENGTH = 20_000
"""Characters of a reply that are read at most."""

MAX_DEPTH = 32
"""Lists and objects inside one another at most."""

_WORDS: Mapping[str, Json] = {"true": True, "false": False, "null": None}


class UnreadableError(ValueError):
    """The text is not a list of calls; the message says why."""


class Call(NamedTuple):
    """An API's name and its keyword arguments."""

    name: str
    arguments: Mapping[str, Json]


def read_calls(text: str) -> tuple[Call, ...]:
    """The calls of a reply, in order.

    A line break inside a quoted value is read as a space.

    Raises:
        UnreadableError: the text is anything but a list of calls.
    """
    if len(text) > MAX_LENGTH:
        raise UnreadableError(f"{len(text)} characters; at most {MAX_LENGTH} are read")
    try:
        node = _parsed(text)
    except UnreadableError:
        node = _parsed(" ".join(text.splitlines()))
    if not isinstance(node, ast.List | ast.Tuple):
        raise UnreadableError("not a list of calls in square brackets")
    return tuple(_call(element) for element in node.elts)


def write_calls(calls: Iterable[Call]) -> str:
    """The notation of some calls."""
    return f"[{', '.join(map(_written, calls))}]"


def _written(call: Call) -> str:
    return f"{call.name}({', '.join(f'{name}={value!r}' for name, value in call.arguments.items())})"


def _parsed(text: str) -> ast.expr:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as wrong:
            raise UnreadableError(f"not the notation of calls: {wrong}"[:200]) from wrong


def _call(node: ast.expr) -> Call:
    if not isinstance(node, ast.Call):
        raise UnreadableError(f"{_kind(node)} where a call should be")
    if node.args:
        raise UnreadableError("an argument without a name")
    arguments: dict[str, Json] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise UnreadableError("`**` in place of an argument")
        if keyword.arg in arguments:
            raise UnreadableError(f"argument {keyword.arg[:80]!r} is given twice")
        arguments[keyword.arg] = _value(keyword.value, MAX_DEPTH)
    return Call(_name(node.func), arguments)


def _name(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        raise UnreadableError(f"{_kind(node)} in place of an API's name")
    return ".".join([node.id, *reversed(parts)])


def _value(node: ast.expr, depth: int) -> Json:
    if depth == 0:
        raise UnreadableError(f"more than {MAX_DEPTH} levels")
    match node:
        case ast.Constant(value=str() | bool() | int() | float() | None as value):
            return _keepable(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return _keepable(-value)
        case ast.Name(id=word):
            return _WORDS.get(word, word)
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [_value(element, depth - 1) for element in elements]
        case ast.Dict(keys=keys, values=values):
            return {_key(key): _value(value, depth - 1) for key, value in zip(keys, values, strict=True)}
    raise UnreadableError(f"{_kind(node)} is not a plain value")


def _keepable(value: str | int | float | None) -> Json:
    if isinstance(value, float) and not math.isfinite(value):
        raise UnreadableError("a number beyond all bounds")
    if isinstance(value, str) and value != paired(value):
        raise UnreadableError("half of a surrogate pair")
    return value


def _key(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return str(_keepable(node.value))
    raise UnreadableError("an object's key that is not text")


def _kind(node: ast.expr) -> str:
    return type(node).__name__
