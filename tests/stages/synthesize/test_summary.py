"""Wanted and achieved rates, steps and diversity of the fixed set."""

from __future__ import annotations

import pytest

from stages.synthesize.machine import TABLE, Event, State
from stages.synthesize.summary import rates, summary
from tests.stages.synthesize.writing import SEED, catalog, conversations, params

CHOSEN = params(mistake_rate=0.4, setback_rate=0.3)


def test_every_step_of_the_machine_is_taken_and_counted() -> None:
    steps = summary(catalog(), CHOSEN, SEED, conversations(), [])["transitions"]
    assert len(steps) == len(TABLE)
    assert all(count > 0 for count in steps.values()), steps
    assert steps[f"{State.CONTINUATION} --{Event.DONE}--> {State.END}"] == len(conversations())


def test_a_step_that_is_never_taken_is_counted_as_such() -> None:
    quiet = [c for c in conversations() if all(call.ok for turn in c.turns for call in turn.calls)]
    steps = summary(catalog(), CHOSEN, SEED, quiet, [])["transitions"]
    assert steps[f"{State.RECOVERY} --{Event.RETRY}--> {State.TOOL_EXECUTION}"] == 0


def test_rates_stand_beside_what_was_asked_for() -> None:
    found = rates(CHOSEN, conversations())
    for name in ("kind multi_turn", "information complete", "distractors", "ended after two turns"):
        assert found[name]["achieved"] == pytest.approx(found[name]["wanted"], abs=0.2), name
    assert found["turns with a mistake"]["wanted"] == 0.4 and found["turns with a mistake"]["achieved"] > 0.15
    assert found["setbacks"]["wanted"] == 0.3 and found["setbacks"]["achieved"] > 0.1
    kinds = sum(row["achieved"] for name, row in found.items() if name.startswith("kind "))
    assert kinds == pytest.approx(1.0, abs=0.001)


def test_rates_of_nothing_are_zero() -> None:
    assert all(row["achieved"] == 0.0 for row in rates(CHOSEN, []).values())


def test_diversity_counts_what_was_used() -> None:
    found = summary(catalog(), CHOSEN, SEED, conversations(), [{"unwritten": "no_plan"}])
    assert found["unwritten"] == {"no_plan": 1}
    told = found["diversity"]
    assert sum(told["turns"].values()) == len(conversations()) == sum(told["chain_lengths"].values())
    assert 10 < told["tools"] <= told["tools_shown"] and told["entities"] > 20
    assert told["requests"]["texts"] > 100
