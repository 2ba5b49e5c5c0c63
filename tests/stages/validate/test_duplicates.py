"""Near-duplicates: the rule, and that the index answers as comparing every pair does."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from stages.validate.duplicates import Deduplicator, NearIndex, Signature, jaccard, rarity, signature
from stages.validate.reasons import Reason, Rejection
from stages.validate.verdicts import Accepted
from tests.stages.validate.acting import ASK, LOOKUP, checker, move, played


def test_similarity_is_that_of_call_bigrams() -> None:
    one, same = played((ASK, [LOOKUP, move()])), played(("Other words", [LOOKUP, move(amount=26)]))
    split = played((ASK, [LOOKUP]), ("Now.", [move()]))
    assert jaccard(signature(one), signature(same)) == 1.0
    assert jaccard(signature(one), signature(split)) < 0.7
    assert len(signature(one)) == 3


def test_a_repeat_is_rejected_within_a_server_and_names_the_original() -> None:
    known = Deduplicator(0.7)
    made = replace(played((ASK, [LOOKUP, move()])), id="first")
    assert known.duplicate_of(made) == ""
    assert known.duplicate_of(replace(made, id="second")) == "first"
    assert known.duplicate_of(replace(made, id="third", server="budget")) == ""


def test_the_threshold_decides() -> None:
    long = played((ASK, [LOOKUP, ("list_cards", {}), ("list_payees", {}), move()]))
    near = played((ASK, [LOOKUP, ("list_cards", {}), ("list_payees", {}), move(), ("list_cards", {})]))
    likeness = jaccard(signature(long), signature(near))
    assert 0 < likeness < 1
    for threshold, repeats in ((likeness, True), (likeness + 0.01, False)):
        known = Deduplicator(threshold)
        known.duplicate_of(replace(long, id="a"))
        assert (known.duplicate_of(near) == "a") == repeats


def test_questions_without_calls_are_repeats_only_when_they_say_the_same() -> None:
    known = Deduplicator(0.7)
    assert known.duplicate_of(replace(played(("Freeze it", [])), id="a")) == ""
    assert known.duplicate_of(played(("Unfreeze it", []))) == ""
    assert known.duplicate_of(played(("freeze IT", []))) == "a"


def test_a_valid_repeat_is_rejected_by_the_whole_check() -> None:
    checks, made = checker(), replace(played((ASK, [LOOKUP, move()])), id="a")
    assert isinstance(checks.check(made), Accepted)
    assert checks.check(replace(made, id="b")) == Rejection(Reason.NEAR_DUPLICATE, "repeats a")


LETTERS = [("a", str(n)) for n in range(7)]
SIGNATURES = st.lists(st.frozensets(st.sampled_from(LETTERS)), max_size=25)
THRESHOLDS = st.sampled_from([0.0, 0.2, 1 / 3, 0.5, 0.6, 2 / 3, 0.7, 0.75, 0.8, 1.0])


def by_all_pairs(signatures: list[Signature], threshold: float) -> list[int | None]:
    kept: list[Signature] = []
    found: list[int | None] = []
    for mine in signatures:
        found.append(next((n for n, other in enumerate(kept) if jaccard(mine, other) >= threshold), None))
        if found[-1] is None:
            kept.append(mine)
    return found


@given(SIGNATURES, THRESHOLDS, st.booleans())
def test_the_index_answers_as_all_pairs_do(signatures: list[Signature], threshold: float, counted: bool) -> None:
    index = NearIndex(threshold, rarity(signatures) if counted else {})
    found: list[int | None] = []
    for mine in signatures:
        found.append(index.first_like(mine))
        if found[-1] is None:
            index.keep(mine)
    assert found == by_all_pairs(signatures, threshold)
