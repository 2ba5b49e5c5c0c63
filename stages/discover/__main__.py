"""`python -m stages.discover`: find the tool dependency graph and draw chains from it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import networkx as nx

from stages.artifacts import DATA, REPORTS, replaced_directory, write_json, write_table
from stages.discover.edges import CHAINS, EDGES, Chain, Edge, edge_rows
from stages.discover.execution import Executor
from stages.discover.graph import build_graph, draw_chains, write_graphml
from stages.discover.judged import judge, merge
from stages.params import DiscoverParams, TeacherParams
from stages.stage import StageContext, run_stage
from stages.teacher.client import Teacher


def main(ctx: StageContext[DiscoverParams]) -> Sequence[Path]:
    """Run the pairs, ask the teacher, write edges, graph and chains."""
    params, catalog = ctx.params, ctx.catalog
    edges = asyncio.run(find_edges(ctx))
    graph = build_graph(catalog, edges, params.trust)
    chains = draw_chains(graph, params.chains, params.chain_length, ctx.seed)
    metrics = summary(graph, edges, chains)
    with replaced_directory(DATA / "graph") as target:
        write_table(target / "edges.parquet", EDGES, edge_rows(edges, params.trust), ctx.stamp)
        rows = [{"id": c.id, "server": c.server, "tools": c.tools, "labels": c.labels} for c in chains]
        write_table(target / "chains.parquet", CHAINS, rows, ctx.stamp)
        write_graphml(graph, target / "graph.graphml")
    write_json(REPORTS / "metrics" / "discover.json", metrics)
    ctx.log_metrics({key: value for key, value in metrics.items() if isinstance(value, int | float)})
    return [DATA / "graph", REPORTS / "metrics" / "discover.json"]


async def find_edges(ctx: StageContext[DiscoverParams]) -> list[Edge]:
    """The edges of every server, from execution and from the teacher."""
    asked = ctx.block(TeacherParams, "teacher")
    teacher = Teacher(asked)
    edges: list[Edge] = []
    with ctx.progress("Trying tool pairs", total=len(ctx.catalog.servers)) as bar:
        for server in ctx.catalog.servers.values():
            found = list(Executor(ctx.catalog, server, ctx.seed, ctx.params.bindings).edges())
            labels = await judge(teacher, server, ctx.params, asked.discover_temperature)
            edges += merge(server.name, found, labels)
            bar.advance(1)
    return edges


def summary(graph: nx.DiGraph, edges: Sequence[Edge], chains: Sequence[Chain]) -> dict[str, Any]:
    """Counts for the report: the whole graph, each server, and the teacher against execution."""
    executed = {(e.first, e.second) for e in edges if e.executed}
    judged = {(e.first, e.second) for e in edges if e.teacher}
    per_server: dict[str, dict[str, int]] = {}
    for edge in edges:
        row = per_server.setdefault(edge.server, {"explicit": 0, "implicit": 0, "chains": 0})
        row[edge.label] += graph.has_edge(edge.first, edge.second)
    for chain in chains:
        per_server[chain.server]["chains"] += 1
    return {
        "tools": graph.number_of_nodes(),
        "edges": graph.number_of_edges(),
        "explicit": sum(label == "explicit" for *_, label in graph.edges(data="label")),
        "implicit": sum(label == "implicit" for *_, label in graph.edges(data="label")),
        "chains": len(chains),
        "chain_lengths": {str(n): c for n, c in sorted(Counter(len(chain.tools) for chain in chains).items())},
        "tools_in_chains": len({name for chain in chains for name in chain.tools}),
        "teacher_precision": len(executed & judged) / max(1, len(judged)),
        "teacher_recall": len(executed & judged) / max(1, len(executed)),
        "per_server": per_server,
    }


if __name__ == "__main__":
    run_stage("discover", DiscoverParams, main)
