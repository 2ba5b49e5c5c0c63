"""The dataset: what training and evaluation read.

`data/dataset/{train,val,test}.parquet` hold RL rows, one for each user turn, with the earlier messages and
the calls to replay before it; `sft.parquet` holds whole training conversations; `rejected.parquet` what was
refused and why.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from stages.artifacts import dump
from stages.conversations import Kind, message_from, truth_from
from stages.records import Json, Message, ToolSpec, TruthCall

Split: TypeAlias = Literal["train", "val", "test"]


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """A call to run in a fresh session before the row's turn; an empty name is a user turn."""

    name: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class RlRow:
    """One user turn to be answered by a policy.

    `messages` is the prefix up to and with the turn's user message (no system message), `replay` brings a
    fresh session of `world` to the state at that moment, `truth` is what the turn should call, `state_hash`
    the state after the ground truth, and `required` the results (JSON text) of its reads that nothing else
    builds on: what the user wanted to learn.
    """

    id: str
    conversation: str
    turn: int
    kind: Kind
    server: str
    world: int
    tools: tuple[ToolSpec, ...]
    messages: tuple[Message, ...]
    replay: tuple[ReplayStep, ...]
    truth: tuple[TruthCall, ...]
    state_hash: str
    required: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SftRow:
    """One whole conversation to imitate; `learn` marks the assistant messages that carry loss."""

    id: str
    kind: Kind
    server: str
    tools: tuple[ToolSpec, ...]
    messages: tuple[Message, ...]
    learn: tuple[bool, ...]


RL_ROWS = pa.schema(
    [
        ("id", pa.string()),
        ("conversation", pa.string()),
        ("turn", pa.int64()),
        ("kind", pa.string()),
        ("server", pa.string()),
        ("world", pa.int64()),
        ("tools", pa.string()),
        ("messages", pa.string()),
        ("replay", pa.string()),
        ("truth", pa.string()),
        ("state_hash", pa.string()),
        ("required", pa.string()),
    ]
)

SFT_ROWS = pa.schema(
    [
        ("id", pa.string()),
        ("kind", pa.string()),
        ("server", pa.string()),
        ("tools", pa.string()),
        ("messages", pa.string()),
        ("learn", pa.list_(pa.bool_())),
    ]
)

REJECTED = pa.schema(
    [
        ("id", pa.string()),
        ("kind", pa.string()),
        ("server", pa.string()),
        ("reason", pa.string()),
        ("detail", pa.string()),
    ]
)

_AS_TEXT = ("tools", "messages", "replay", "truth", "required")


def row_to_plain(row: RlRow | SftRow) -> dict[str, Any]:
    """A row as it stands in its table."""
    return {name: dump(value) if name in _AS_TEXT else value for name, value in asdict(row).items()}


def rl_row(plain: Mapping[str, Any]) -> RlRow:
    """The RL row of a table row."""
    return RlRow(
        **{
            **{name: plain[name] for name in RL_ROWS.names if name not in _AS_TEXT},
            **_texts(plain),
            "replay": tuple(ReplayStep(**item) for item in json.loads(plain["replay"])),
            "truth": tuple(truth_from(item) for item in json.loads(plain["truth"])),
            "required": tuple(json.loads(plain["required"])),
        }
    )


def sft_row(plain: Mapping[str, Any]) -> SftRow:
    """The SFT row of a table row."""
    return SftRow(plain["id"], plain["kind"], plain["server"], **_texts(plain), learn=tuple(plain["learn"]))


def _texts(plain: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "tools": tuple(ToolSpec(**item) for item in json.loads(plain["tools"])),
        "messages": tuple(message_from(item) for item in json.loads(plain["messages"])),
    }
