"""The tool graph: how many edges of each kind, and the chains drawn from it, for each server."""

from __future__ import annotations

from collections.abc import Sequence

from stages.report.blocks import Block, Facts, Table, number
from stages.report.inputs import Inputs
from stages.report.plots import Plotter


def build(inputs: Inputs, plots: Plotter) -> Sequence[Block]:
    """Sizes, edges by kind for each server, and how the teacher's word compares with execution."""
    metrics = inputs.metrics("discover")
    servers = metrics["per_server"]
    facts = Facts(
        [(name, f"{metrics[name]:,}") for name in ("tools", "edges", "explicit", "implicit", "chains")]
        + [
            ("tools in chains", f"{metrics['tools_in_chains']:,}"),
            ("teacher's precision", number(metrics["teacher_precision"], 2)),
            ("teacher's recall", number(metrics["teacher_recall"], 2)),
        ]
    )
    figure = plots.bars(
        "edges",
        "Edges of each server: explicit ones pass a value on, implicit ones change whether the next call works",
        list(servers),
        {kind: [row[kind] for row in servers.values()] for kind in ("explicit", "implicit")},
    )
    rows = [(name, row["explicit"], row["implicit"], row["chains"]) for name, row in servers.items()]
    lengths = list(metrics["chain_lengths"].items())
    return [
        facts,
        figure,
        Table("Edges and chains", ["server", "explicit", "implicit", "chains"], rows),
        Table("Chains by length", ["tools", "chains"], lengths),
    ]
