"""Reward of each policy on the held-out rows: in all and by component, and the paired differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stages.report.blocks import Block, Note, Table, number
from stages.report.inputs import Inputs
from stages.report.plots import Plotter

NAMES = {"base": "base", "sft": "warm start", "policy": "trained"}


def build(inputs: Inputs, plots: Plotter) -> Sequence[Block]:
    """Means with 95 % intervals side by side, then the differences on the same rows."""
    metrics = inputs.metrics("evaluate")
    policies: Mapping[str, Any] = metrics["policies"]
    first = next(iter(policies.values()))
    parts = list(first["parts"])
    scores = {
        NAMES.get(name, name): [_triple(row["reward"]), *(_triple(row["parts"][part]) for part in parts)]
        for name, row in policies.items()
    }
    figure = plots.intervals(
        "rewards", "Mean reward and its components, unweighted, with 95 % intervals", ["reward", *parts], scores
    )
    table = Table(
        "Mean [95 % interval]",
        ["policy", "reward", *parts],
        [(name, *(_shown(*triple) for triple in triples)) for name, triples in scores.items()],
    )
    differences = Table(
        "Paired differences in reward, on the same rows",
        ["difference", "mean [95 % interval]", "rows", "verdict"],
        [
            (_pair(name), _shown(*_triple(row), sign=True), row["rows"], _verdict(row))
            for name, row in metrics["differences"].items()
        ],
    )
    rates = Table(
        "Shares of rows: solved (every call of the ground truth, and its final state), rightly silent, masked",
        ["policy", "solved [95 % interval]", "rows with calls", "abstained [95 % interval]", "rows without", "masked"],
        [
            (
                NAMES.get(name, name),
                _shown(*_triple(row["solved"])),
                row["solved"]["rows"],
                _shown(*_triple(row["abstained"])),
                row["abstained"]["rows"],
                row["masked"],
            )
            for name, row in policies.items()
        ],
    )
    return [Note(_headline(metrics["differences"])), figure, table, differences, rates]


def _triple(row: Mapping[str, float]) -> tuple[float, float, float]:
    return row["mean"], row["low"], row["high"]


def _shown(mean: float, low: float, high: float, sign: bool = False) -> str:
    plus = "+" if sign and mean > 0 else ""
    return f"{plus}{number(mean)} [{number(low)},\u00a0{number(high)}]"


def _pair(name: str) -> str:
    first, _, second = name.partition("-")
    return f"{NAMES.get(first, first)} − {NAMES.get(second, second)}"


def _verdict(row: Mapping[str, float]) -> str:
    if row["low"] > 0:
        return "higher"
    return "lower" if row["high"] < 0 else "no clear difference"


def _headline(differences: Mapping[str, Mapping[str, float]]) -> str:
    row = differences["policy-base"]
    words = {"higher": "earns more than", "lower": "earns less than"}
    verdict = words.get(_verdict(row), "does not clearly differ from")
    return f"The trained policy {verdict} the base: {_shown(*_triple(row), sign=True)} over {row['rows']:,} rows."
