"""What crosses from one stage to the next: the records of an episode and of its ground truth.

Everything here is a frozen value. Free-form JSON (tool arguments, tool results) stays plain Python
data, and becomes JSON text in the columnar files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it: plain name, description, JSON Schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that an assistant message asks for.

    `arguments` is None when the model's text could not be read as a JSON object; `raw` then holds
    what it wrote, and `error` says what is wrong with it.
    """

    id: str
    name: str
    arguments: Mapping[str, Json] | None
    raw: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation, in the field's usual four roles."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""


@dataclass(frozen=True, slots=True)
class TruthCall:
    """One ground-truth call, with the indices of the earlier calls that it depends on."""

    name: str
    arguments: Mapping[str, Json]
    depends_on: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ExecutedCall:
    """One call of an episode and what became of it.

    `position` is the index of the assistant message that carried it, so parallel calls share one.
    `infrastructure` marks a failure that is not the model's: such an episode is masked.
    """

    name: str
    arguments: Mapping[str, Json] | None
    position: int
    executed: bool
    ok: bool
    result: str = ""
    error_code: str = ""
    infrastructure: bool = False


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """One finished episode: what was said, which calls ran, and where the state ended."""

    messages: tuple[Message, ...]
    calls: tuple[ExecutedCall, ...]
    state_hash: str
    stop: Literal["answered", "rounds", "length", "deadline", "infrastructure"]
    extra: Mapping[str, Json] = field(default_factory=dict)
