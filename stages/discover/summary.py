"""What `reports/metrics/discover.json` holds: sizes of the graph, and the teacher against execution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import networkx as nx

from stages.discover.agreement import Disagreement, foremost, scores
from stages.discover.edges import Chain, Edge
from stages.discover.judged import PROMPT_DIGEST, Opinion

SHOWN_PER_SERVER = 2
"""Disagreements of each server that the report shows; the table has them all."""


def summary(
    graph: nx.DiGraph,
    chains: Sequence[Chain],
    edges: Sequence[Edge],
    opinions: Mapping[str, Opinion],
    found: Sequence[Disagreement],
) -> dict[str, Any]:
    """Counts for the report: the whole graph, each server, and the teacher against execution."""
    labels = Counter(label for *_, label in graph.edges(data="label"))
    by_server = Counter((graph.nodes[a]["server"], label) for a, _, label in graph.edges(data="label"))
    drawn = Counter(chain.server for chain in chains)
    unanswered = {name: {frozenset(pair) for pair in opinion.unanswered} for name, opinion in opinions.items()}
    overall = {k: score.row() for k, score in scores(edges, set().union(*unanswered.values())).items()}
    return {
        "tools": graph.number_of_nodes(),
        "edges": graph.number_of_edges(),
        "explicit": labels["explicit"],
        "implicit": labels["implicit"],
        "chains": len(chains),
        "chain_lengths": {str(n): c for n, c in sorted(Counter(len(chain.tools) for chain in chains).items())},
        "tools_in_chains": len({name for chain in chains for name in chain.tools}),
        "teacher_precision": overall["both"]["precision"],
        "teacher_recall": overall["both"]["recall"],
        "teacher_f1": overall["both"]["f1"],
        "teacher": {
            "prompt": PROMPT_DIGEST,
            "pairs": sum(len(opinion.claims) + len(opinion.unanswered) for opinion in opinions.values()),
            "unanswered": sum(len(opinion.unanswered) for opinion in opinions.values()),
            **overall,
        },
        "per_server": {
            name: {
                "explicit": by_server[name, "explicit"],
                "implicit": by_server[name, "implicit"],
                "chains": drawn[name],
                "unanswered": len(opinion.unanswered),
                "teacher": {
                    kind: score.row()
                    for kind, score in scores((e for e in edges if e.server == name), unanswered[name]).items()
                },
            }
            for name, opinion in opinions.items()
        },
        "disagreements": {
            "count": len(found),
            "kinds": dict(sorted(Counter(item.kind for item in found).items())),
            "foremost": [asdict(item) for item in foremost(found, SHOWN_PER_SERVER)],
        },
    }
