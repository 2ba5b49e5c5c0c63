"""Where each argument comes from: what the user said, what an earlier result showed, or a free choice.

A literal without any such origin was imagined. A call may rest on the messages before its own: parallel calls
don't see each other's results. Secrets must stand letter by letter in one of them, whatever their length. A
flag or an enum's value that nobody mentioned is free only in a lookup; a call that changes something may take
the schema's default, and else needs the user, or an error that asked for the flag, to name it. An identifier
conflicts with the request if the user named another thing of its kind that no call of the turn touches.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from servers.kernel.catalog import Catalog
from servers.kernel.tool import Parameter, Tool
from stages.artifacts import dump
from stages.conversations import Conversation, Turn
from stages.records import ExecutedCall, Json
from stages.sampling import LABELS, shown_entities, strings, walk
from stages.validate.origins import Leaf, Origin, OriginKind, leaves
from stages.validate.reasons import Reason, Rejection
from stages.validate.sources import Source, occurs, sources_of

SECRET_NAME = re.compile(r"pass(word|code)|token|pin$|cvv|card_number|secret", re.IGNORECASE)
"""Names of parameters that hold secrets, whether or not the schema marks them."""

PAGE_ARGUMENTS = ("limit", "offset")
"""How much of a list is read is the assistant's own choice."""

SHORTEST_LABEL = 4
"""Letters of a name from which on its mention in a request counts as naming the thing."""


Place: TypeAlias = tuple[OriginKind, int]
"""A kind of origin and the index of the message, or -1."""


@dataclass(frozen=True, slots=True)
class _Scene:
    """One call, and what was known when it was made: sources (the user's first), errors, names of things."""

    tool: Tool
    arguments: Mapping[str, Json]
    sources: Sequence[Source]
    errors: Sequence[Source]
    request: str
    touched: frozenset[str]
    labels: Mapping[str, Mapping[str, str]]


def check_provenance(catalog: Catalog, conversation: Conversation) -> Rejection | None:
    """The first ground-truth argument that nothing justifies, or None."""
    found = trace(catalog, conversation)
    return found if isinstance(found, Rejection) else None


def trace(catalog: Catalog, conversation: Conversation) -> tuple[Origin, ...] | Rejection:
    """The origin of every literal of the ground truth, or the first that has none.

    Tools and arguments that do not exist are left to the replay.
    """
    sources = sources_of(conversation)
    users_first = sorted((s for s in sources if not s.failed), key=lambda source: source.kind != "user")
    labels: dict[str, dict[str, str]] = {}
    origins: list[Origin] = []
    for number, turn in enumerate(conversation.turns):
        touched = frozenset(value for call in turn.truth for value in strings(call.arguments))
        for index, (call, ran) in enumerate(zip(turn.truth, _made(turn), strict=True)):
            if call.name not in catalog.entries:
                continue
            before = ran.position if ran else len(conversation.messages)
            scene = _Scene(
                catalog.entry(call.name).tool,
                call.arguments,
                [source for source in users_first if source.message < before],
                [source for source in sources if source.failed and source.message < before],
                conversation.messages[turn.start].content,
                touched,
                labels,
            )
            made = _origins(scene, number, index)
            if isinstance(made, Rejection):
                return Rejection(made.reason, f"turn {number}, {made.detail}")
            origins += made
            if ran:
                _add_labels(labels, catalog, ran)
    return tuple(origins)


def _made(turn: Turn) -> list[ExecutedCall | None]:
    """For each call of the ground truth, the call that was made; None if there is none."""
    ran: dict[tuple[str, str], list[ExecutedCall]] = {}
    for call in turn.calls:
        if call.ok:
            ran.setdefault((call.name, dump(call.arguments)), []).append(call)
    keys = [(call.name, dump(call.arguments)) for call in turn.truth]
    return [ran[key].pop(0) if ran.get(key) else None for key in keys]


def _add_labels(labels: dict[str, dict[str, str]], catalog: Catalog, call: ExecutedCall) -> None:
    """Take in the names of the things that a result shows."""
    tool = catalog.entry(call.name).tool
    parsed = json.loads(call.result)
    for entity in shown_entities(tool):
        for seen in walk(tool, parsed, entity):
            label = next((str(seen.shown[key]) for key in LABELS if seen.shown.get(key)), "")
            if label and seen.shown.get("id", seen.id) == seen.id:
                labels.setdefault(entity, {})[seen.id] = label


def _origins(scene: _Scene, turn: int, call: int) -> list[Origin] | Rejection:
    parameters = {p.name: p for p in scene.tool.parameters}
    made = []
    for name, value in scene.arguments.items():
        parameter = parameters.get(name)
        if parameter is None:
            continue
        for path, leaf in leaves(name, value):
            where = f"{scene.tool.name}({path}={json.dumps(leaf, ensure_ascii=False)[:80]})"
            secret = parameter.sensitive or bool(SECRET_NAME.search(name))
            origin = _secret(scene, leaf) if secret else _plain(scene, parameter, leaf)
            if origin is None and secret:
                return Rejection(Reason.UNTRACED_SECRET, f"{where}: nobody gave this value")
            if origin is None:
                return Rejection(Reason.UNTRACED_ARGUMENT, f"{where}: neither the user nor a result has this value")
            made.append(Origin(turn, call, scene.tool.name, path, leaf, *origin))
        other = _conflict(scene, parameter, value)
        if other:
            return Rejection(
                Reason.CONFLICTING_SOURCE,
                f"{scene.tool.name}({name}={json.dumps(value)[:80]}): the user named {other!r}",
            )
    return made


def _secret(scene: _Scene, leaf: Leaf) -> Place | None:
    return next(((s.kind, s.message) for s in scene.sources if s.has_exactly(leaf)), None)


def _plain(scene: _Scene, parameter: Parameter, leaf: Leaf) -> Place | None:
    for source in scene.sources:
        if source.has(leaf):
            return source.kind, source.message
    named = _named_flag(scene, parameter.name) if leaf is True else None
    if named:
        return named
    if "default" in parameter.schema and parameter.schema["default"] == leaf:
        return "default", -1
    closed = isinstance(leaf, bool) or "enum" in parameter.schema
    if scene.tool.read_only and (closed or parameter.name in PAGE_ARGUMENTS):
        return "choice", -1
    return None


def _named_flag(scene: _Scene, name: str) -> Place | None:
    """The user's message that has a word of the flag's name, or the error that asked for the flag."""
    words = [word for word in name.casefold().split("_") if len(word) >= SHORTEST_LABEL]
    for source in scene.sources:
        if source.kind == "user" and any(word in source.folded for word in words):
            return "user", source.message
    for error in scene.errors:
        if error.tool == scene.tool.name and occurs(name, error.text):
            return "result", error.message
    return None


def _conflict(scene: _Scene, parameter: Parameter, value: Json) -> str:
    """Another thing of the same kind that the request names and the turn leaves alone; '' if none."""
    labels = scene.labels.get(parameter.entity or "", {})
    said = scene.request.casefold()
    chosen = [labels[key] for key in strings(value) if key in labels]
    if not chosen or any(label.casefold() in said for label in chosen):
        return ""
    named = [label for key, label in labels.items() if key not in scene.touched and _mentions(said, label)]
    return named[0] if named and not any(label in named for label in chosen) else ""


def _mentions(said: str, label: str) -> bool:
    return len(label) >= SHORTEST_LABEL and occurs(label.casefold(), said)
