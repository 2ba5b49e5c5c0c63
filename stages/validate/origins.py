"""The origin of each literal of an accepted conversation, and the table of them.

`data/dataset/provenance.parquet` has one row for each leaf value among the arguments of a ground-truth call:

- `user`, `result`: the user's message or the tool's result at index `message` holds the value;
- `default`: it is what the schema takes when the argument is left out;
- `choice`: the assistant was free to choose (how much of a list to read; a filter of a lookup).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from stages.artifacts import dump
from stages.records import Json

OriginKind: TypeAlias = Literal["user", "result", "default", "choice"]
Leaf: TypeAlias = str | float | bool | None


@dataclass(frozen=True, slots=True)
class Origin:
    """Where one literal comes from.

    `turn` and `call` place the ground-truth call, `argument` the value in it (`attendees[0].email`);
    `message` is the source's index in the conversation, or -1 where no message is one.
    """

    turn: int
    call: int
    tool: str
    argument: str
    value: Leaf
    source: OriginKind
    message: int = -1


PROVENANCE = pa.schema(
    [
        ("conversation", pa.string()),
        ("turn", pa.int64()),
        ("call", pa.int64()),
        ("tool", pa.string()),
        ("argument", pa.string()),
        ("value", pa.string()),
        ("source", pa.string()),
        ("message", pa.int64()),
    ]
)


def provenance_rows(conversation: str, origins: Iterable[Origin]) -> Iterator[dict[str, Any]]:
    """The table rows of one conversation; `value` is JSON text."""
    for item in origins:
        yield {
            "conversation": conversation,
            "turn": item.turn,
            "call": item.call,
            "tool": item.tool,
            "argument": item.argument,
            "value": dump(item.value),
            "source": item.source,
            "message": item.message,
        }


def leaves(path: str, value: Json | Mapping[str, Json]) -> Iterator[tuple[str, Leaf]]:
    """Every literal inside an argument, with its path."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(f"{path}.{key}", item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(f"{path}[{index}]", item)
    else:
        yield path, value
