"""What a person types, read as a command: `tool {json}`, or a tool's name alone, whose arguments are then asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from servers.kernel.tool import Parameter, Tool
from stages.foreign import read_json


class LineError(ValueError):
    """A line that is no command; the message says what to type instead."""


class Command(NamedTuple):
    """The first word, and what follows it."""

    word: str
    rest: str


def command_of(line: str) -> Command:
    """The line in two parts."""
    word, _, rest = line.strip().partition(" ")
    return Command(word, rest.strip())


def hint(name: str, known: Sequence[str]) -> str:
    """Advice on a name that there is not: near ones, or how to list all."""
    near = get_close_matches(name, known, n=3, cutoff=0.5) or [k for k in known if name and name in k][:3]
    return f"did you mean {' or '.join(near)}?" if near else "type tools to list them"


def arguments_of(text: str) -> dict[str, Any]:
    """The JSON object after a tool's name.

    Raises:
        LineError: it is none.
    """
    try:
        given = read_json(text)
    except ValueError as error:
        raise LineError(f'the arguments are not JSON ({error}); write them as {{"name": "value"}}') from None
    if not isinstance(given, dict):
        raise LineError('the arguments must be a JSON object such as {"limit": 3}')
    return given


def asked(tool: Tool, ask: Callable[[str], str]) -> dict[str, Any]:
    """Required arguments, asked for one by one; an answer that does not fit is asked for again.

    Args:
        tool: whose arguments.
        ask: shows a prompt and returns what was typed.

    Raises:
        LineError: an empty answer, which takes the call back.
    """
    given: dict[str, Any] = {}
    for parameter in tool.parameters:
        problem = ""
        while parameter.required and parameter.name not in given:
            text = ask(f"  {problem}{parameter.name} ({kind_of(parameter.schema)}): ").strip()
            if not text:
                raise LineError(f"{tool.name} was not called")
            try:
                given[parameter.name] = value_of(parameter, text)
            except LineError as error:
                problem = f"{error}; "
    return given


def value_of(parameter: Parameter, text: str) -> Any:
    """What was typed, as the parameter's JSON type.

    Raises:
        LineError: it is none of that type.
    """
    if _is_text(parameter.schema):
        return text
    try:
        return read_json(text)
    except ValueError:
        raise LineError(f"that is no {kind_of(parameter.schema)}") from None


def kind_of(schema: Mapping[str, Any]) -> str:
    """A parameter's type in a few words: its choices, or the name of its JSON type."""
    if "enum" in schema:
        return " | ".join(str(value) for value in schema["enum"])
    if "const" in schema:
        return str(schema["const"])
    if "anyOf" in schema:
        return " or ".join(kind_of(each) for each in schema["anyOf"])
    if schema.get("type") == "array":
        return f"JSON list of {kind_of(schema.get('items', {}))}"
    return {"object": "JSON object", "string": "text"}.get(str(schema.get("type")), str(schema.get("type", "JSON")))


def _is_text(schema: Mapping[str, Any]) -> bool:
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    if values:
        return all(isinstance(value, str) for value in values)
    if "anyOf" in schema:
        return any(_is_text(each) for each in schema["anyOf"])
    return schema.get("type") == "string"
