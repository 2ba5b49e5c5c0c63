"""Slips of the scripted teacher: each fails where it stands, and the right calls are all still made."""

from __future__ import annotations

import pytest

from servers.kernel.dice import Dice
from servers.kernel.session import Session
from stages.synthesize.knowledge import Knowledge
from stages.synthesize.plan import Planner, TurnPlan
from stages.synthesize.slips import slip
from tests.stages.synthesize.writing import SEED, catalog


def planned(*tools: str, together: bool = False) -> tuple[TurnPlan, Session]:
    session = Session(catalog().world(SEED))
    session.user_turn()
    planner = Planner(catalog(), catalog().servers["banking"], session, Knowledge(), Dice(3, "slips"))
    plan = planner.plan(tools, together=together)
    assert plan is not None
    return plan, session


@pytest.mark.parametrize("number", range(12))
def test_a_slip_fails_and_the_rest_works(number: int) -> None:
    plan, session = planned("send_payment")
    bank = catalog().servers["banking"]
    batches, failed = slip(plan, bank, session, Dice(number, "slip"), 2)
    outcomes = [bank.call(session, call.name, call.arguments).ok for batch in batches for call in batch]
    assert outcomes.count(False) == failed > 0
    right = [call for batch in plan.batches for call in batch]
    assert len(outcomes) == len(right) + failed
    done = [call for batch in batches for call in batch]
    assert [call for call in done if call in right] == right


def test_no_room_no_slip() -> None:
    plan, session = planned("send_payment")
    assert slip(plan, catalog().servers["banking"], session, Dice(1, "slip"), 0) == (plan.batches, 0)


def test_a_slip_among_parallel_calls_leaves_the_others_alone() -> None:
    plan, session = planned("freeze_card", "add_payee", together=True)
    assert len(plan.batches[-1]) == 2
    bank = catalog().servers["banking"]
    partial = 0
    for number in range(20):
        batches, failed = slip(plan, bank, session.fork(), Dice(number, "partial"), 1)
        whole = [batch for batch in batches if len(batch) == 2 and plan.batches[-1][1] in batch]
        partial += failed == 1 and bool(whole) and plan.batches[-1] not in batches
    assert partial > 5


def test_the_session_is_left_as_it_was() -> None:
    plan, session = planned("send_payment")
    before = session.state_hash
    slip(plan, catalog().servers["banking"], session, Dice(1, "slip"), 2)
    assert session.state_hash == before
