"""BFCL multi-turn: the trained policy beside doing nothing on the same tasks, and the controls over all tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stages.report.blocks import Block, Note, Table
from stages.report.inputs import Inputs
from stages.report.plots import Plotter


def build(inputs: Inputs, plots: Plotter) -> Sequence[Block]:
    """The controls, then overall and by category."""
    bfcl = inputs.metrics("evaluate")["bfcl"]
    controls = Table(
        "Controls over all tasks: runs whose score is known beforehand",
        ["run", "passed", "known", "holds"],
        [
            (row["name"].replace("_", " "), f"{row['passed']} / {row['total']}", row["expected"], _holds(row))
            for row in bfcl["controls"]
        ],
    )
    measured = bfcl.get("measurement")
    if measured is None:
        return [Note("No policy was measured: evaluate.bfcl_sample is 0."), controls]
    sample = f"a sample of {measured['sample']} tasks of each category" if measured["sample"] else "all tasks"
    told = (
        f"{measured['benchmark']} {measured['version']}, {sample}. Overall is the unweighted mean of the categories. "
        f"Prompts too long for the policy, which count as failed: {bfcl['prompts_too_long']}."
    )
    agents = {"trained": measured["summary"], "doing nothing": measured["do_nothing"]}
    names = [row["category"] for row in measured["summary"]["categories"]]
    table = Table(
        "Passed tasks",
        ["agent", "overall [95 % interval]", *names],
        [(agent, _overall(row), *map(_passed, row["categories"])) for agent, row in agents.items()],
    )
    return [Note(told), table, controls]


def _holds(row: Mapping[str, int]) -> str:
    return "yes" if row["passed"] == row["expected"] else "no"


def _overall(summary: Mapping[str, Any]) -> str:
    if summary["overall"] is None:
        return "–"
    low, high = summary["interval"]
    return f"{summary['overall']:.1%} [{low:.1%},\u00a0{high:.1%}]"


def _passed(row: Mapping[str, Any]) -> str:
    return f"{row['passed']} / {row['scored']}"
