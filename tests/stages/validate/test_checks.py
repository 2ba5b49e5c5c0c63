"""Each way in which a conversation can be broken is found, named and rejected."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

import pytest

from servers.kernel.catalog import Catalog
from servers.kernel.server import Outcome
from servers.kernel.session import Session
from stages.conversations import Conversation
from stages.records import Json, Message
from stages.validate.provenance import check_provenance
from stages.validate.reasons import Reason
from stages.validate.replay import check_replay
from stages.validate.structure import check_structure
from tests.stages.synthesize.writing import catalog, conversations
from tests.stages.validate.acting import ASK, CHECKING, JOINT, LOOKUP, Step, judged, move, played


def test_what_the_scripted_teacher_writes_is_valid() -> None:
    for made in conversations():
        found = check_structure(made) or check_provenance(catalog(), made) or check_replay(catalog(), made, 1.0)
        assert found is None, (made.id, found)
    assert judged(played((ASK, [LOOKUP, move()]))) is None


# Gold that does not run.


def in_truth(conversation: Conversation, change: Callable[[dict[str, Json]], Mapping[str, Json]]) -> Conversation:
    """The same conversation with the arguments of the last ground-truth call changed."""
    *others, turn = conversation.turns
    *calls, last = turn.truth
    spoilt = replace(last, arguments=change(dict(last.arguments)))
    return replace(conversation, turns=(*others, replace(turn, truth=(*calls, spoilt))))


def without(name: str) -> Callable[[dict[str, Json]], Mapping[str, Json]]:
    return lambda arguments: {key: value for key, value in arguments.items() if key != name}


def test_a_missing_argument_is_named() -> None:
    found = judged(in_truth(played((ASK, [LOOKUP, move()])), without("amount")))
    assert found is not None and found.reason is Reason.TRUTH_FAILS
    assert "transfer_between_accounts" in found.detail and "'amount' is missing" in found.detail


def test_a_value_that_appears_nowhere_is_named() -> None:
    ran = judged(played((ASK, [LOOKUP, move(amount=777)])))
    gold = judged(in_truth(played((ASK, [LOOKUP, move()])), lambda a: {**a, "amount": 777}))
    for found in (ran, gold):
        assert found is not None and found.reason is Reason.UNTRACED_ARGUMENT
        assert "transfer_between_accounts(amount=777)" in found.detail


def test_an_identifier_that_nothing_showed_is_named() -> None:
    found = judged(played((ASK, [move()])))
    assert found is not None and found.reason is Reason.UNTRACED_ARGUMENT and CHECKING in found.detail


def test_two_sources_that_disagree_are_named() -> None:
    found = judged(played((ASK, [LOOKUP, move(source_account_id=JOINT)])))
    assert found is not None and found.reason is Reason.CONFLICTING_SOURCE
    assert f'source_account_id="{JOINT}"' in found.detail and "Everyday Checking" in found.detail


def test_a_ground_truth_that_never_ran_is_named() -> None:
    made = played(("Do I have City Gym and Fibernet saved?", [("list_payees", {"query": "City Gym"})]))
    found = judged(in_truth(made, lambda a: {**a, "query": "Fibernet"}))
    assert found is not None and found.reason is Reason.TRUTH_FAILS and "Fibernet" in found.detail


def test_an_unknown_tool_and_an_unknown_argument_are_named() -> None:
    made = played((ASK, [LOOKUP, move()]))
    found = judged(in_truth(made, lambda a: {**a, "colour": "red"}))
    assert found is not None and found.reason is Reason.TRUTH_FAILS and "colour" in found.detail
    (turn,) = made.turns
    call = replace(turn.truth[-1], name="teleport")
    found = judged(replace(made, turns=(replace(turn, truth=(turn.truth[0], call)),)))
    assert found is not None and found.reason is Reason.UNKNOWN_TOOL and "teleport" in found.detail


def runs(made: Conversation) -> int:
    """Calls that the replay of a valid conversation makes."""
    counted = CountedCalls(catalog())
    assert check_replay(cast("Catalog", counted), made, 1.0) is None
    return counted.calls


class CountedCalls:
    """A catalogue that counts the calls it runs."""

    def __init__(self, inner: Catalog) -> None:
        self.world, self._inner, self.calls = inner.world, inner, 0

    def call(self, session: Session, name: str, arguments: Mapping[str, Any]) -> Outcome:
        self.calls += 1
        return self._inner.call(session, name, arguments)


def test_a_ground_truth_that_is_the_whole_turn_runs_once_and_any_other_on_its_own() -> None:
    assert runs(played((ASK, [LOOKUP, move()]))) == 2
    assert runs(played((ASK, [LOOKUP, move(amount="much"), move()]))) == 3 + 2
    made = played((ASK, [LOOKUP, move()]))
    (turn,) = made.turns
    assert runs(replace(made, turns=(replace(turn, truth=turn.truth[1:]),))) == 2 + 1


def test_a_ground_truth_that_equals_the_turn_only_for_python_runs_on_its_own() -> None:
    made = played(("Show me one of my payees.", [("list_payees", {"limit": 1})]))
    found = check_replay(catalog(), in_truth(made, lambda a: {**a, "limit": True}), 1.0)
    assert found is not None and found.reason is Reason.TRUTH_FAILS and "limit" in found.detail


# Ragged conversations.


def edited(conversation: Conversation, change: Callable[[list[Message]], Any]) -> Conversation:
    messages = list(conversation.messages)
    change(messages)
    return replace(conversation, messages=tuple(messages))


def cut(messages: list[Message]) -> None:
    messages[2] = replace(messages[2], content=messages[2].content[:-9])


def renamed(messages: list[Message]) -> None:
    (call,) = messages[1].tool_calls
    messages[1] = replace(messages[1], tool_calls=(replace(call, name="list_cards"),))


@pytest.mark.parametrize(
    ("change", "reason", "place"),
    [
        (lambda m: m.__delitem__(slice(4, None)), Reason.RAGGED, "end"),  # last message is a call
        (lambda m: m.__delitem__(slice(5, None)), Reason.RAGGED, "end"),  # last message is a result
        (lambda m: m.pop(4), Reason.RAGGED, "message 4"),  # a call without its result, at the end
        (lambda m: m.pop(2), Reason.RAGGED, "message 2"),  # a call without its result
        (lambda m: m.pop(1), Reason.RAGGED, "message 1"),  # a result without its call
        (cut, Reason.RAGGED, "message 2"),
        (lambda m: m.insert(5, Message("assistant", " ")), Reason.EMPTY_ROUND, "message 5"),
        (lambda m: m.__setitem__(2, replace(m[2], tool_call_id="other")), Reason.RAGGED, "message 2"),
        (lambda m: m.append(Message("user", "and?")), Reason.RAGGED, "end"),
        (lambda m: m.clear(), Reason.RAGGED, "end"),
        (lambda m: m.insert(0, Message("user", "hm")), Reason.RAGGED, "turns begin"),
        (renamed, Reason.RAGGED, "turn 0"),
        (lambda m: m.__setitem__(2, replace(m[2], content='{"items":[]}')), Reason.RAGGED, "turn 0"),
    ],
)
def test_a_ragged_conversation_is_rejected(change: Callable[[list[Message]], Any], reason: Reason, place: str) -> None:
    found = judged(edited(played((ASK, [LOOKUP, move()])), change))
    assert found is not None and found.reason is reason and place in found.detail


# Replay.


def recorded(conversation: Conversation, **changes: Any) -> Conversation:
    """The first call's record changed, in the turn and in the message alike."""
    (turn,) = conversation.turns
    first = replace(turn.calls[0], **changes)
    made = replace(conversation, turns=(replace(turn, calls=(first, *turn.calls[1:])),))
    return edited(made, lambda m: m.__setitem__(2, replace(m[2], content=first.result)))


def test_a_result_that_does_not_come_again_is_found() -> None:
    made = played((ASK, [LOOKUP, move()]))
    result = made.turns[0].calls[0].result.replace("Everyday", "Everynight", 1)
    found = check_replay(catalog(), recorded(made, result=result), 0.3)
    assert found is not None and found.reason is Reason.REPLAY_DIFFERS and "list_accounts" in found.detail


def test_another_end_state_is_found() -> None:
    made = played((ASK, [LOOKUP, move()]))
    found = judged(replace(made, turns=(replace(made.turns[0], state_hash="0" * 32),)))
    assert found is not None and found.reason is Reason.REPLAY_DIFFERS and "another state" in found.detail


def test_a_ground_truth_with_a_write_left_out_is_found() -> None:
    made = played((ASK, [LOOKUP, move()]))
    (turn,) = made.turns
    found = judged(replace(made, turns=(replace(turn, truth=turn.truth[:1]),)))
    assert found is not None and found.reason is Reason.TRUTH_FAILS


def test_a_replay_begins_on_a_fresh_session() -> None:
    made = played((ASK, [LOOKUP, move()]))
    assert all(check_replay(catalog(), made, 0.3) is None for _ in range(2))


@pytest.mark.parametrize(("errors", "limit", "rejected"), [(1, 0.3, True), (1, 0.34, False), (0, 0.0, False)])
def test_too_many_errors_reject_and_an_empty_result_is_none(errors: int, limit: float, rejected: bool) -> None:
    bad: list[Step] = [("freeze_card", {"card_id": "Everyday Checking"})] * errors
    made = played((f"{ASK} nobody", [*bad, LOOKUP, ("list_payees", {"query": "nobody"})]))
    assert json.loads(made.turns[0].calls[-1].result)["total"] == 0
    found = check_replay(catalog(), made, limit)
    assert (found is not None and found.reason is Reason.ERROR_RATE) == rejected
