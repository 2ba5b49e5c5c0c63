"""Trajectories into subgoals: which calls belong together, by which skill, described without values."""

from __future__ import annotations

import pytest

from stages.records import EpisodeRecord
from stages.skills.decompose import Subgoal, decompose
from stages.skills.trajectories import Trajectory, played
from tests.stages.skills.bank import FACTS, VISIBLE, broken, call, fails, trace
from tests.stages.skills.labelled import ACCOUNTS_READ, BOTH, CARDS_READ, FREEZE, LABELLED, PAY, SENT, TOLD, no_card


def skills(trajectory: Trajectory) -> list[tuple[str, tuple[int, ...]]]:
    return [(subgoal.skill, subgoal.calls) for subgoal in decompose(trajectory, FACTS)]


def test_reads_for_one_change_are_one_subgoal_and_the_answer_is_the_last() -> None:
    assert skills(trace(PAY, BOTH, [SENT], TOLD)) == [
        ("read_before_write", (0, 1)),
        ("change_state", (2,)),
        ("report", ()),
    ]


def test_a_read_that_no_change_builds_on_is_a_lookup() -> None:
    found = skills(trace("Freeze card CRD-92881.", [ACCOUNTS_READ], [FREEZE], "Done."))
    assert found[:2] == [("look_up", (0,)), ("change_state", (1,))]


def test_a_change_in_the_same_message_builds_on_no_read_of_it() -> None:
    assert skills(trace("Freeze it.", [CARDS_READ, FREEZE], "Done."))[0] == ("look_up", (0,))


def test_recovery_reaches_from_the_error_to_the_success() -> None:
    told = trace("Freeze 2538.", [no_card("2538")], [CARDS_READ], [FREEZE], [ACCOUNTS_READ], "Done.")
    assert skills(told)[:3] == [("change_state", (0,)), ("recover", (1, 2)), ("look_up", (3,))]


def test_recovery_ends_with_the_first_success() -> None:
    other = call("freeze_card", card_id="CRD-86339")
    told = trace("Freeze 2538 and 4140.", [no_card("2538")], [CARDS_READ], [FREEZE], [other], "Done.")
    assert skills(told)[:3] == [("change_state", (0,)), ("recover", (1, 2)), ("change_state", (3,))]


def test_recovery_is_the_next_message_alone_where_the_tool_is_given_up() -> None:
    told = trace("Freeze 2538.", [no_card("2538")], [CARDS_READ], [ACCOUNTS_READ], "I can't do it.")
    assert skills(told)[1:3] == [("recover", (1,)), ("look_up", (2,))]


def test_changes_by_different_tools_are_subgoals_of_their_own_and_by_one_tool_are_one() -> None:
    limit = call("set_limit", card_id="CRD-92881", limit=5, pin="1")
    other = call("freeze_card", card_id="CRD-86339")
    assert [s for s in skills(trace("Do.", [FREEZE], [other], [limit], "Done.")) if s[0] == "change_state"] == [
        ("change_state", (0, 1)),
        ("change_state", (2,)),
    ]


@pytest.mark.parametrize(
    ("answer", "skill"),
    [
        ("Which account do you mean?", "ask"),
        ("I can't help with that here: no tool of mine does it.", "decline"),
        ("The rest needs a tool that I don't have. Shall I leave it at this?", "decline"),
        ("There is no payee called Zoe.", "report"),
        ("", "report"),
    ],
)
def test_what_an_answer_is(answer: str, skill: str) -> None:
    assert skills(trace("Please.", answer)) == [(skill, ())]


def test_a_turn_without_an_answer_has_one_undone() -> None:
    *_, last = decompose(trace("Show my cards.", [CARDS_READ], stopped=True), FACTS)
    assert last == Subgoal("report", last.text, answer=True)
    assert "no answer" in last.text


def test_what_cannot_be_called_is_a_misfire() -> None:
    unknown = fails("get_balance", "unknown_tool", "There is no tool 'get_balance'.", account="x")
    assert skills(trace("?", [unknown], "Sorry?"))[0][0] == "misfire"
    assert skills(trace("?", [broken("freeze_card")], "Sorry?"))[0][0] == "misfire"


def test_descriptions_hold_no_value() -> None:
    texts = {subgoal.text for trajectory, _ in LABELLED.values() for subgoal in decompose(trajectory, FACTS)}
    assert not [text for text in texts if any(c.isdigit() or c.isupper() for c in text)]
    assert "change the state; send payment; with account, payee; in banking" in texts


def test_an_episode_is_judged_from_its_last_user_message_on() -> None:
    whole = trace("Show me my accounts.", [ACCOUNTS_READ], "I found three.", PAY, BOTH, [SENT], TOLD)
    record = EpisodeRecord(whole.messages, whole.calls, "", "answered")
    again = played("t", VISIBLE, record)
    assert (again.start, again.calls) == (whole.start, whole.calls)
    assert again.messages[again.start].content == PAY
