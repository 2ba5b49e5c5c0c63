"""What the teacher thinks of each pair: 20 pairs a request, answered as JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from servers.kernel.server import ToolServer
from servers.kernel.tool import Tool
from stages.discover.edges import Edge, Label
from stages.params import DiscoverParams
from stages.records import Message
from stages.sampling import shown_entities
from stages.teacher.client import Teacher, TeacherError

PROMPT = """\
You see pairs of tools of one server. For each pair say how they depend on each other:
"explicit" if an output of one is a required input of the other, "implicit" if one has to run first to
establish state that the other needs, "none" otherwise. "direction" is "forward" if the first tool comes
first, "backward" if the second does. Answer with a JSON list only, one object for each pair, in order:
[{"first": name, "second": name, "label": "explicit|implicit|none", "direction": "forward|backward"}]"""


class Verdict(BaseModel):
    """The teacher's view of one pair."""

    first: str
    second: str
    label: str
    direction: str


_VERDICTS = TypeAdapter(list[Verdict])


async def judge(
    teacher: Teacher,
    server: ToolServer,
    params: DiscoverParams,
    temperature: float,
) -> dict[tuple[str, str], str]:
    """The teacher's label for each ordered pair that it calls dependent; unreadable answers count as none."""
    pairs = list(combinations(server.tools.values(), 2))
    size = params.pairs_per_request
    batches = [pairs[start : start + size] for start in range(0, len(pairs), size)]

    async def ask(batch: Sequence[tuple[Tool, Tool]]) -> list[Verdict]:
        content = json.dumps([{"first": _brief(a), "second": _brief(b)} for a, b in batch])
        messages = [Message("system", PROMPT), Message("user", content)]
        try:
            answer = await teacher.complete(messages, script={"role": "edges"}, temperature=temperature)
            return _VERDICTS.validate_json(answer.message.content)
        except (TeacherError, ValidationError):
            return []

    labels: dict[tuple[str, str], str] = {}
    known = {frozenset((a.name, b.name)) for a, b in pairs}
    for verdicts in await asyncio.gather(*(ask(batch) for batch in batches)):
        for verdict in verdicts:
            if verdict.label in ("explicit", "implicit") and frozenset((verdict.first, verdict.second)) in known:
                pair = (verdict.first, verdict.second)
                labels[pair if verdict.direction == "forward" else pair[::-1]] = verdict.label
    return labels


def merge(server: str, edges: Sequence[Edge], labels: Mapping[tuple[str, str], str]) -> list[Edge]:
    """The edges with the teacher's labels, and those that only the teacher sees."""
    found = {(edge.first, edge.second): edge for edge in edges}
    for (first, second), label in sorted(labels.items()):
        edge = found.get((first, second))
        if edge is not None:
            edge.teacher = label
        else:
            kind: Label = "explicit" if label == "explicit" else "implicit"
            found[first, second] = Edge(server, first, second, kind, teacher=label)
    return [found[pair] for pair in sorted(found)]


def _brief(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "summary": tool.summary,
        "requires": sorted({p.entity for p in tool.parameters if p.required and p.entity}),
        "returns": sorted(shown_entities(tool)),
        "read_only": tool.read_only,
    }
