"""The tool graph: edges and chains of each server, and the teacher's word on them against execution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stages.report.blocks import Block, Cell, Facts, Note, Table, number
from stages.report.inputs import Inputs
from stages.report.plots import Plotter

RATIOS = ("precision", "recall", "f1")
KINDS = ("explicit", "implicit", "both")


def build(inputs: Inputs, plots: Plotter) -> Sequence[Block]:
    """Sizes, edges by kind for each server, the teacher's scores, and where it is wrong."""
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
        *_teacher(metrics),
    ]


def _teacher(metrics: Mapping[str, Any]) -> Sequence[Block]:
    asked, differ = metrics["teacher"], metrics["disagreements"]
    scores = [(name, *_ratios(row["teacher"]), row["unanswered"]) for name, row in metrics["per_server"].items()]
    scores.append(("all", *_ratios(asked), asked["unanswered"]))
    shown = [
        (
            item["server"],
            item["first"],
            item["second"],
            item["teacher"],
            item["executed"],
            item["evidence"],
            item["reason"],
        )
        for item in differ["foremost"]
    ]
    return [
        Note(
            f"The teacher was asked about {asked['pairs']:,} pairs (prompt {asked['prompt']}) and left "
            f"{asked['unanswered']:,} unanswered; those count on neither side. Against what running the tools shows, "
            f"it is wrong on {differ['count']:,} ordered pairs."
        ),
        Table(
            "Teacher against execution: precision, recall, F1 (both: an edge of either kind)",
            ["server", *(f"{kind} {ratio}" for kind in KINDS for ratio in RATIOS), "unanswered"],
            scores,
        ),
        Table(
            "Disagreements by kind (teacher's label, executed label)", ["kind", "pairs"], list(differ["kinds"].items())
        ),
        Table(
            "Foremost disagreements of each server (all of them: data/graph/disagreements.parquet)",
            ["server", "first", "second", "teacher", "executed", "evidence", "teacher's reason"],
            shown,
            folded=True,
        ),
    ]


def _ratios(scores: Mapping[str, Mapping[str, float | None]]) -> list[Cell]:
    return [number(scores[kind][ratio], 2) for kind in KINDS for ratio in RATIOS]
