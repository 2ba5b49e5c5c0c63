"""Where each value of a call comes from, for any call: those of a policy too, which no check has passed.

The rules are those of `stages.validate.provenance`; a value without an origin is shown as such, not refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from stages.records import Json
from stages.validate.origins import Leaf, OriginKind, leaves
from stages.validate.provenance import PAGE_ARGUMENTS, SECRET_NAME, SHORTEST_LABEL
from stages.validate.sources import Source, occurs

Place: TypeAlias = tuple[OriginKind | Literal["nowhere"], int]
"""A kind of origin and the index of the message that is it, or -1."""


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """What the origin of a value depends on: a tool's parameters, and whether it only reads."""

    parameters: Mapping[str, Mapping[str, Any]]
    read_only: bool


def tool_facts(row: Mapping[str, Any]) -> ToolFacts:
    """The facts of a row of the catalogue's table of tools."""
    return ToolFacts(json.loads(row["input_schema"]).get("properties", {}), row["read_only"])


class Tracer:
    """Remembers what was said and shown, and finds values in it: the user goes before results, earlier before later."""

    def __init__(self, tools: Mapping[str, ToolFacts]) -> None:
        self._tools = tools
        self._users: list[Source] = []
        self._results: list[Source] = []
        self._errors: list[Source] = []
        self._searched: dict[tuple[type, Leaf, bool], _Search] = {}

    def user(self, message: int, text: str) -> None:
        """Take in what the user said."""
        self._users.append(Source("user", message, text))

    def result(self, message: int, text: str, tool: str, *, failed: bool) -> None:
        """Take in what a tool answered."""
        (self._errors if failed else self._results).append(Source("result", message, text, tool, failed))

    def origins(self, tool: str, arguments: Mapping[str, Json]) -> Iterator[tuple[str, Leaf, Place]]:
        """Every literal of a call with its path and its origin."""
        facts = self._tools.get(tool, ToolFacts({}, False))
        for name, value in arguments.items():
            schema = facts.parameters.get(name, {})
            for path, leaf in leaves(name, value):
                yield path, leaf, self._origin(tool, facts, name, schema, leaf)

    def _origin(self, tool: str, facts: ToolFacts, name: str, schema: Mapping[str, Any], leaf: Leaf) -> Place:
        secret = bool(schema.get("x-sensitive") or SECRET_NAME.search(name))
        found = self._find(leaf, exactly=secret)
        if found:
            return found.kind, found.message
        if secret:
            return "nowhere", -1
        flagged = self._named_flag(tool, name) if leaf is True else None
        if flagged:
            return flagged.kind, flagged.message
        if "default" in schema and schema["default"] == leaf:
            return "default", -1
        free = isinstance(leaf, bool) or "enum" in schema or name in PAGE_ARGUMENTS
        return ("choice", -1) if facts.read_only and free else ("nowhere", -1)

    def _find(self, leaf: Leaf, *, exactly: bool) -> Source | None:
        search = self._searched.setdefault((type(leaf), leaf, exactly), _Search())
        return search.among(self._users, self._results, leaf, exactly=exactly)

    def _named_flag(self, tool: str, name: str) -> Source | None:
        words = [word for word in name.casefold().split("_") if len(word) >= SHORTEST_LABEL]
        said = (source for source in self._users if any(word in source.folded for word in words))
        asked = (source for source in self._errors if source.tool == tool and occurs(name, source.text))
        return next(said, None) or next(asked, None)


class _Search:
    """One value's search, which goes on where it stopped: a long episode reads each message once for each value."""

    def __init__(self) -> None:
        self._user: Source | None = None
        self._result: Source | None = None
        self._users_read = self._results_read = 0

    def among(self, users: list[Source], results: list[Source], leaf: Leaf, *, exactly: bool) -> Source | None:
        if self._user is None:
            self._user = _first(users[self._users_read :], leaf, exactly=exactly)
            self._users_read = len(users)
        if self._user is None and self._result is None:
            self._result = _first(results[self._results_read :], leaf, exactly=exactly)
            self._results_read = len(results)
        return self._user or self._result


def _first(sources: list[Source], leaf: Leaf, *, exactly: bool) -> Source | None:
    return next((s for s in sources if (s.has_exactly(leaf) if exactly else s.has(leaf))), None)
