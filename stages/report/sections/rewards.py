"""Each agent on held-out rows: reward in all and by component, paired differences, outcomes and habits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stages.report.blocks import Block, Note, Table, number
from stages.report.inputs import Inputs
from stages.report.plots import Plotter

NAMES = {"base": "base", "sft": "warm start", "policy": "trained"}
SETS = {"worlds": "Chains that were trained on, in an unseen world", "servers": "Unseen servers"}
HABITS = {
    "solved": "solved",
    "recovered": "recovered",
    "abstained": "abstention, recall",
    "abstention_precision": "abstention, precision",
    "clarified": "clarified",
}
"""Shares of rows, with the headings of their columns."""


def build(inputs: Inputs, plots: Plotter) -> Sequence[Block]:
    """Unseen chains first, with a picture; then unseen worlds and servers, where there are any."""
    metrics = inputs.metrics("evaluate")
    policies: Mapping[str, Any] = metrics["policies"]
    blocks: list[Block] = []
    if policies:
        figure = plots.intervals(
            "rewards",
            "Unseen chains: mean reward and its components, unweighted, with 95 % intervals",
            ["reward", *_parts(policies)],
            _scores(policies),
        )
        blocks = [Note(_headline(metrics["differences"])), figure, *_tables("Unseen chains", metrics)]
    for name, figures in metrics["unseen"].items():
        blocks += _tables(SETS[name], figures)
    return blocks or [Note("No held-out row was played.")]


def _tables(title: str, figures: Mapping[str, Any]) -> list[Block]:
    policies: Mapping[str, Any] = figures["policies"]
    rewards = Table(
        f"{title}: mean [95 % interval]",
        ["agent", "rows", "masked", "reward", *_parts(policies)],
        [
            (
                name,
                row["rows"],
                row["masked"],
                *(shown(*part) for part in parts),
                shown(*triple(row["calls_over_budget"])),
            )
            for (name, parts), row in zip(_scores(policies).items(), policies.values(), strict=True)
        ],
    )
    differences = Table(
        f"{title}: paired differences in reward, on the same rows",
        ["difference", "mean [95 % interval]", "rows", "verdict"],
        [
            (pair_name(name), shown(*triple(row), sign=True), row["rows"], verdict(row))
            for name, row in figures["differences"].items()
        ],
    )
    everyone = {**policies, "doing nothing": figures["do_nothing"]}
    habits = Table(
        f"{title}: shares of rows [95 % interval]. Solved: the final state is right and what was asked for was read. "
        "Recovered: a call that the row wants failed, and succeeded later. Clarified: asked for a missing value",
        ["agent", *HABITS.values(), "calls over budget"],
        [
            (
                NAMES.get(name, name),
                *(_share(row[habit]) for habit in HABITS),
                shown(*triple(row["calls_over_budget"])),
            )
            for name, row in everyone.items()
        ],
    )
    return [rewards, differences, habits]


def _parts(policies: Mapping[str, Any]) -> list[str]:
    return list(next(iter(policies.values()))["parts"]) if policies else []


def _scores(policies: Mapping[str, Any]) -> dict[str, list[tuple[float, float, float]]]:
    return {
        NAMES.get(name, name): [triple(row["reward"]), *(triple(row["parts"][part]) for part in _parts(policies))]
        for name, row in policies.items()
    }


def triple(row: Mapping[str, float]) -> tuple[float, float, float]:
    """Mean, low and high."""
    return row["mean"], row["low"], row["high"]


def shown(mean: float, low: float, high: float, sign: bool = False) -> str:
    """A mean with its interval."""
    plus = "+" if sign and mean > 0 else ""
    return f"{plus}{number(mean)} [{number(low)},\u00a0{number(high)}]"


def pair_name(name: str) -> str:
    """A difference in words, from its key."""
    first, _, second = name.partition("-")
    return f"{NAMES.get(first, first)} − {NAMES.get(second, second)}"


def verdict(row: Mapping[str, float]) -> str:
    """What the interval allows to be said."""
    if row["low"] > 0:
        return "higher"
    return "lower" if row["high"] < 0 else "no clear difference"


def _share(row: Mapping[str, float]) -> str:
    return f"{shown(*triple(row))} of\u00a0{row['rows']:,}" if row["rows"] else "–"


def _headline(differences: Mapping[str, Mapping[str, float]]) -> str:
    row = differences.get("policy-base")
    if row is None:
        return "The trained policy and the base were not compared in this run."
    words = {"higher": "earns more than", "lower": "earns less than"}
    said = words.get(verdict(row), "does not clearly differ from")
    return f"The trained policy {said} the base: {shown(*triple(row), sign=True)} over {row['rows']:,} rows."
