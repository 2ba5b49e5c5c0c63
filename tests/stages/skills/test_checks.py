"""Single items of the checklists, where labels by hand don't reach: origins of values, and what is not held against."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stages.records import Json
from stages.skills.checks import CHECKLISTS, CHECKS, GENERIC
from stages.skills.decompose import decompose
from stages.skills.grounding import inventions
from stages.skills.scene import Scene
from stages.skills.scoring import judge_subgoal, process_score
from stages.skills.trajectories import Trajectory
from stages.validate.sources import Source
from tests.stages.skills.bank import FACTS, Call, call, fails, trace
from tests.stages.skills.labelled import BOTH, CARDS, CARDS_READ, FREEZE, SENT, TOLD, no_card


def failed(trajectory: Trajectory, skill: str) -> tuple[str, ...]:
    """The items that the first subgoal of a skill fails."""
    subgoal = next(s for s in decompose(trajectory, FACTS) if s.skill == skill)
    return judge_subgoal(Scene(trajectory, FACTS), subgoal, CHECKLISTS[subgoal.skill])[1]


def invented(said: str, made: Call, result: str = "") -> set[str]:
    trajectory = trace(said, [made], "Done.")
    known = [Source("user", 0, said), *([Source("result", 1, result)] if result else [])]
    return set(inventions(FACTS[made[0]], trajectory.calls[0], known))


def test_every_item_is_named_in_a_checklist_and_explained() -> None:
    listed = {name for checklist in CHECKLISTS.values() for name in checklist}
    assert listed == set(CHECKS)
    assert set(GENERIC) <= listed
    assert all(check.told and check.mistake and 0 <= check.cap < 3 for check in CHECKS.values())


@pytest.mark.parametrize(
    ("said", "made", "expected"),
    [
        ("Freeze CRD-1.", call("freeze_card", card_id="CRD-1"), set()),
        ("Freeze my card.", call("freeze_card", card_id="CRD-1"), {"identifier"}),
        ("Unfreeze CRD-1, PIN 1408.", call("unfreeze_card", card_id="CRD-1", pin="1408"), set()),
        ("Unfreeze CRD-1, PIN 14081.", call("unfreeze_card", card_id="CRD-1", pin="1408"), {"identifier"}),
        ("Limit CRD-1 to 800, 1408.", call("set_limit", card_id="CRD-1", limit=800.0, pin="1408"), set()),
        ("Limit CRD-1 to 900, 1408.", call("set_limit", card_id="CRD-1", limit=800, pin="1408"), {"value"}),
        ("Find Wei.", call("list_payees", query="Goran"), {"search"}),
        ("My savings?", call("list_accounts", kind="checking"), set()),
        ("Read ACC-1.", call("list_transactions", account_id="ACC-1", limit=77), set()),
        ("ACC-1 to a@b.example", call("email_statement", account_id="ACC-1", email="a@b.example", format="pdf"), set()),
        ("ACC-1 to a@b.example", call("email_statement", account_id="ACC-1", email="a@b.example", format="csv"),
         {"option"}),
        ("Any format for ACC-1, a@b.example", call("email_statement", account_id="ACC-1", email="a@b.example",
                                                   format="csv"), set()),
        ("Freeze.", call("freeze_card", card_id="CRD-1", speed="now"), {"identifier"}),
    ],
)  # fmt: skip
def test_where_values_come_from(said: str, made: Call, expected: set[str]) -> None:
    assert invented(said, made) == expected


@pytest.mark.parametrize(
    ("said", "memo", "known"),
    [
        ("tell him the rent for March is paid", "The rent for March has been paid", True),
        ("tell him hello", "Looking forward to seeing you soon", False),
        ("on the 9th of March", "2026-03-09", True),
        ("on March 9", "2026-03-09", True),
        ("next Monday", "2026-03-09", True),
        ("the tenth", "2026-03-09", False),
        ("at 3 pm", "15:00", True),
        ("later", "15:00", False),
    ],
)
def test_texts_dates_and_hours_may_be_in_the_agents_words(said: str, memo: str, known: bool) -> None:
    made = call("send_payment", source_account_id="ACC-1", payee_id="PAY-1", amount=1, pin="2", memo=memo)
    assert ("option" not in invented(f"ACC-1 PAY-1 1 2 {said}", made)) == known


def test_a_natural_identifier_may_be_put_together_and_an_opaque_one_may_not() -> None:
    made = call("email_statement", account_id="ACC-1", email="docs/report.pdf")
    assert invented("ACC-1, report.pdf in docs", made) == set()
    opaque = call("email_statement", account_id="docs/report.pdf", email="docs/report.pdf")
    assert invented("ACC-1, report.pdf in docs", opaque) == {"identifier"}


def test_errors_justify_nothing() -> None:
    told = trace("Freeze my card.", [no_card("CRD-7")], [no_card("CRD-7")], "I can't.")
    assert "identifiers_known" in failed(told, "recover")


def test_what_is_shown_in_the_same_message_is_not_known_yet() -> None:
    assert "identifiers_known" in failed(trace("Freeze 2538.", [CARDS_READ, FREEZE], "Done."), "change_state")
    assert "identifiers_known" not in failed(trace("Freeze 2538.", [CARDS_READ], [FREEZE], "Done."), "change_state")


def test_a_read_again_after_a_change_is_not_needless() -> None:
    told = trace("Freeze 2538.", [CARDS_READ], [FREEZE], [CARDS_READ], "Done.")
    assert failed(told, "verify") == ()
    assert "no_needless_read" in failed(trace("Cards?", [CARDS_READ], [CARDS_READ], "Two."), "look_up")


def test_a_failed_call_may_be_repeated_after_a_change() -> None:
    frozen: dict[str, Json] = {"card_id": "CRD-92881", "limit": 800, "pin": "1408"}
    refusal = fails("set_limit", "card_frozen", "unfreeze_card comes first", **frozen)
    again = call("set_limit", **frozen)
    between = call("unfreeze_card", card_id="CRD-92881", pin="1408")
    told = trace("Limit 2538 to 800, PIN 1408.", [CARDS_READ], [refusal], [between], [again], "Done: limit 800.")
    assert failed(told, "recover") == ()
    assert failed(told, "change_state") == ("state_ready",)
    blind = trace("Limit 2538 to 800, PIN 1408.", [CARDS_READ], [refusal], [again], "Done: limit 800.")
    assert "no_blind_repeat" in failed(blind, "recover")


def test_an_idempotent_or_different_change_is_no_second_one() -> None:
    other = call("freeze_card", card_id="CRD-86339")
    assert failed(trace("Freeze 2538 and 4140.", [CARDS_READ], [FREEZE], [other], "Done."), "change_state") == ()
    assert failed(trace("Freeze 2538.", [CARDS_READ], [FREEZE], [FREEZE], "Done."), "change_state") == (
        "no_second_change",
    )


def test_one_thing_alone_needs_no_reason() -> None:
    one: Json = {"items": [{"id": "CRD-92881", "label": "Berlin Flat Partner"}], "total": 1}
    assert failed(trace("Freeze my card.", [call("list_cards", one)], [FREEZE], "Done."), "change_state") == ()
    several = trace("Freeze my card.", [call("list_cards", CARDS)], [FREEZE], "Done.")
    assert failed(several, "change_state") == ("chosen_for_a_reason",)


@pytest.mark.parametrize(
    ("answer", "items"),
    [
        (TOLD, ()),
        ("I have sent 120.00 USD to Wei Mbeki.", ()),
        ("Done: paid 130 USD.", ("figures_shown",)),
        ("Done: see PMT-00001.", ("figures_shown",)),
        ("Done: 2 reads and 1 payment.", ()),
        ("</tool_call>", ("answered",)),
    ],
)
def test_a_report_tells_what_was_shown(answer: str, items: tuple[str, ...]) -> None:
    told = trace("Pay Wei Mbeki 120 from Rainy Day Savings; my PIN is 7669.", BOTH, [SENT], answer)
    assert failed(told, "report") == items


def test_the_process_score_is_the_mean_over_three() -> None:
    assert process_score([3, 3, 0]) == pytest.approx(2 / 3)
    assert process_score([]) == 0


def test_hostile_traces_end_in_a_score() -> None:
    deep: Json = []
    for _ in range(900):
        deep = [deep]
    made = [call("email_statement", account_id=deep, email={"a": deep}, format=[None, True, float("inf")])]
    weird = trace("?", made, made, "{{7*7}} %s", id="\x00")
    cut = tuple(replace(made, result='{"items":[[[') for made in weird.calls)
    weird = replace(weird, calls=cut)
    for trajectory in (weird, replace(weird, messages=(), calls=(), start=0)):
        for subgoal in decompose(trajectory, FACTS):
            assert 0 <= judge_subgoal(Scene(trajectory, FACTS), subgoal, tuple(CHECKS))[0] <= 3
