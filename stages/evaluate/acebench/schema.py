"""From a documented API to the tool that a model sees: JSON Schema types instead of ACEBench's own names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stages.evaluate.acebench.data import parameters_of
from stages.records import ToolSpec

_TYPES = {
    "dict": "object",
    "list": "array",
    "tuple": "array",
    "float": "number",
    "int": "integer",
    "bool": "boolean",
    "any": "string",
}


def tool_of(api: Mapping[str, Any]) -> ToolSpec:
    """The tool of a documented API."""
    schema = _schema(parameters_of(api))
    parameters = {"type": "object", "properties": schema.get("properties", {}), "required": schema.get("required", [])}
    return ToolSpec(str(api["name"]), str(api.get("description", "")), parameters)


def _schema(part: Any) -> Any:
    if isinstance(part, list):
        return [_schema(entry) for entry in part]
    if not isinstance(part, dict):
        return part
    return {
        key: _TYPES.get(value, value) if key == "type" and isinstance(value, str) else _schema(value)
        for key, value in part.items()
    }
