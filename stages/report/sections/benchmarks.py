"""Benchmarks: every agent beside doing nothing on the same tasks, paired differences, and controls over all tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stages.report.blocks import Block, Note, Table, number
from stages.report.inputs import Inputs
from stages.report.plots import Plotter
from stages.report.sections.rewards import NAMES, pair_name, shown, triple, verdict


def build(inputs: Inputs, plots: Plotter) -> Sequence[Block]:
    """Each benchmark of the run, and those that were not there."""
    metrics = inputs.metrics("evaluate")
    blocks = [block for name, figures in metrics["benchmarks"].items() for block in _benchmark(name, figures)]
    blocks += [Note(f"{name} was not played. {cure}") for name, cure in metrics["unavailable"].items()]
    return blocks or [Note("No benchmark was played.")]


def _benchmark(name: str, figures: Mapping[str, Any]) -> list[Block]:
    controls = Table(
        f"{name}: controls over all tasks, runs whose score is known beforehand",
        ["run", "passed", "known", "holds"],
        [
            (row["name"].replace("_", " "), f"{row['passed']} / {row['total']}", row["expected"], _holds(row))
            for row in figures["controls"]
        ],
    )
    agents: Mapping[str, Any] = figures["agents"]
    if not agents:
        return [Note(f"{name} ({figures['version']}): no agent was measured, its controls alone ran."), controls]
    told = (
        f"{name} ({figures['version']}), {sample_text(figures['sample'])}. "
        "Overall is the mean of the categories, or what the benchmark's paper defines instead."
    )
    too_long = {NAMES.get(a, a): row["prompts_too_long"] for a, row in agents.items() if row["prompts_too_long"]}
    if too_long:
        counts = ", ".join(f"{agent} {count:,}" for agent, count in too_long.items())
        told += f" Prompts too long for the policy, which it answered with nothing: {counts}."
    summaries = {NAMES.get(a, a): row["summary"] for a, row in agents.items()}
    summaries["doing nothing"] = figures["do_nothing"]
    names = [row["category"] for row in figures["do_nothing"]["categories"]]
    table = Table(
        f"{name}: score",
        ["agent", "overall [95 % interval]", *names, "masked", "broken"],
        [
            (
                agent,
                _overall(summary),
                *map(_rate, summary["categories"]),
                sum(row["masked"] for row in summary["categories"]),
                sum(row["errors"] for row in summary["categories"]),
            )
            for agent, summary in summaries.items()
        ],
    )
    return [Note(told), table, *_official(name, agents), *_differences(name, figures["differences"]), controls]


def _official(name: str, agents: Mapping[str, Any]) -> list[Block]:
    """The figures of the benchmark's own paper, where it has any."""
    columns = list(dict.fromkeys(key for row in agents.values() for key in row["official"]))
    if not columns:
        return []
    rows = [(NAMES.get(a, a), *(number(row["official"].get(key)) for key in columns)) for a, row in agents.items()]
    return [Table(f"{name}: its own figures", ["agent", *(key.replace("_", " ") for key in columns)], rows)]


def _differences(name: str, rows: Mapping[str, Mapping[str, float]]) -> list[Block]:
    if not rows:
        return []
    return [
        Table(
            f"{name}: paired differences on the same tasks",
            ["difference", "mean [95 % interval]", "tasks", "verdict"],
            [
                (pair_name(pair), shown(*triple(row), sign=True), row["tasks"], verdict(row))
                for pair, row in rows.items()
            ],
        )
    ]


def sample_text(sample: Any) -> str:
    """How many tasks of each category were played, in words."""
    if sample == "all":
        return "all tasks"
    if isinstance(sample, dict):
        return "tasks drawn: " + ", ".join(f"{count} of {category}" for category, count in sample.items())
    return f"{sample} task{'s' * (sample != 1)} of each category"


def _holds(row: Mapping[str, int]) -> str:
    return "yes" if row["passed"] == row["expected"] else "no"


def _overall(summary: Mapping[str, Any]) -> str:
    if summary["overall"] is None:
        return "–"
    low, high = summary["interval"]
    return f"{summary['overall']:.1%} [{low:.1%},\u00a0{high:.1%}]"


def _rate(row: Mapping[str, Any]) -> str:
    """The share passed, and the mean credit where it says more."""
    if row["rate"] is None:
        return "–"
    passed = f"{row['passed']} / {row['scored']}"
    partial = abs(row["rate"] * row["scored"] - row["passed"]) > 1e-9
    return f"{row['rate']:.1%} ({passed})" if partial else passed
