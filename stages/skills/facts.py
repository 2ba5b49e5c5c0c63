"""What a judge of behaviour has to know of each tool, taken from the catalogue: whether it reads, what it needs, what
its result shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from servers.kernel.catalog import Catalog, Entry
from servers.kernel.tool import Parameter
from stages.records import Json
from stages.sampling import shown_entities
from stages.validate.provenance import SECRET_NAME

UNSET = object()
"""Stands for the default of a parameter that has none."""


@dataclass(frozen=True)
class ParameterFacts:
    """One parameter of a tool.

    `entity` is the kind of identifier that it takes ("" if none), `natural` whether people know it by heart,
    `kind` its JSON type, `options` the values of its enum.
    """

    name: str
    required: bool
    entity: str
    natural: bool
    sensitive: bool
    kind: str
    options: tuple[str, ...] = ()
    default: object = field(default=UNSET, compare=False)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of the name, without the `id` at its end."""
        return tuple(self.name.removesuffix("_ids").removesuffix("_id").split("_"))


@dataclass(frozen=True, eq=False)
class ToolFacts:
    """One tool, equal to itself alone. `produces` are the kinds of identifier that its result can hold."""

    name: str
    server: str
    read_only: bool
    idempotent: bool
    parameters: tuple[ParameterFacts, ...]
    produces: frozenset[str]

    @cached_property
    def by_name(self) -> dict[str, ParameterFacts]:
        """The parameters by their names."""
        return {parameter.name: parameter for parameter in self.parameters}

    @cached_property
    def needs(self) -> frozenset[str]:
        """The kinds of identifier that must be given."""
        return frozenset(p.entity for p in self.parameters if p.required and p.entity)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of the name."""
        return tuple(self.name.split("_"))


class Facts(dict[str, ToolFacts]):
    """The facts of all tools, by name."""

    def __init__(self, tools: Iterable[ToolFacts]) -> None:
        super().__init__((tool.name, tool) for tool in tools)


def facts_of(catalog: Catalog) -> Facts:
    """The facts of a catalogue's tools."""
    return Facts(_tool(entry) for entry in catalog.entries.values())


def identifiers(tool: ToolFacts, arguments: object) -> Sequence[str]:
    """The identifiers among a call's arguments."""
    if not isinstance(arguments, dict):
        return ()
    found: list[str] = []
    for name, value in arguments.items():
        parameter = tool.by_name.get(name)
        if parameter is not None and parameter.entity:
            found += [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)]
    return found


def _tool(entry: Entry) -> ToolFacts:
    tool = entry.tool
    parameters = tuple(_parameter(parameter) for parameter in tool.parameters)
    produces = frozenset(shown_entities(tool))
    return ToolFacts(tool.name, entry.server.name, tool.read_only, tool.idempotent, parameters, produces)


def _parameter(parameter: Parameter) -> ParameterFacts:
    schema = parameter.schema
    options: Sequence[Json] = schema.get("enum", ())
    return ParameterFacts(
        parameter.name,
        parameter.required,
        parameter.entity or "",
        parameter.natural,
        parameter.sensitive or bool(SECRET_NAME.search(parameter.name)),
        str(schema.get("type", "")),
        tuple(str(option) for option in options),
        schema.get("default", UNSET),
    )
