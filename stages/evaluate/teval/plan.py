"""The F1 of a plan: how many of its steps are the reference's steps, in the reference's order.

Two steps may match if 0.75 of their names' cosine and 0.25 of their arguments' exceed 0.8. A matching of
the largest total weight pairs steps; of the pairs, the longest run that keeps both orders counts (paper,
section 3.2). A step without a partner never counts. Upstream it does where nothing else does, so that a
wrong one-step plan against a one-step reference scores 1. The closing FinishAction is no step; two plans
of nothing else are equal, where upstream crashes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, NamedTuple

import networkx as nx

from stages.evaluate.teval.reading import read_object
from stages.evaluate.teval.similarity import Similarity

FINISH = "FinishAction"
_NAME_WEIGHT = 0.75
_ARGUMENTS_WEIGHT = 0.25
_THRESHOLD = 0.8


class Step(NamedTuple):
    """One step: the tool's name, and its arguments as text."""

    name: str
    arguments: str


def plan_f1(answer: Sequence[Step], gold: Sequence[Step], similarity: Similarity) -> float:
    """F1 between 0 and 1 of an answer's steps against the reference's."""
    answer, gold = _unfinished(answer), _unfinished(gold)
    if not answer and not gold:
        return 1.0
    if not answer or not gold:
        return 0.0
    return 2 * _in_order(_matched(answer, gold, similarity)) / (len(answer) + len(gold))


def steps_of(plan: Any) -> list[Step] | None:
    """The steps of a plan in JSON form, ordered by their numbers; None if any is malformed."""
    if not isinstance(plan, list):
        return None
    try:
        numbered = [(int(step["id"]), Step(str(step["name"]), str(step["args"]))) for step in plan]
    except (KeyError, TypeError, ValueError, IndexError, OverflowError):
        return None
    return [step for _, step in sorted(numbered, key=lambda pair: pair[0])]


def read_json_plan(text: str) -> list[Step] | None:
    """The steps of an answer in JSON form; None if it can't be read."""
    return steps_of(read_object(text, list))


def read_prose_plan(text: str, apis: Sequence[str]) -> list[Step]:
    """One step for each sentence or line that names a tool: the first that it names, and the longest there."""
    steps: list[Step] = []
    for line in text.replace(". ", "\n").split("\n"):
        named = [(line.find(name), -len(name), name) for name in apis if name in line]
        if named:
            steps.append(Step(min(named)[2], line))
    return steps


def _unfinished(plan: Sequence[Step]) -> Sequence[Step]:
    return plan[:-1] if plan and plan[-1].name == FINISH else plan


def _matched(answer: Sequence[Step], gold: Sequence[Step], similarity: Similarity) -> list[int]:
    """For each matched step of the answer, in order, the position of its partner in the reference."""
    names = similarity([step.name for step in answer], [step.name for step in gold])
    arguments = similarity([step.arguments for step in answer], [step.arguments for step in gold])
    weights = _NAME_WEIGHT * names + _ARGUMENTS_WEIGHT * arguments
    graph: nx.Graph = nx.Graph()
    for i in range(len(answer)):
        for j in range(len(gold)):
            if weights[i, j] > _THRESHOLD:
                graph.add_edge(("answer", i), ("gold", j), weight=float(weights[i, j]))
    pairs = dict(sorted(pair) for pair in nx.max_weight_matching(graph))
    return [pairs["answer", i][1] for i in range(len(answer)) if ("answer", i) in pairs]


def _in_order(positions: Sequence[int]) -> int:
    """Length of the longest increasing subsequence."""
    tails: list[int] = []
    for position in positions:
        place = bisect_left(tails, position)
        tails[place : place + 1] = [position]
    return len(tails)
