"""Where the tools of a server stand in the drawing: dependencies run from left to right.

Tools that need each other share a column; otherwise a tool stands right of all that it depends on (the longest path
in the graph of strongly connected components). Within a column the order follows the middle of a tool's neighbours,
swept a few times each way, as in Sugiyama's method. Whole numbers and sorted names only: the same graph is drawn
the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import networkx as nx

Cell: TypeAlias = tuple[int, int]
"""Column and row."""

SWEEPS = 6
TALLEST = 12
"""Tools in a column; a longer one is broken into several."""


def layered(tools: Iterable[str], edges: Iterable[tuple[str, str]]) -> dict[str, Cell]:
    """The cell of each tool; tools without edges fill columns of their own at the end."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(sorted(tools))
    graph.add_edges_from(sorted((a, b) for a, b in edges if a != b))
    alone = [name for name in graph if graph.degree(name) == 0]
    graph.remove_nodes_from(alone)
    columns = _ordered(graph, _columns(graph))
    broken = [part for column in [*columns, alone] for part in _broken(column)]
    return {name: (x, y) for x, column in enumerate(broken) for y, name in enumerate(column)}


def _columns(graph: nx.DiGraph[str]) -> list[list[str]]:
    parts = nx.condensation(graph)
    depth: dict[int, int] = {}
    for part in nx.topological_sort(parts):
        depth[part] = max((depth[before] + 1 for before in parts.predecessors(part)), default=0)
    columns: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for part, level in depth.items():
        columns[level] += parts.nodes[part]["members"]
    return [sorted(column) for column in columns]


def _ordered(graph: nx.DiGraph[str], columns: list[list[str]]) -> list[list[str]]:
    for sweep in range(SWEEPS):
        forward = sweep % 2 == 0
        rank = {name: row / max(1, len(column) - 1) for column in columns for row, name in enumerate(column)}
        near = graph.pred if forward else graph.succ
        for column in columns if forward else reversed(columns):
            middle = {name: _middle(near[name], rank, rank[name]) for name in column}
            column[:] = [name for _, name in sorted((at, name) for name, at in middle.items())]
            rank |= {name: row / max(1, len(column) - 1) for row, name in enumerate(column)}
    return columns


def _middle(around: Iterable[str], rank: Mapping[str, float], own: float) -> float:
    ranks = [rank[name] for name in around]
    return round(sum(ranks) / len(ranks), 9) if ranks else own


def _broken(column: Sequence[str]) -> list[Sequence[str]]:
    return [column[start : start + TALLEST] for start in range(0, len(column), TALLEST)]
