"""What each server covers, counted from its schemas: the table that `servers/README.md` holds.

A tool *feeds* another one if its result can show an identifier of a kind that the other requires. An
identifier that a tool requires itself is none of its outputs, so that reading a thing's details twice is no
progress. The chain follows from the types alone; which edges hold when the tools run is for discovery to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import networkx as nx

from servers.kernel.catalog import Catalog
from servers.kernel.errors import HarnessError
from servers.kernel.server import ToolServer, make_world
from servers.kernel.tool import Tool

LONGEST = 5
"""Tools after which a chain is no longer followed: training uses chains of 2 to 5."""

BEGIN, END = "<!-- coverage -->", "<!-- /coverage -->"
"""What encloses the table in a Markdown file."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """One server in numbers; `chain` is its longest chain of tools, the first one in the order of the tools."""

    server: str
    tools: int
    entities: frozenset[str]
    error_codes: int
    seed_rows: int
    chain: tuple[str, ...]


def server_coverage(server: ToolServer, seed: int = 0) -> Coverage:
    """Count what a server has; the rows are those of the world of this seed number."""
    tools = server.tools.values()
    rows = make_world([server], seed).rows.tables.values()
    return Coverage(
        server=server.name,
        tools=len(tools),
        entities=frozenset(kind for tool in tools for kind in shown_kinds(tool) | _required_kinds(tool)),
        error_codes=len(server.faults),
        seed_rows=sum(len(table) for table in rows),
        chain=longest_chain(feeding_graph(server)),
    )


def feeding_graph(server: ToolServer) -> nx.DiGraph:
    """A server's tools, with an edge from each tool to those that it feeds."""
    graph = nx.DiGraph()
    graph.add_nodes_from(server.tools)
    for first in server.tools.values():
        outputs = shown_kinds(first) - _required_kinds(first)
        feeds = (t for t in server.tools.values() if t is not first and outputs & _required_kinds(t))
        graph.add_edges_from((first.name, second.name) for second in feeds)
    return graph


def longest_chain(graph: nx.DiGraph, bound: int = LONGEST) -> tuple[str, ...]:
    """The first of the longest simple paths of at most `bound` nodes; one node if there is no edge."""
    best: tuple[str, ...] = ()
    for start in graph:
        best = best or (start,)
        for path in nx.all_simple_paths(graph, start, set(graph) - {start}, cutoff=bound - 1):
            best = max(best, tuple(path), key=len)
            if len(best) == bound:
                return best
    return best


def shown_kinds(tool: Tool) -> set[str]:
    """The kinds of identifier that a tool's result can hold."""
    return set(_kinds(tool.output_schema))


def coverage_table(catalog: Catalog) -> str:
    """All servers as a Markdown table, with a last row of totals."""
    lines = [
        "| server | tools | entities | error codes | seed rows | longest chain |",
        "|---|--:|--:|--:|--:|---|",
    ]
    rows = [server_coverage(server) for server in catalog.servers.values()]
    for row in rows:
        chain = f"{len(row.chain)}: {' → '.join(row.chain)}"
        kinds = len(row.entities)
        lines.append(f"| {row.server} | {row.tools} | {kinds} | {row.error_codes} | {row.seed_rows:,} | {chain} |")
    tools, codes, seeds = (sum(getattr(row, name) for row in rows) for name in ("tools", "error_codes", "seed_rows"))
    kinds = len(frozenset().union(*(row.entities for row in rows)))
    lines.append(f"| **{len(rows)} servers** | **{tools}** | **{kinds}** | **{codes}** | **{seeds:,}** | |")
    return "\n".join(lines)


def with_table(text: str, table: str) -> str:
    """A Markdown text with the table between its two markers.

    Raises:
        HarnessError: the markers are missing, doubled or the wrong way round.
    """
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in head + tail:
        raise HarnessError(f"the text must hold {BEGIN} and, after it, {END}, once each")
    return f"{head}{BEGIN}\n{table}\n{END}{tail}"


def _required_kinds(tool: Tool) -> set[str]:
    return {p.entity for p in tool.parameters if p.required and p.entity}


def _kinds(schema: Mapping[str, Any]) -> Iterator[str]:
    if "x-entity" in schema:
        yield str(schema["x-entity"])
    for child in schema.get("properties", {}).values():
        yield from _kinds(child)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from _kinds(schema[key])
