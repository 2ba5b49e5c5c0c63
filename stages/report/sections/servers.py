"""The environments: size and health of each server, and what kinds of tools it offers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from stages.report.blocks import Block, Note, Table
from stages.report.inputs import Inputs
from stages.report.plots import Plotter


def build(inputs: Inputs, plots: Plotter) -> Sequence[Block]:
    """A row for each server, and its tools by kind as a picture."""
    rows = inputs.metrics("bootstrap")["servers"]
    tools = inputs.table("catalog/tools.parquet", ["server", "name", "read_only", "destructive"])
    read = Counter(tool["server"] for tool in tools if tool["read_only"])
    removing = Counter(tool["server"] for tool in tools if tool["destructive"])
    total = Counter(tool["server"] for tool in tools)
    names = [row["server"] for row in rows]
    figure = plots.bars(
        "tools",
        "Tools of each server, by what they do to its state",
        names,
        {
            "read": [read[name] for name in names],
            "write": [total[name] - read[name] - removing[name] for name in names],
            "remove or overwrite": [removing[name] for name in names],
        },
    )
    table = Table(
        "Servers",
        ["server", "tools", "seed rows", "entity types", "error codes", "health", "seed hash"],
        [
            (
                row["server"],
                row["tools"],
                row["rows"],
                len(row["entities"]),
                len(row["error_codes"]),
                "ok" if row["healthy"] else row["detail"],
                row["seed_hash"][:12],
            )
            for row in rows
        ],
    )
    sick = sum(not row["healthy"] for row in rows)
    return [_verdict(sick, len(rows)), figure, table]


def _verdict(sick: int, servers: int) -> Note:
    return Note(f"{sick} of {servers} servers are not healthy." if sick else "Every server passed its checks.")
