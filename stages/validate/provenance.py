"""Where each argument comes from: what the user said, what an earlier result showed, or a choice.

A literal that appears in neither source was imagined. Secrets must be found word for word. An identifier
conflicts with the request if the user named another thing of its kind that no call of the turn touches.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from servers.kernel.catalog import Catalog
from servers.kernel.tool import Parameter
from stages.artifacts import dump
from stages.conversations import Conversation
from stages.records import Json, TruthCall
from stages.sampling import LABELS, shown_entities, strings, walk
from stages.validate.reasons import Reason, Rejection

SECRET_NAME = re.compile(r"pass(word|code)|token|pin$|cvv|card_number|secret", re.IGNORECASE)
"""Names of parameters that hold secrets, whether or not the schema marks them."""

PAGE_ARGUMENTS = ("limit", "offset")
"""How much of a list is read is the assistant's own choice."""

SECRET_LENGTH = 3
NUMBER = re.compile(r"\d+(?:\.\d+)?")


class Sources:
    """What has been said and shown up to a call."""

    def __init__(self) -> None:
        self.said = ""
        self.results: list[str] = []
        self.labels: dict[str, dict[str, str]] = {}

    @property
    def text(self) -> str:
        """All of it as one casefolded text."""
        return "\n".join([self.said, *self.results]).casefold()

    def add_result(self, catalog: Catalog, name: str, result: str) -> None:
        """Take in a tool's result, and the labels of the things that it shows."""
        self.results.append(result)
        tool = catalog.entry(name).tool
        parsed = json.loads(result)
        for entity in shown_entities(tool):
            for seen in walk(tool, parsed, entity):
                label = next((str(seen.shown[key]) for key in LABELS if seen.shown.get(key)), "")
                if label and seen.shown.get("id", seen.id) == seen.id:
                    self.labels.setdefault(entity, {})[seen.id] = label


def check_provenance(catalog: Catalog, conversation: Conversation) -> Rejection | None:
    """The first ground-truth argument that no source justifies, or None.

    Tools and arguments that do not exist are left to the replay.
    """
    sources = Sources()
    for number, turn in enumerate(conversation.turns):
        request = conversation.messages[turn.start].content
        sources.said += f"\n{request}"
        touched = {value for call in turn.truth for value in strings(call.arguments)}
        results: dict[tuple[str, str], list[str]] = {}
        for ran in turn.calls:
            if ran.ok:
                results.setdefault((ran.name, dump(ran.arguments)), []).append(ran.result)
        for call in turn.truth:
            if call.name not in catalog.entries:
                continue
            rejection = _check_call(catalog, call, sources, request, touched)
            if rejection is not None:
                return Rejection(rejection.reason, f"turn {number}, {rejection.detail}")
            shown = results.get((call.name, dump(call.arguments)))
            if shown:
                sources.add_result(catalog, call.name, shown.pop(0))
    return None


def _check_call(
    catalog: Catalog, call: TruthCall, sources: Sources, request: str, touched: set[str]
) -> Rejection | None:
    tool = catalog.entry(call.name).tool
    parameters = {p.name: p for p in tool.parameters}
    text = sources.text
    for name, value in call.arguments.items():
        parameter = parameters.get(name)
        if parameter is None or (tool.read_only and name in PAGE_ARGUMENTS):
            continue
        where = f"{call.name}({name}={json.dumps(value)[:80]})"
        if parameter.sensitive or SECRET_NAME.search(name):
            for secret in strings(value):
                if len(secret) >= SECRET_LENGTH and secret.casefold() not in text:
                    return Rejection(Reason.UNTRACED_SECRET, f"{where}: nobody gave this value")
        elif not all(_traced(leaf, text) for leaf in _leaves(value)):
            return Rejection(Reason.UNTRACED_ARGUMENT, f"{where}: neither the user nor a result has this value")
        if parameter.entity is not None:
            other = _conflict(parameter, value, sources, request, touched)
            if other:
                return Rejection(Reason.CONFLICTING_SOURCE, f"{where}: the user named {other!r}")
    return None


def _conflict(parameter: Parameter, value: Json, sources: Sources, request: str, touched: set[str]) -> str:
    """Another thing of the same kind that the request names and the turn leaves alone; '' if none."""
    labels = sources.labels.get(parameter.entity or "", {})
    said = request.casefold()
    chosen = [labels[key] for key in strings(value) if key in labels]
    if not chosen or any(label.casefold() in said for label in chosen):
        return ""
    named = [label for key, label in labels.items() if key not in touched and _mentions(said, label)]
    return named[0] if named and not any(label in named for label in chosen) else ""


def _mentions(said: str, label: str) -> bool:
    return len(label) > SECRET_LENGTH and re.search(rf"\b{re.escape(label.casefold())}\b", said) is not None


def _traced(leaf: str | float | bool | None, text: str) -> bool:
    if leaf is None or isinstance(leaf, bool):
        return True
    if isinstance(leaf, int | float):
        return any(abs(float(found) - abs(leaf)) < 1e-9 for found in NUMBER.findall(text))
    plain = leaf.casefold()
    return plain in text or json.dumps(plain)[1:-1] in text or plain.replace("_", " ") in text


def _leaves(value: Json) -> Iterator[str | float | bool | None]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield value
