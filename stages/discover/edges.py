"""Edges of the tool graph, each with every piece of evidence for it.

An edge A → B is *explicit* when an output of A is a required input of B, and *implicit* when A has to run
first to establish the state that B needs (PROVE, section 2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

import pyarrow as pa

Label: TypeAlias = Literal["explicit", "implicit"]
Trust: TypeAlias = Literal["executed", "teacher", "both"]


@dataclass(slots=True)
class Edge:
    """A dependency of tool `second` on tool `first` within one server.

    `schema`: entity types say so. `trace`: a run of `first` wrote rows that a run of `second` read.
    `executed`: `second` failed without `first` and worked after it. `teacher`: the teacher's label.
    `parameter` is the input of `second` that `first` fills (explicit edges).
    """

    server: str
    first: str
    second: str
    label: Label
    parameter: str = ""
    schema: bool = False
    trace: bool = False
    executed: bool = False
    teacher: str = ""
    error_code: str = ""

    def trusted(self, trust: Trust) -> bool:
        """Whether the evidence that counts supports the edge."""
        by_teacher = self.teacher == self.label
        return {"executed": self.executed, "teacher": by_teacher, "both": self.executed and by_teacher}[trust]


@dataclass(frozen=True, slots=True)
class Chain:
    """A path of 2 to 5 tools of one server with at least one explicit edge."""

    id: str
    server: str
    tools: tuple[str, ...]
    labels: tuple[Label, ...] = field(default=())


EDGES = pa.schema(
    [
        ("server", pa.string()),
        ("first", pa.string()),
        ("second", pa.string()),
        ("label", pa.string()),
        ("parameter", pa.string()),
        ("schema", pa.bool_()),
        ("trace", pa.bool_()),
        ("executed", pa.bool_()),
        ("teacher", pa.string()),
        ("error_code", pa.string()),
        ("verdict", pa.bool_()),
    ]
)

CHAINS = pa.schema(
    [
        ("id", pa.string()),
        ("server", pa.string()),
        ("tools", pa.list_(pa.string())),
        ("labels", pa.list_(pa.string())),
    ]
)


def edge_rows(edges: Sequence[Edge], trust: Trust) -> list[dict[str, Any]]:
    """Edges as table rows, each with the verdict under the given trust."""
    return [{**asdict(edge), "verdict": edge.trusted(trust)} for edge in edges]


def chain_from(row: Mapping[str, Any]) -> Chain:
    """The chain of a table row."""
    return Chain(row["id"], row["server"], tuple(row["tools"]), tuple(row["labels"]))
