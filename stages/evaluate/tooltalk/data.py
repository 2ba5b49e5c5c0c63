"""ToolTalk's conversations and tools, read from the installed package.

A turn is what the user says until the assistant speaks, the reference calls, and the reference reply.
Words of the user after the last reply are not part of any turn: nobody answers them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module, metadata, util
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from stages.evaluate.benchmark import BenchmarkUnavailableError
from stages.records import Json, ToolSpec

VERSION = "26.3"
Category: TypeAlias = Literal["easy", "hard"]
CATEGORIES: tuple[Category, ...] = get_args(Category)

_CURE = f"install it with `pip install --no-deps nvidia-tooltalk=={VERSION}`"
_FOLDERS: Mapping[Category, str] = {"easy": "easy", "hard": "tooltalk"}


@dataclass(frozen=True, slots=True)
class GoldCall:
    """A reference call, and what it gave when the conversation was written."""

    name: str
    arguments: Mapping[str, Json]
    response: Json
    exception: str | None

    def official(self) -> dict[str, Any]:
        """The call in the package's form, in containers of its own."""
        return {
            "request": {"api_name": self.name, "parameters": dict(self.arguments)},
            "response": self.response,
            "exception": self.exception,
        }


@dataclass(frozen=True, slots=True)
class Turn:
    """What the user says, what the assistant should call, and what it then says."""

    said: tuple[str, ...]
    gold: tuple[GoldCall, ...]
    reply: str


@dataclass(frozen=True, slots=True)
class TooltalkTask:
    """One conversation, its place and time, and the user, who may be logged in."""

    id: str
    category: Category
    turns: tuple[Turn, ...]
    place: Mapping[str, Any]
    user: Mapping[str, Any] = field(repr=False)

    @property
    def gold(self) -> tuple[GoldCall, ...]:
        """All reference calls of the conversation, in order."""
        return tuple(call for turn in self.turns for call in turn.gold)


class TooltalkPackage:
    """The installed `nvidia-tooltalk`.

    Raises:
        BenchmarkUnavailableError: it is not installed, or it is of another version.
    """

    def __init__(self) -> None:
        found = util.find_spec("tooltalk")
        try:
            version = metadata.version("nvidia-tooltalk")
        except metadata.PackageNotFoundError:
            version = ""
        if found is None or found.origin is None or not version:
            raise BenchmarkUnavailableError(f"ToolTalk needs the package nvidia-tooltalk, which is not here: {_CURE}")
        if version != VERSION:
            raise BenchmarkUnavailableError(
                f"ToolTalk figures stand on nvidia-tooltalk {VERSION}, but {version} is here: {_CURE}"
            )
        self.data = Path(found.origin).parent / "data"

    @cached_property
    def tasks(self) -> tuple[TooltalkTask, ...]:
        """All 78 conversations, the easy ones first, by file name."""
        return tuple(
            _task(category, path)
            for category in CATEGORIES
            for path in sorted((self.data / _FOLDERS[category]).glob("*.json"))
        )

    @cached_property
    def tools(self) -> tuple[ToolSpec, ...]:
        """All 28 tools, which every turn offers; session tokens are the harness's business."""
        return tuple(_tool(api.to_openai_doc()) for api in import_module("tooltalk.apis").ALL_APIS)


def _task(category: Category, path: Path) -> TooltalkTask:
    loaded = json.loads(path.read_text(encoding="utf-8"))
    return TooltalkTask(
        id=f"{category}/{path.stem}",
        category=category,
        turns=tuple(_turns(loaded["conversation"])),
        place=loaded["metadata"],
        user=loaded.get("user") or {},
    )


def _turns(conversation: Sequence[Mapping[str, Any]]) -> Iterator[Turn]:
    said: list[str] = []
    for message in conversation:
        if message["role"] == "user":
            said.append(message["text"])
            continue
        gold = tuple(
            GoldCall(call["request"]["api_name"], call["request"]["parameters"], call["response"], call["exception"])
            for call in message.get("apis", ())
        )
        yield Turn(tuple(said), gold, message["text"])
        said = []


def _tool(document: Mapping[str, Any]) -> ToolSpec:
    """The package's own document, with the list of required parameters inside the schema, where it belongs."""
    schema = {**document["parameters"], "required": document["required"]}
    return ToolSpec(document["name"], document["description"], schema)
