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
Pair: TypeAlias = tuple[str, str]
"""The names of the tool that comes first and of the one that depends on it."""


@dataclass(slots=True)
class Edge:
    """A dependency of tool `second` on tool `first` within one server.

    `label` is what running the tools says. `schema`: entity types say so. `trace`: runs of `first` wrote to
    tables that runs of `second` read. `executed`: `second` failed with `error_code` without `first` and worked
    after it. `teacher`: the teacher's label, with its `reason`. `parameter` is the input of `second` that
    `first` fills (explicit edges), `evidence` the calls that decided in words.
    """

    server: str
    first: str
    second: str
    label: Label
    parameter: str = ""
    schema: bool = False
    trace: bool = False
    executed: bool = False
    teacher: Label | Literal[""] = ""
    error_code: str = ""
    evidence: str = ""
    reason: str = ""

    @property
    def pair(self) -> Pair:
        """The two tools."""
        return self.first, self.second

    def verdict(self, trust: Trust) -> Label | None:
        """The label that the evidence that counts gives the edge, or None when it gives none."""
        proved = self.label if self.executed else None
        claimed = self.teacher or None
        match trust:
            case "executed":
                return proved
            case "teacher":
                return claimed
            case "both":
                return proved if proved == claimed else None


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
        ("evidence", pa.string()),
        ("reason", pa.string()),
        ("prompt", pa.string()),
        ("verdict", pa.string()),
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


def edge_rows(edges: Sequence[Edge], trust: Trust, prompt: str) -> list[dict[str, Any]]:
    """Edges as table rows, each with the digest of the teacher's prompt and the verdict under the given trust."""
    return [{**asdict(edge), "prompt": prompt, "verdict": edge.verdict(trust) or "none"} for edge in edges]


def chain_from(row: Mapping[str, Any]) -> Chain:
    """The chain of a table row."""
    return Chain(row["id"], row["server"], tuple(row["tools"]), tuple(row["labels"]))
