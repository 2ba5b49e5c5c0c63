"""NESTFUL's rule for one sequence: how much of it equals the gold sequence, call by call.

A call counts as equal if its name and all its arguments do, each compared as text, so that 5 and "5" are
the same. Sequences of equal length are compared position by position. Otherwise their names are aligned
first: walking along both, equal names pair up, and at a difference the gold call stands alone; what is
left of the answer stands alone at the end. The partial sequence accuracy is the share of equal pairs among
all places of the alignment; the full sequence accuracy is 1 where it is 1 (the benchmark's scorer, v2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from stages.evaluate.benchmark import Score
from stages.records import EpisodeRecord, Json, TruthCall


class Step(NamedTuple):
    """A call as the scorer compares it; `slots` is None for one whose arguments could not be read."""

    name: str
    slots: frozenset[str] | None


def score_episode(gold: Sequence[TruthCall], episode: EpisodeRecord) -> Score:
    """Passed where the whole sequence is right; the counts say how much of it is."""
    expected, answer = gold_steps(gold), answer_steps(episode)
    equal, places = compare(expected, answer)
    passed = equal == places
    counts = {"equal_calls": equal, "places": places, "calls": len(answer), "gold_calls": len(expected)}
    return Score(passed, "" if passed else _reason(answer, equal), counts)


def gold_steps(gold: Sequence[TruthCall]) -> list[Step]:
    """The gold calls as steps."""
    return [Step(call.name, slots(call.arguments)) for call in gold]


def answer_steps(episode: EpisodeRecord) -> list[Step]:
    """The calls of the episode's answer as steps."""
    last = episode.messages[-1]
    calls = last.tool_calls if last.role == "assistant" else ()
    return [Step(call.name, None if call.arguments is None else slots(call.arguments)) for call in calls]


def slots(arguments: Mapping[str, Json]) -> frozenset[str]:
    """The arguments as `name = value` texts; a variable may lack its closing sign."""
    return frozenset(f"{name} = {_closed(value)}" for name, value in arguments.items())


def compare(gold: Sequence[Step], answer: Sequence[Step]) -> tuple[int, int]:
    """How many calls are equal, and how many places the alignment has."""
    pairs = list(zip(gold, answer, strict=True)) if len(gold) == len(answer) else _aligned(gold, answer)
    equal = sum(1 for expected, given in pairs if expected is not None and expected == given)
    return equal, len(pairs)


def _aligned(gold: Sequence[Step], answer: Sequence[Step]) -> list[tuple[Step | None, Step | None]]:
    pairs: list[tuple[Step | None, Step | None]] = []
    rest = list(answer)
    for expected in gold:
        pairs.append((expected, rest.pop(0) if rest and rest[0].name == expected.name else None))
    return pairs + [(None, given) for given in rest]


def _closed(value: Json) -> Json:
    return f"{value}$" if isinstance(value, str) and value.startswith("$") and not value.endswith("$") else value


def _reason(answer: Sequence[Step], equal: int) -> str:
    if not answer:
        return "no_calls"
    return "partly_equal" if equal else "nothing_equal"
