"""The tool graph as networkx sees it, its GraphML export, and the chains drawn from it."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import networkx as nx

from servers.kernel.catalog import Catalog
from servers.kernel.dice import Dice
from stages.discover.edges import Chain, Edge, Label, Trust

DRAWS_PER_CHAIN = 20
"""Walks tried for each chain that is wanted, before the graph counts as exhausted."""


def build_graph(catalog: Catalog, edges: Sequence[Edge], trust: Trust) -> nx.DiGraph:
    """All tools as nodes, and the trusted edges between them."""
    graph = nx.DiGraph()
    for name, entry in catalog.entries.items():
        graph.add_node(name, server=entry.server.name, read_only=entry.tool.read_only)
    for edge in edges:
        label = edge.verdict(trust)
        if label:
            parameter = edge.parameter if label == "explicit" else ""
            graph.add_edge(edge.first, edge.second, label=label, parameter=parameter, error_code=edge.error_code)
    return graph


def write_graphml(graph: nx.DiGraph, path: Path) -> None:
    """Write the graph for other programs."""
    nx.write_graphml(graph, path, named_key_ids=True)


def draw_chains(graph: nx.DiGraph, count: int, length: tuple[int, int], seed: int) -> list[Chain]:
    """Up to `count` different simple paths with at least one explicit edge.

    Each step prefers tools that earlier chains used least, so that rare tools are covered too.
    """
    dice = Dice(seed, "chains")
    used: Counter[str] = Counter()
    found: dict[tuple[str, ...], Chain] = {}
    starts = [name for name in graph if graph.out_degree(name)]
    if not starts:
        return []
    for _ in range(count * DRAWS_PER_CHAIN):
        if len(found) >= count:
            break
        path = _walk(graph, dice, used, starts, dice.integer(*length))
        labels: tuple[Label, ...] = tuple(graph.edges[a, b]["label"] for a, b in itertools.pairwise(path))
        if len(path) >= length[0] and "explicit" in labels and tuple(path) not in found:
            server = str(graph.nodes[path[0]]["server"])
            found[tuple(path)] = Chain(f"chain-{len(found):05d}", server, tuple(path), labels)
            used.update(path)
    return list(found.values())


def _walk(graph: nx.DiGraph, dice: Dice, used: Counter[str], starts: Sequence[str], length: int) -> list[str]:
    path = [_rare(dice, used, starts)]
    while len(path) < length:
        options = sorted(name for name in graph.successors(path[-1]) if name not in path)
        if not options:
            break
        path.append(_rare(dice, used, options))
    return path


def _rare(dice: Dice, used: Counter[str], names: Sequence[str]) -> str:
    return dice.weighted(names, [1.0 / (1 + used[name]) ** 2 for name in names])
