"""A tool in one short line, as a small model can afford to read it.

transfer_money(source_account_id: account_id, amount: number, note?: string) - Move money between accounts
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from stages.records import Json, ToolSpec

_MAX_DEPTH = 4
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])")


def signature(tool: ToolSpec, *, described: bool = True) -> str:
    """Name, parameters with types (`?` marks optional ones) and, if `described`, the description's first sentence."""
    summary = first_sentence(tool.description) if described else ""
    head = f"{tool.name}({_fields(tool.parameters, 0)})"
    return f"{head} - {summary}" if summary else head


def first_sentence(description: str) -> str:
    """The first sentence on one line, without its full stop."""
    paragraph = description.strip().split("\n\n", 1)[0]
    return _SENTENCE.split(" ".join(paragraph.split()), maxsplit=1)[0].removesuffix(".")


def _fields(schema: Mapping[str, Json], depth: int) -> str:
    properties = schema.get("properties")
    required = schema.get("required")
    needed = required if isinstance(required, list | tuple) else ()
    known: Mapping[str, Json] = properties if isinstance(properties, Mapping) else {}
    return ", ".join(f"{k}{'' if k in needed else '?'}: {_type(v, depth)}" for k, v in known.items())


def _type(schema: Json, depth: int) -> str:
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return "any"
    entity, values = schema.get("x-entity"), schema.get("enum")
    kind, form = schema.get("type"), schema.get("format")
    items = schema.get("items")
    options = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(values, list) and values:
        return "|".join(v if isinstance(v, str) else json.dumps(v) for v in values)
    if kind == "array":
        inner = entity if isinstance(entity, str) else _type(items, depth + 1)
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if isinstance(entity, str):
        return entity
    if isinstance(options, list):
        return "|".join(dict.fromkeys(_type(o, depth + 1) for o in options))
    if kind == "object" and schema.get("properties"):
        return "{" + _fields(schema, depth + 1) + "}"
    if isinstance(kind, list):
        return "|".join(str(k) for k in kind)
    if kind == "string" and isinstance(form, str):
        return form
    return kind if isinstance(kind, str) else "any"
