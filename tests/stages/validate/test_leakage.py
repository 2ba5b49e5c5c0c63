"""How much of the test split training has seen."""

from __future__ import annotations

from dataclasses import replace

from stages.dataset import RlRow
from stages.records import Message, TruthCall
from stages.validate.leakage import leakage
from stages.validate.rows import rl_rows
from tests.stages.synthesize.writing import catalog
from tests.stages.validate.acting import ASK, CHECKING, JOINT, LOOKUP, SAVINGS, move, played


def row(text: str, **arguments: str) -> RlRow:
    base = next(iter(rl_rows(catalog(), played((ASK, [LOOKUP, move()])))))
    truth = (TruthCall("get_account", dict(arguments)),) if arguments else ()
    return replace(base, messages=(Message("user", text),), truth=truth)


def test_entities_and_phrasings_that_training_has_seen_are_told() -> None:
    long = "Could you tell me what is left on the account {} today?"
    train = [row(long.format("Alpha"), account_id=CHECKING), row("x", account_id=SAVINGS)]
    same, new = row(long.format("Alpha"), account_id=CHECKING), row("Is there anything else to know?", account_id=JOINT)
    rows = {"train": train, "val": [], "test": [same, new, row("Thanks")]}
    told = leakage(catalog(), rows, set())  # type: ignore[arg-type]
    assert told == {"test_rows": 3, "chains": 0.0, "entities": 0.5, "phrasing": 0.5}
    assert leakage(catalog(), rows, {same.conversation})["chains"] == 1.0  # type: ignore[arg-type]


def test_numbers_and_values_do_not_make_a_phrasing_new() -> None:
    train = [row("Please move 25 from my account to the other one.")]
    rows = {"train": train, "val": [], "test": [row("Please move 3,000.5 from my account to the other one.")]}
    assert leakage(catalog(), rows, set())["phrasing"] == 1.0  # type: ignore[arg-type]
    value = "Books and more"
    train = [row(f"Make me a new category {value} for the coming month.", name=value)]
    rows = {"train": train, "val": [], "test": [row("Make me a new category Food for the coming month.", name="Food")]}
    assert leakage(catalog(), rows, set())["phrasing"] == 1.0  # type: ignore[arg-type]


def test_without_test_rows_nothing_has_leaked() -> None:
    told = leakage(catalog(), {"train": [row("x")], "val": [], "test": []}, set())
    assert told == {"test_rows": 0, "chains": 0.0, "entities": 0.0, "phrasing": 0.0}
