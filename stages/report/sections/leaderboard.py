"""The leaderboard's sections: this run's scores, one row for each agent and benchmark; then published ones, apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stages.artifacts import ArtifactError
from stages.report.blocks import Block, Cell, Note, Table
from stages.report.inputs import Inputs
from stages.report.page import Section
from stages.report.published import PUBLISHED
from stages.report.sections.benchmarks import sample_text
from stages.report.sections.rewards import NAMES

HEADER = (
    "agent", "benchmark", "score %", "95 % interval", "doing nothing %", "tasks", "masked", "sample", "data",
    "seconds", "tokens written", "cost $",
)  # fmt: skip


def leaderboard_sections(inputs: Inputs) -> list[Section]:
    """Ours, then the papers'.

    Raises:
        ArtifactError: metrics are missing, damaged or of another shape.
    """
    metrics, costs = inputs.metrics("evaluate"), inputs.metrics("evaluate_costs")
    try:
        fingerprint = str(inputs.metrics("bootstrap")["fingerprint"])
        rows = [*_row_sets(metrics, costs, fingerprint), *_benchmarks(metrics, costs)]
    except (KeyError, TypeError) as error:
        raise ArtifactError(
            f"leaderboard: its input is of another shape ({type(error).__name__}: {error}): run its stage again"
        ) from error
    ours: list[Block] = [
        Note(
            "Scores of this run, in per cent. Held-out rows count as solved when the final state is right and what was "
            "asked for was read. Each score stands beside that of doing nothing on the same tasks. Masked tasks failed "
            "for reasons outside the agent and are in no rate. Two intervals that overlap say nothing about a "
            "difference: python -m stages.evaluate compare A B does. Click a heading to sort."
        ),
        Table("Measured here", HEADER, rows, sortable=True),
    ]
    theirs: list[Block] = [
        Note("Printed by others, not measured here, on tasks, prompts and samples of their own. In per cent.")
    ]
    for reference in PUBLISHED:
        theirs += [Table(reference.source, reference.header, reference.rows), Note(reference.mind)]
    return [Section("ours", "This run", ours), Section("published", "Published elsewhere", theirs)]


def _row_sets(metrics: Mapping[str, Any], costs: Mapping[str, Any], fingerprint: str) -> Iterator[Sequence[Cell]]:
    sets = {"chains": metrics, **metrics["unseen"]}
    for name, figures in sets.items():
        for agent, row in figures["policies"].items():
            solved, floor = row["solved"], figures["do_nothing"]["solved"]
            yield (
                NAMES.get(agent, agent),
                f"unseen {name}",
                _percent(solved["mean"] if solved["rows"] else None),
                _interval((solved["low"], solved["high"]) if solved["rows"] else None),
                _percent(floor["mean"] if floor["rows"] else None),
                solved["rows"],
                row["masked"],
                "drawn by the seed",
                f"servers {fingerprint}",
                *_costs(costs, f"unseen {name}", agent),
            )


def _benchmarks(metrics: Mapping[str, Any], costs: Mapping[str, Any]) -> Iterator[Sequence[Cell]]:
    for name, figures in metrics["benchmarks"].items():
        for agent, row in figures["agents"].items():
            summary, categories = row["summary"], row["summary"]["categories"]
            yield (
                NAMES.get(agent, agent),
                name,
                _percent(summary["overall"]),
                _interval(summary["interval"]),
                _percent(figures["do_nothing"]["overall"]),
                sum(category["scored"] for category in categories),
                sum(category["masked"] for category in categories),
                sample_text(figures["sample"]),
                figures["version"],
                *_costs(costs, name, agent),
            )


def _percent(rate: float | None) -> float | None:
    return None if rate is None else round(100 * rate, 2)


def _interval(ends: Sequence[float] | None) -> str:
    return "–" if ends is None else f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f}"


def _costs(costs: Mapping[str, Any], name: str, agent: str) -> Sequence[Cell]:
    row = costs.get(name, {}).get(agent)
    return (None, None, None) if row is None else (row["seconds"], row["completion_tokens"] or None, row["cost"])
