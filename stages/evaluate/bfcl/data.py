"""BFCL's multi-turn tasks, read from the installed package.

Gold calls are text such as `cd(folder='x')`; they are parsed as syntax, never evaluated, and only
literal arguments are let through. Positional arguments get their parameter's name from the official
method, so that every call here is a name and keywords.
"""

from __future__ import annotations

import ast
import copy
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module, metadata, util
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

from stages.evaluate.benchmark import BenchmarkUnavailableError
from stages.records import Json, ToolSpec, TruthCall

VERSION = "2026.3.23"
Category: TypeAlias = Literal["base", "miss_func", "miss_param", "long_context"]
CATEGORIES: tuple[Category, ...] = get_args(Category)

_SCHEMA_TYPES = {
    "dict": "object",
    "float": "number",
    "tuple": "array",
    "list": "array",
    "bool": "boolean",
    "any": "string",
}
_CURE = f"install it with `pip install --no-deps bfcl-eval=={VERSION} mpmath==1.3.0`"


@dataclass(frozen=True, slots=True)
class BfclTask:
    """One conversation: a user message a turn (None where a held-back tool arrives instead).

    `gold` has the reference calls of each turn; a turn without any must stay free of calls. `arrivals`
    names the tools that a turn brings; until then they are not on offer.
    """

    id: str
    category: Category
    turns: tuple[str | None, ...]
    gold: tuple[tuple[TruthCall, ...], ...]
    classes: tuple[str, ...]
    initial: Mapping[str, Any] = field(repr=False)
    arrivals: Mapping[int, tuple[str, ...]]

    @property
    def long_context(self) -> bool:
        """Whether the official classes pad their state and results."""
        return self.category == "long_context"


class BfclPackage:
    """The installed `bfcl-eval`: where its files are, and which module holds which class.

    Raises:
        BenchmarkUnavailableError: it is not installed, or it is of another version.
    """

    def __init__(self) -> None:
        found = util.find_spec("bfcl_eval")
        if found is None or found.origin is None:
            raise BenchmarkUnavailableError(f"BFCL needs the package bfcl-eval, which is not here: {_CURE}")
        if util.find_spec("mpmath") is None:
            raise BenchmarkUnavailableError(f"BFCL's arithmetic needs the package mpmath: {_CURE}")
        version = metadata.version("bfcl-eval")
        if version != VERSION:
            raise BenchmarkUnavailableError(
                f"BFCL figures stand on bfcl-eval {VERSION}, but {version} is here: {_CURE}"
            )
        self.data = Path(found.origin).parent / "data"
        backend = import_module("bfcl_eval.constants.executable_backend_config")
        self._modules: Mapping[str, str] = backend.CLASS_FILE_PATH_MAPPING
        self._documents: Mapping[str, str] = backend.MULTI_TURN_FUNC_DOC_FILE_MAPPING
        self.stateless: frozenset[str] = frozenset(backend.STATELESS_CLASSES)
        self._tools: dict[str, tuple[ToolSpec, ...]] = {}

    def class_of(self, name: str) -> type[Any]:
        """The official class, imported on first use."""
        return cast("type[Any]", getattr(import_module(self._modules[name]), name))

    def tools_of(self, name: str) -> tuple[ToolSpec, ...]:
        """The documented tools of a class, in the package's order."""
        if name not in self._tools:
            lines = _lines(self.data / "multi_turn_func_doc" / self._documents[name])
            self._tools[name] = tuple(_tool(line) for line in lines)
        return self._tools[name]

    @cached_property
    def tasks(self) -> tuple[BfclTask, ...]:
        """All 800 tasks, category by category."""
        return tuple(task for category in CATEGORIES for task in self._category(category))

    def _category(self, category: Category) -> list[BfclTask]:
        name = f"BFCL_v4_multi_turn_{category}.json"
        gold = {line["id"]: line["ground_truth"] for line in _lines(self.data / "possible_answer" / name)}
        return [self._task(category, line, gold[line["id"]]) for line in _lines(self.data / name)]

    def _task(self, category: Category, line: Mapping[str, Any], gold: Sequence[Sequence[str]]) -> BfclTask:
        if len(gold) != len(line["question"]) or any(len(turn) > 1 for turn in line["question"]):
            raise ValueError(f"{line['id']}: expected one user message and one gold list for each turn")
        owners = {tool.name: owner for owner in line["involved_classes"] for tool in self.tools_of(owner)}
        return BfclTask(
            id=line["id"],
            category=category,
            turns=tuple(turn[0]["content"] if turn else None for turn in line["question"]),
            gold=tuple(tuple(self._gold(call, owners) for call in turn) for turn in gold),
            classes=tuple(line["involved_classes"]),
            initial=line["initial_config"],
            arrivals={int(turn): tuple(names) for turn, names in line.get("missed_function", {}).items()},
        )

    def _gold(self, text: str, owners: Mapping[str, str]) -> TruthCall:
        name, positional, keywords = parse_call(text)
        if positional:
            method = getattr(self.class_of(owners[name]), name)
            keywords = {**_named(method, positional), **keywords}
        return TruthCall(name, keywords)


def parse_call(text: str) -> tuple[str, list[Json], dict[str, Json]]:
    """Name, positional and keyword arguments of a call written as Python, literals only.

    Raises:
        ValueError: the text is anything but a plain call of a plain name with literal arguments.
    """
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as wrong:
        raise ValueError(f"not a call: {text[:80]!r}") from wrong
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError(f"not a plain call: {text[:80]!r}")
    keywords: dict[str, Json] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise ValueError(f"not a plain keyword: {text[:80]!r}")
        keywords[keyword.arg] = ast.literal_eval(keyword.value)
    return node.func.id, [ast.literal_eval(argument) for argument in node.args], keywords


def _named(method: Any, positional: Sequence[Json]) -> dict[str, Json]:
    parameters = list(inspect.signature(method).parameters)[1:]  # without self
    return dict(zip(parameters, positional, strict=False))


def _lines(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _tool(document: Mapping[str, Any]) -> ToolSpec:
    schema = copy.deepcopy(document["parameters"])
    _to_json_schema(schema)
    return ToolSpec(document["name"], document["description"], schema)


def _to_json_schema(schema: dict[str, Any]) -> None:
    """Rewrite the package's Python type names as JSON Schema's, in place, as its own handlers do."""
    kind = schema.get("type", "string")
    if kind == "float":
        schema["format"] = "float"
        schema["description"] = f"{schema.get('description', '')} This is a float type value.".lstrip()
    schema["type"] = _SCHEMA_TYPES.get(kind, kind)
    for inner in schema.get("properties", {}).values():
        _to_json_schema(inner)
    if isinstance(schema.get("items"), dict):
        _to_json_schema(schema["items"])
