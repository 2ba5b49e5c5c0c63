"""A tool: a typed function whose signature and docstring are its schema.

The first parameter is the session; the others become the JSON Schema's properties, and the return
type the output schema. Arguments are validated strictly: no coercion between JSON types (an integral
float is an integer, since JSON has one kind of number), unknown arguments refused, absent optional
ones left to the function's defaults.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Any, NotRequired, get_args, get_origin, get_type_hints

import docstring_parser
from annotated_types import Ge, Gt, Le, Lt
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from typing_extensions import TypedDict

from servers.kernel.errors import KernelFault, ToolError
from servers.kernel.types import Integral

MAX_INTEGER = 2**53
"""Integers beyond this are not exact in every JSON reader, so they are refused."""

MAX_TEXT = 20_000
"""Longest string argument, in characters, where a parameter states no limit of its own."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """What other rooms need to know of one parameter, read from its schema."""

    name: str
    schema: Mapping[str, Any]
    required: bool
    entity: str | None
    natural: bool
    sensitive: bool


class Tool:
    """One function as a tool.

    Args:
        function: the handler; its docstring holds a summary, advice on when to use it, `Args:` and
            `Raises:` (one line for each error code).
        read_only: it never changes state.
        destructive: it removes or overwrites something that can't be brought back.
        idempotent: a second identical call changes nothing more.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        read_only: bool,
        destructive: bool,
        idempotent: bool,
    ) -> None:
        doc = docstring_parser.parse(inspect.getdoc(function) or "", docstring_parser.DocstringStyle.GOOGLE)
        if not doc.short_description:
            raise TypeError(f"{function.__qualname__}: a tool needs a docstring that says when to use it")
        self.name = function.__name__
        self.handler = function
        self.read_only = read_only
        self.destructive = destructive
        self.idempotent = idempotent or read_only
        self.summary = " ".join(doc.short_description.split())
        self.description = " ".join([self.summary, *(doc.long_description or "").split()]).strip()
        self.error_codes = tuple(item.type_name or "" for item in doc.raises)
        hints = get_type_hints(function, include_extras=True)
        described = {item.arg_name: " ".join((item.description or "").split()) for item in doc.params}
        arguments = _arguments_adapter(function, hints, described)
        returned: TypeAdapter[Any] = TypeAdapter(hints["return"])
        self._validator, self._serializer = arguments.validator, returned.serializer
        self.input_schema = _tidy(arguments.json_schema())
        self.output_schema = _tidy(returned.json_schema(mode="serialization"))
        if self.output_schema.get("type") != "object":
            raise TypeError(f"{self.name}: a tool returns an object, not {self.output_schema.get('type')}")
        required = set(self.input_schema.get("required", ()))
        self.parameters = tuple(
            _parameter(name, schema, name in required)
            for name, schema in self.input_schema.get("properties", {}).items()
        )

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The validated arguments, ready to be passed to the handler.

        Raises:
            ToolError: `invalid_arguments`, naming each bad argument and what it should be.
        """
        try:
            validated: dict[str, Any] = self._validator.validate_python(given)
        except ValidationError as error:
            raise ToolError(KernelFault.INVALID_ARGUMENTS, self._repair(error)) from None
        return validated

    def render(self, result: Any) -> str:
        """A result as compact JSON text, absent values left out."""
        return self._serializer.to_json(result, exclude_none=True).decode()

    def _repair(self, error: ValidationError) -> str:
        names = [parameter.name for parameter in self.parameters]
        complaints = []
        for item in error.errors(include_url=False, include_context=False)[:5]:
            where = ".".join(ascii(part).strip("'")[:60] for part in item["loc"]) or "arguments"
            if item["type"] == "missing":
                complaints.append(f"required argument '{where}' is missing")
            elif item["type"] == "extra_forbidden":
                near = get_close_matches(where, names, n=1)
                advice = f"did you mean '{near[0]}'?" if near else f"it takes {', '.join(names) or 'none'}"
                complaints.append(f"there is no argument '{where}'; {advice}")
            else:
                given = item["input"]
                message = "leave it out instead" if given is None else item["msg"].removeprefix("Value error, ")
                complaints.append(f"'{where}': {message}, got {ascii(item['input'])[:60]}")
        return f"{self.name}: " + "; ".join(complaints)


def _arguments_adapter(
    function: Callable[..., Any], hints: Mapping[str, Any], described: Mapping[str, str]
) -> TypeAdapter[dict[str, Any]]:
    fields: dict[str, Any] = {}
    for position, parameter in enumerate(inspect.signature(function).parameters.values()):
        if position == 0:
            continue
        if parameter.name not in described:
            raise TypeError(f"{function.__name__}: parameter {parameter.name} is not described under Args:")
        kind = _bounded(_without_none(hints[parameter.name]))
        extras: dict[str, Any] = {"description": described[parameter.name]}
        if parameter.default is not inspect.Parameter.empty and parameter.default is not None:
            extras["json_schema_extra"] = {"default": parameter.default}
        kind = Annotated[kind, Field(**extras)]
        optional = parameter.default is not inspect.Parameter.empty
        fields[parameter.name] = NotRequired[kind] if optional else kind
    make_typed_dict: Any = TypedDict
    arguments = make_typed_dict(f"{function.__name__}_arguments", fields)
    arguments.__pydantic_config__ = ConfigDict(
        strict=True, extra="forbid", allow_inf_nan=False, str_max_length=MAX_TEXT
    )
    return TypeAdapter(arguments)


def _without_none(hint: Any) -> Any:
    """The type of a parameter that is given; leaving it out is what its default is for."""
    members = [member for member in get_args(hint) if member is not type(None)]
    if len(members) == 1 and type(None) in get_args(hint) and get_origin(hint) is not Annotated:
        return members[0]
    return hint


def _bounded(hint: Any) -> Any:
    """Give integers the one rule on their spelling, and a range where they state none."""
    base, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if base is not int:
        return hint
    bounds = {type(item) for extra in extras for item in _constraints(extra)}
    low = () if bounds & {Ge, Gt} else (Ge(-MAX_INTEGER),)
    high = () if bounds & {Le, Lt} else (Le(MAX_INTEGER),)
    return Annotated[(int, *extras, *low, *high, Integral)]


def _constraints(extra: Any) -> list[Any]:
    return list(extra.metadata) if isinstance(extra, FieldInfo) else [extra]


def _parameter(name: str, schema: Mapping[str, Any], required: bool) -> Parameter:
    typed = schema.get("items", schema) if schema.get("type") == "array" else schema
    return Parameter(
        name=name,
        schema=schema,
        required=required,
        entity=typed.get("x-entity"),
        natural=bool(typed.get("x-natural")),
        sensitive=bool(typed.get("x-sensitive")),
    )


def _is_nullable(schema: Any) -> bool:
    """Whether a field may be null, which in a result means that it is left out."""
    return isinstance(schema, dict) and {"type": "null"} in schema.get("anyOf", ())


_IMPLIED = (("minimum", -MAX_INTEGER), ("maximum", MAX_INTEGER), ("maxLength", MAX_TEXT), ("default", None))
"""Keywords that hold for every parameter or result, so that saying them tells a model nothing."""


def _tidy(schema: dict[str, Any]) -> dict[str, Any]:
    """Inline definitions, drop generated titles, implied limits and nulls (an absent value is left out)."""
    definitions = schema.pop("$defs", {})

    def walk(node: Any, properties: bool = False) -> Any:
        if isinstance(node, list):
            return [walk(item) for item in node]
        if not isinstance(node, dict):
            return node
        if _is_nullable(node):
            (present,) = [item for item in node["anyOf"] if item != {"type": "null"}]
            return walk({**{key: value for key, value in node.items() if key != "anyOf"}, **present})
        if "$ref" in node:
            target = definitions[node["$ref"].rsplit("/", 1)[1]]
            return walk({**target, **{key: value for key, value in node.items() if key != "$ref"}})
        out = {}
        absent = [] if properties else [k for k, v in node.get("properties", {}).items() if _is_nullable(v)]
        for key, value in node.items():
            if key == "required" and absent:
                value = [name for name in value if name not in absent]
            if not properties and (key == "title" or (key, value) in _IMPLIED):
                continue
            out[key] = walk(value, properties=key == "properties" and not properties)
        return out

    tidy: dict[str, Any] = walk(schema)
    return tidy
