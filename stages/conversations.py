"""The conversation: what synthesis writes, validation checks and training reads.

`data/conversations/conversations.parquet` holds one row for each conversation; its columns are the
fields below, with structured values as canonical JSON text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from stages.artifacts import dump
from stages.records import ExecutedCall, Json, Message, ToolCall, ToolSpec, TruthCall

Kind: TypeAlias = Literal["multi_turn", "clarification", "abstention"]
Information: TypeAlias = Literal["complete", "missing", "minimal"]


@dataclass(frozen=True, slots=True)
class Transition:
    """One step of the state machine."""

    state: str
    event: str
    target: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One user turn: where it begins in the messages, what was called, and the ground truth.

    `start` is the index of the turn's user message; the turn ends before the next turn's start.
    """

    start: int
    calls: tuple[ExecutedCall, ...]
    truth: tuple[TruthCall, ...]
    state_hash: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """One synthesized conversation with everything that it was made from.

    `chain` names the tools that seeded it, `server` their server; `tools` are the visible ones, as shown
    after perturbations (enums may be stripped). `world` is the seed number of the session.
    """

    id: str
    kind: Kind
    server: str
    chain: tuple[str, ...]
    world: int
    persona: str
    information: Information
    perturbations: tuple[str, ...]
    tools: tuple[ToolSpec, ...]
    messages: tuple[Message, ...]
    turns: tuple[Turn, ...]
    context: Mapping[str, Json]
    transitions: tuple[Transition, ...]
    teacher: str
    cost: float
    reference_date: str

    def turn_messages(self, index: int) -> Sequence[Message]:
        """The messages of one turn, from its user message on."""
        end = self.turns[index + 1].start if index + 1 < len(self.turns) else len(self.messages)
        return self.messages[self.turns[index].start : end]


CONVERSATIONS = pa.schema(
    [
        ("id", pa.string()),
        ("kind", pa.string()),
        ("server", pa.string()),
        ("chain", pa.list_(pa.string())),
        ("world", pa.int64()),
        ("persona", pa.string()),
        ("information", pa.string()),
        ("perturbations", pa.list_(pa.string())),
        ("tools", pa.string()),
        ("messages", pa.string()),
        ("turns", pa.string()),
        ("context", pa.string()),
        ("transitions", pa.string()),
        ("teacher", pa.string()),
        ("cost", pa.float64()),
        ("reference_date", pa.string()),
    ]
)

_AS_TEXT = ("tools", "messages", "turns", "context", "transitions")


def to_row(conversation: Conversation) -> dict[str, Any]:
    """The conversation as a table row."""
    row = _plain(conversation)
    return {name: dump(value, _plain) if name in _AS_TEXT else value for name, value in row.items()}


def from_row(row: Mapping[str, Any]) -> Conversation:
    """The conversation of a table row."""
    values = {name: json.loads(row[name]) if name in _AS_TEXT else row[name] for name in CONVERSATIONS.names}
    return Conversation(
        **{
            **values,
            "chain": tuple(values["chain"]),
            "perturbations": tuple(values["perturbations"]),
            "tools": tuple(ToolSpec(**item) for item in values["tools"]),
            "messages": tuple(message_from(item) for item in values["messages"]),
            "turns": tuple(_turn(item) for item in values["turns"]),
            "transitions": tuple(Transition(**item) for item in values["transitions"]),
        }
    )


def message_from(item: Mapping[str, Any]) -> Message:
    """A message of its plain form."""
    calls = tuple(ToolCall(**call) for call in item["tool_calls"])
    return Message(item["role"], item["content"], calls, item["tool_call_id"])


def truth_from(item: Mapping[str, Any]) -> TruthCall:
    """A ground-truth call of its plain form."""
    return TruthCall(item["name"], item["arguments"], tuple(item["depends_on"]))


def _plain(record: Any) -> dict[str, Any]:
    """The fields of a record by their names."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _turn(item: Mapping[str, Any]) -> Turn:
    return Turn(
        item["start"],
        tuple(ExecutedCall(**call) for call in item["calls"]),
        tuple(truth_from(call) for call in item["truth"]),
        item["state_hash"],
    )
