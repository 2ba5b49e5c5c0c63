"""R_validity: does each call name a visible tool, fit its schema, and run?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stages.records import ExecutedCall, Json, ToolSpec

# A schema or a value nested deeper than this does not fit: no honest tool needs it.
_MAX_DEPTH = 64


def validity(levels: Sequence[int]) -> float:
    """Mean over calls of level / 3; 0 without calls."""
    return sum(levels) / (3 * len(levels)) if levels else 0.0


def call_level(call: ExecutedCall, visible: Mapping[str, ToolSpec]) -> int:
    """How far a call got, 0 to 3, each level presupposing the one before.

    1: its name is a visible tool; 2: required arguments are present, JSON types fit, nothing is unknown;
    3: it was executed and succeeded.
    """
    tool = visible.get(call.name)
    if tool is None:
        return 0
    if call.arguments is None or not arguments_fit(call.arguments, tool.parameters):
        return 1
    return 3 if call.executed and call.ok else 2


def arguments_fit(arguments: Mapping[str, Json], schema: Mapping[str, Json]) -> bool:
    """Whether arguments have the names and JSON types of a tool's parameter schema.

    Only names and types are judged, at every depth: enums, ranges and formats are the live tool's to
    refuse, as the visible schema may have been stripped of them.
    """
    return _object_fits(arguments, schema, schema, closed=True, depth=0)


def _object_fits(
    value: Mapping[str, Json], schema: Mapping[str, Json], root: Mapping[str, Json], *, closed: bool, depth: int
) -> bool:
    properties = schema.get("properties")
    known: Mapping[str, Json] = properties if isinstance(properties, Mapping) else {}
    required = schema.get("required")
    if isinstance(required, list | tuple) and any(key not in value for key in required):
        return False
    extra = schema.get("additionalProperties")
    for key, item in value.items():
        rule = known.get(key, extra if isinstance(extra, Mapping) else None)
        if rule is None and key not in known:
            if extra is False or (closed and extra is not True):
                return False
            continue
        if not _fits(item, rule, root, depth + 1):
            return False
    return True


def _fits(value: Json, schema: Json, root: Mapping[str, Json], depth: int) -> bool:
    if depth > _MAX_DEPTH or schema is False:
        return False
    if not isinstance(schema, Mapping):
        return True
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _fits(value, _resolve(reference, root), root, depth + 1)
    for keyword in ("anyOf", "oneOf"):
        options = schema.get(keyword)
        if isinstance(options, list) and not any(_fits(value, o, root, depth + 1) for o in options):
            return False
    allowed = schema.get("type")
    names = [allowed] if isinstance(allowed, str) else allowed
    if isinstance(names, list) and not any(_has_type(value, name) for name in names):
        return False
    if isinstance(value, Mapping):
        return _object_fits(value, schema, root, closed=False, depth=depth)
    items = schema.get("items")
    if isinstance(value, list) and items is not None:
        return all(_fits(item, items, root, depth + 1) for item in value)
    return True


def _has_type(value: Json, name: Json) -> bool:
    """JSON Schema 2020-12 types: 5.0 is an integer, a boolean is no number."""
    if isinstance(value, bool):
        return name == "boolean"
    if isinstance(value, int):
        return name in ("integer", "number")
    if isinstance(value, float):
        return name == "number" or (name == "integer" and value.is_integer())
    if value is None:
        return name == "null"
    if isinstance(value, str):
        return name == "string"
    return name == ("object" if isinstance(value, Mapping) else "array")


def _resolve(reference: str, root: Mapping[str, Json]) -> Json:
    """The part of the schema that a local JSON pointer names; True (anything fits) if there is none."""
    node: Json = dict(root)
    for part in filter(None, reference.removeprefix("#").split("/")):
        if not isinstance(node, Mapping) or part not in node:
            return True
        node = node[part]
    return node
