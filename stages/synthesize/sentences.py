"""The pieces of a request: a phrasing, what fills it, and what is left unsaid."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from servers.kernel.dice import Dice
from servers.kernel.requests import placeholders
from servers.kernel.tool import Parameter, Tool
from stages.records import Json
from stages.sampling import Binding


@dataclass(frozen=True, slots=True)
class Sentence:
    """One thing that the user asks for.

    `parents` names the holders of things that the phrasing alone does not place.
    """

    tool: str
    ask: str
    values: Mapping[str, str]
    parents: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()


def sentence_for(tool: Tool, binding: Binding, carried: Collection[str]) -> Sentence:
    """The sentence that asks for a binding; things among `carried` (ids) were just spoken of."""
    values: dict[str, str] = {}
    parents: list[str] = []
    for name, argument in binding.arguments.items():
        things = binding.things.get(name, ())
        for shown in shown_fields(binding.ask, name):
            values[f"{name}.{shown}"] = " and ".join(str(thing.shown[shown]) for thing in things)
        values[name] = spoken(argument)
        if "enum" in parameter_of(tool, name).schema:
            values[name] = values[name].replace("_", " ")
        fresh = [thing for thing in things if thing.id not in carried]
        parents += [parent.label for thing in fresh for parent in thing.parents]
    said = " ".join([binding.ask, *values.values()]).casefold()
    unsaid = tuple(dict.fromkeys(label for label in parents if label.casefold() not in said))
    return Sentence(tool.name, binding.ask, values, unsaid)


def spoken(argument: Json) -> str:
    """A literal argument as a person says it."""
    if isinstance(argument, bool):
        return "yes" if argument else "no"
    if isinstance(argument, list):
        return " and ".join(spoken(item) for item in argument)
    if isinstance(argument, dict):
        return ", ".join(f"{key} {spoken(value)}" for key, value in argument.items())
    return str(argument)


def parameter_of(tool: Tool, name: str) -> Parameter:
    """A tool's parameter by its name."""
    return next(p for p in tool.parameters if p.name == name)


def shown_fields(ask: str, parameter: str) -> list[str]:
    """Every field that a phrasing shows of one identifier."""
    return re.findall(r"\{" + re.escape(parameter) + r"\.(\w+)\}", ask)


def withheld(tool: Tool, sentence: Sentence, level: str, dice: Dice, elsewhere: Collection[str]) -> dict[str, str]:
    """Required values that the request mentions and leaves unsaid: all of them when minimal, else one.

    What another sentence says (`elsewhere`) cannot be withheld, nor can one of a few words that the phrasing
    is built around (an enum).
    """
    wanted = placeholders(sentence.ask)
    options = {}
    for parameter in tool.parameters:
        if parameter.required and parameter.name in wanted and "enum" not in parameter.schema:
            fields = [f"{parameter.name}.{field}" for field in shown_fields(sentence.ask, parameter.name)]
            values = [sentence.values[key] for key in fields or [parameter.name]]
            if not any(value in said for value in values for said in elsewhere):
                options[parameter.name] = ", ".join(values)
    if level != "minimal" and options:
        name = dice.choice(sorted(options))
        return {name: options[name]}
    return options
