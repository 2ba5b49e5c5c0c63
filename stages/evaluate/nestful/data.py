"""NESTFUL's tasks and tools, read from the installed package's files; none of its code is imported.

The last step of each gold sequence, `var_result`, is no call: it picks outputs under names that its
annotator chose freely. No answer could match it, so it is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata, util
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from stages.evaluate.benchmark import BenchmarkUnavailableError
from stages.records import Json, ToolSpec, TruthCall

VERSION = "0.1.7"
Category: TypeAlias = Literal["executable", "glaive", "sgd"]
CATEGORIES: tuple[Category, ...] = get_args(Category)

_CURE = f"install it with `pip install --no-deps nestful-wrapper=={VERSION}`"
_FILES: Mapping[Category, str] = {
    "executable": "executable/executable",
    "glaive": "non-executable/non-executable-glaive",
    "sgd": "non-executable/non-executable-sgd",
}
_RESULT = "var_result"
_TYPES = ("string", "number", "integer", "boolean", "array", "object")
_KEPT = ("description", "enum", "default", "minimum", "maximum", "format")


@dataclass(frozen=True, slots=True)
class NestfulTask:
    """One request, the tools of its source, and the gold sequence with variables in it."""

    id: str
    category: Category
    question: str
    gold: tuple[TruthCall, ...]
    tools: tuple[ToolSpec, ...] = field(repr=False)


class NestfulPackage:
    """The installed `nestful-wrapper`.

    Raises:
        BenchmarkUnavailableError: it is not installed, or it is of another version.
    """

    def __init__(self) -> None:
        found = util.find_spec("nestful")
        try:
            version = metadata.version("nestful-wrapper")
        except metadata.PackageNotFoundError:
            version = ""
        if found is None or found.origin is None or not version:
            raise BenchmarkUnavailableError(f"NESTFUL needs the package nestful-wrapper, which is not here: {_CURE}")
        if version != VERSION:
            raise BenchmarkUnavailableError(
                f"NESTFUL figures stand on nestful-wrapper {VERSION}, but {version} is here: {_CURE}"
            )
        self._data = Path(found.origin).parent.parent / "data_v1"

    @cached_property
    def tasks(self) -> tuple[NestfulTask, ...]:
        """All 300 tasks, source by source."""
        return tuple(task for category in CATEGORIES for task in self._category(category))

    def _category(self, category: Category) -> list[NestfulTask]:
        tools = tuple(_tool(entry) for entry in self._read(category, "spec"))
        return [
            NestfulTask(f"{category}_{index}", category, entry["input"], tuple(_gold(entry["output"])), tools)
            for index, entry in enumerate(self._read(category, "data"))
        ]

    def _read(self, category: Category, kind: str) -> list[dict[str, Any]]:
        loaded: list[dict[str, Any]] = json.loads(
            (self._data / f"{_FILES[category]}-{kind}.json").read_text(encoding="utf-8")
        )
        return loaded


def _gold(steps: Sequence[Mapping[str, Any]]) -> Iterator[TruthCall]:
    for step in steps:
        if step["name"] != _RESULT:
            yield TruthCall(step["name"], step["arguments"])


def _tool(entry: Mapping[str, Any]) -> ToolSpec:
    """A tool whose description also names its outputs, which the next call may need."""
    parameters = entry["query_parameters"]
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {name: _parameter(value) for name, value in parameters.items()},
        "required": [name for name, value in parameters.items() if value.get("required")],
    }
    outputs = ", ".join(_outputs(entry["output_parameters"]))
    return ToolSpec(entry["name"], f"{entry['description'].rstrip('.')}. Returns: {outputs}.", schema)


def _parameter(value: Mapping[str, Any]) -> dict[str, Json]:
    kind = value.get("type", "string")
    schema: dict[str, Json] = {"type": kind if kind in _TYPES else "string"}
    schema |= {key: value[key] for key in _KEPT if key in value}
    if allowed := value.get("allowed_values"):
        schema["enum"] = list(allowed)
    if kind == "array":
        schema["items"] = value.get("items", {})
    if "properties" in value:
        schema["properties"] = value["properties"]
    return schema


def _outputs(parameters: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Names of outputs, dotted where they are nested, as a variable refers to them."""
    for name, value in parameters.items():
        yield f"{prefix}{name}"
        if isinstance(value, Mapping) and isinstance(value.get("properties"), Mapping):
            yield from _outputs(value["properties"], f"{prefix}{name}.")
