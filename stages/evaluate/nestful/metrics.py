"""The paper's figures over a whole run.

F1 is the macro average over gold labels: each label's own F1 over all tasks, then their unweighted mean,
so that a rare function weighs as much as a common one. For functions a label is a name, and a task holds
the set of its names. For parameters a label is a `name = value` text, compared within one task and one
function. Where a function is called twice in a task, the published scorer keeps the last call's
parameters alone; here all are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stages.evaluate.benchmark import TaskResult
from stages.evaluate.nestful.data import NestfulTask
from stages.evaluate.nestful.scoring import Step, answer_steps, compare, gold_steps


@dataclass(frozen=True, slots=True)
class NestfulFigures:
    """Figures between 0 and 1 over `tasks` tasks; masked ones are left out."""

    tasks: int
    function_f1: float
    parameter_f1: float
    partial_sequence_accuracy: float
    full_sequence_accuracy: float


def figures(tasks: Sequence[NestfulTask], rows: Sequence[TaskResult]) -> NestfulFigures:
    """The paper's figures of a run; a task that broke down counts as an empty answer.

    Raises:
        ValueError: no row is scored.
    """
    gold = {task.id: gold_steps(task.gold) for task in tasks}
    kept = [row for row in rows if row.status != "infrastructure"]
    if not kept:
        raise ValueError(f"none of {len(rows)} rows is scored: there is nothing to average")
    pairs = [(gold[row.task_id], answer_steps(row.episode) if row.episode else []) for row in kept]
    shares = [equal / places for equal, places in (compare(*pair) for pair in pairs)]
    names = [({step.name for step in expected}, {step.name for step in given}) for expected, given in pairs]
    parameters = [sets for expected, given in pairs for sets in _parameters(expected, given)]
    return NestfulFigures(
        tasks=len(kept),
        function_f1=macro_f1(names),
        parameter_f1=macro_f1(parameters),
        partial_sequence_accuracy=sum(shares) / len(shares),
        full_sequence_accuracy=sum(share == 1 for share in shares) / len(shares),
    )


def macro_f1(pairs: Iterable[tuple[set[str], set[str]]]) -> float:
    """Unweighted mean of each gold label's F1 over pairs of (gold, answer) label sets."""
    hits: Counter[str] = Counter()
    expected: Counter[str] = Counter()
    given: Counter[str] = Counter()
    for gold, answer in pairs:
        hits.update(gold & answer)
        expected.update(gold)
        given.update(answer)
    if not expected:
        return 0.0
    return sum(2 * hits[label] / (expected[label] + given[label]) for label in sorted(expected)) / len(expected)


def _parameters(gold: Sequence[Step], answer: Sequence[Step]) -> Iterable[tuple[set[str], set[str]]]:
    for name in sorted({step.name for step in [*gold, *answer]}):
        yield _slots(gold, name), _slots(answer, name)


def _slots(steps: Sequence[Step], name: str) -> set[str]:
    return {slot for step in steps if step.name == name for slot in step.slots or ()}
