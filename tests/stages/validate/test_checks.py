"""Each way in which a conversation can be broken is found, named and rejected."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from servers.kernel.session import Session
from stages.conversations import Conversation, Turn
from stages.params import ValidateParams
from stages.records import ExecutedCall, Json, Message, ToolCall
from stages.stage import StageContext
from stages.synthesize.truth import ground_truth
from stages.validate.__main__ import check
from stages.validate.duplicates import Deduplicator, jaccard, signature
from stages.validate.provenance import check_provenance
from stages.validate.reasons import Reason, Rejection
from stages.validate.replay import check_replay
from stages.validate.structure import check_structure
from tests.stages.synthesize.writing import SEED, SERVERS, catalog, conversations

Step = tuple[str, dict[str, Json]]


def judged(conversation: Conversation) -> Rejection | None:
    ctx = StageContext("validate", ValidateParams(), SEED, {"bootstrap": {"servers": list(SERVERS)}})
    return check(ctx, conversation, Deduplicator(0.7))


def played(*turns: tuple[str, list[Step]]) -> Conversation:
    """A conversation of the bank in which each turn makes its calls one by one, recorded as it runs."""
    session = Session(catalog().world(SEED))
    messages: list[Message] = []
    done: list[Turn] = []
    for text, steps in turns:
        session.user_turn()
        start, calls = len(messages), list[ExecutedCall]()
        messages.append(Message("user", text))
        for name, arguments in steps:
            outcome = catalog().call(session, name, arguments)
            call = ToolCall(f"call_{len(messages)}", name, arguments)
            calls.append(
                ExecutedCall(name, arguments, len(messages), True, outcome.ok, outcome.text, outcome.error_code)
            )
            messages += [Message("assistant", "", (call,)), Message("tool", outcome.text, tool_call_id=call.id)]
        messages.append(Message("assistant", "Done."))
        done.append(Turn(start, tuple(calls), ground_truth(catalog(), calls), session.state_hash))
    return replace(conversations()[0], messages=tuple(messages), turns=tuple(done))


def ids(kind: str, **columns: str) -> str:
    rows = catalog().world(SEED).rows.tables[f"banking.{kind}"]
    return next(key for key, row in rows.items() if all(getattr(row, k) == v for k, v in columns.items()))


def column(kind: str, key: str, name: str) -> str:
    return str(getattr(catalog().world(SEED).rows.tables[f"banking.{kind}"][key], name))


CHECKING, SAVINGS = ids("Account", name="Everyday Checking"), ids("Account", name="Rainy Day Savings")
JOINT = ids("Account", name="Household Joint")
PIN = column("Account", CHECKING, "pin")
LOOKUP: Step = ("list_accounts", {})


def move(**changes: Json) -> Step:
    return (
        "transfer_between_accounts",
        {"source_account_id": CHECKING, "target_account_id": SAVINGS, "amount": 25, **changes},
    )


ASK = "Move 25 from Everyday Checking to Rainy Day Savings."


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


# Sources.


def test_a_secret_that_nobody_gave_is_found_and_one_that_was_said_is_not() -> None:
    payee = ids("Payee", currency="USD")
    name = column("Payee", payee, "name")
    pay: Step = ("send_payment", {"source_account_id": CHECKING, "payee_id": payee, "amount": 30, "pin": PIN})
    steps: list[Step] = [LOOKUP, ("list_payees", {"query": name}), pay]
    text = f"Pay 30 to {name} from Everyday Checking."
    found = judged(played((text, steps)))
    assert found is not None and found.reason is Reason.UNTRACED_SECRET and "send_payment(pin=" in found.detail
    assert judged(played((f"{text} My PIN is {PIN}.", steps))) is None
    later = judged(played((text, steps), (f"My PIN was {PIN}.", [])))
    assert later is not None and later.reason is Reason.UNTRACED_SECRET


@pytest.mark.parametrize(
    ("text", "amount"),
    [("Move 25 from", 25), ("Move 25.00 USD from", 25), ("Move 25.5 from", 25.5), ("Move 25 from", 25.0)],
)
def test_numbers_are_compared_by_value(text: str, amount: float) -> None:
    asked = f"{text} Everyday Checking to Rainy Day Savings."
    assert judged(played((asked, [LOOKUP, move(amount=amount)]))) is None


def test_a_part_of_a_number_is_not_that_number() -> None:
    found = judged(played(("Move 250 from Everyday Checking to Rainy Day Savings.", [LOOKUP, move(amount=25)])))
    assert found is not None and found.reason is Reason.UNTRACED_ARGUMENT


def test_a_result_counts_only_from_its_own_call_on() -> None:
    """Half of the balance is on show after half of it has left, and not before."""
    rows = catalog().world(SEED).rows.tables["banking.Account"]
    cents = {key: getattr(row, "balance").minor for key, row in rows.items()}  # noqa: B009
    source = next(key for key in (CHECKING, SAVINGS, JOINT) if cents[key] % 2 == 0)
    target = next(key for key in (CHECKING, SAVINGS, JOINT) if key != source)
    half = cents[source] / 200
    names = [column("Account", key, "name") for key in (source, target)]
    steps = [LOOKUP, move(source_account_id=source, target_account_id=target, amount=half), LOOKUP]
    text = "Move {} from {} to {}. Then show me all accounts."
    assert judged(played((text.format(half, *names), steps))) is None
    found = judged(played((text.format("half", *names), steps)))
    assert found is not None and found.reason is Reason.UNTRACED_ARGUMENT and str(half) in found.detail


def test_how_much_of_a_list_is_read_needs_no_source() -> None:
    assert judged(played(("Who are my payees?", [("list_payees", {"limit": 17, "offset": 3})]))) is None


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


# Near-duplicates.


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
    ctx = StageContext("validate", ValidateParams(), SEED, {"bootstrap": {"servers": list(SERVERS)}})
    known, made = Deduplicator(0.7), replace(played((ASK, [LOOKUP, move()])), id="a")
    assert check(ctx, made, known) is None
    assert check(ctx, replace(made, id="b"), known) == Rejection(Reason.NEAR_DUPLICATE, "repeats a")
