"""Conversations that ask for a change after which nothing has changed."""

from __future__ import annotations

from dataclasses import replace

from stages.validate.dead_state import check_dead_state
from stages.validate.reasons import Reason
from tests.stages.synthesize.writing import catalog
from tests.stages.validate.acting import ASK, CHECKING, LOOKUP, PIN, SAVINGS, Step, ids, judged, move, played


def test_changes_that_undo_each_other_in_one_turn_are_dead_and_in_two_turns_are_not() -> None:
    back = move(source_account_id=SAVINGS, target_account_id=CHECKING)
    told = "And 25 from Rainy Day Savings to Everyday Checking."
    found = judged(played((ASK, [LOOKUP, move()]), (told, [back])))
    assert found is None
    card = ids("Card", status="active", account_id=CHECKING)
    freeze: Step = ("freeze_card", {"card_id": card})
    thaw: Step = ("unfreeze_card", {"card_id": card, "pin": PIN})
    made = played((f"Freeze {card}, then unfreeze it, PIN {PIN}.", [freeze, thaw]))
    assert all(call.ok for call in made.turns[0].calls)
    found = judged(made)
    assert found is not None and found.reason is Reason.DEAD_STATE
    assert "turn 0: freeze_card, unfreeze_card" in found.detail


def test_a_chain_with_a_change_and_a_state_that_never_moves_is_dead() -> None:
    made = played(("What do I have?", [LOOKUP]))
    still = replace(made, chain=("list_accounts", "freeze_card"), kind="multi_turn")
    found = check_dead_state(catalog(), still)
    assert found is not None and found.reason is Reason.DEAD_STATE and "freeze_card" in found.detail
    assert check_dead_state(catalog(), replace(still, kind="clarification")) is None
    assert check_dead_state(catalog(), replace(still, chain=("list_accounts",))) is None
    moved = replace(played((ASK, [LOOKUP, move()])), chain=("list_accounts", "freeze_card"), kind="multi_turn")
    assert check_dead_state(catalog(), moved) is None
