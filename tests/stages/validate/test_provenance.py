"""Every literal has an origin that can be named, and secrets have a strict one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from stages.conversations import Conversation
from stages.records import ExecutedCall, Json, Message, ToolCall, TruthCall
from stages.validate.origins import PROVENANCE, leaves, provenance_rows
from stages.validate.provenance import check_provenance, trace
from stages.validate.reasons import Reason, Rejection
from stages.validate.sources import Source, occurs
from tests.stages.synthesize.writing import SEED, catalog, conversations
from tests.stages.validate.acting import (
    ASK,
    CHECKING,
    JOINT,
    LOOKUP,
    PIN,
    SAVINGS,
    Step,
    column,
    ids,
    judged,
    move,
    played,
)


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


def told(conversation: Conversation) -> dict[tuple[int, int, str], tuple[str, int]]:
    origins = trace(catalog(), conversation)
    assert not isinstance(origins, Rejection)
    return {(o.turn, o.call, o.argument): (o.source, o.message) for o in origins}


def test_each_literal_says_where_it_comes_from() -> None:
    made = played((ASK, [LOOKUP, move()]), ("Show me 3 payees.", [("list_payees", {"limit": 3, "offset": 0})]))
    assert told(made) == {
        (0, 1, "source_account_id"): ("result", 2),
        (0, 1, "target_account_id"): ("result", 2),
        (0, 1, "amount"): ("user", 0),
        (1, 0, "limit"): ("user", 6),
        (1, 0, "offset"): ("default", -1),
    }
    free = played(("Show me some payees.", [("list_payees", {"limit": 3})]))
    assert told(free) == {(0, 0, "limit"): ("choice", -1)}


def test_what_the_user_said_is_the_users_though_a_result_shows_it_too() -> None:
    made = played((f"Move 25 from {CHECKING} to {SAVINGS}.", [LOOKUP, move()]))
    assert told(made)[0, 1, "source_account_id"] == ("user", 0)


def test_every_literal_of_the_scripted_teacher_has_exactly_one_row() -> None:
    for made in conversations():
        origins = trace(catalog(), made)
        assert not isinstance(origins, Rejection)
        rows = list(provenance_rows(made.id, origins))
        assert all(set(row) == set(PROVENANCE.names) for row in rows)
        calls = [(t, c, call) for t, turn in enumerate(made.turns) for c, call in enumerate(turn.truth)]
        wanted = [
            (t, c, path, leaf) for t, c, call in calls for k, v in call.arguments.items() for path, leaf in leaves(k, v)
        ]
        assert [(r["turn"], r["call"], r["argument"], json.loads(r["value"])) for r in rows] == wanted
        for row in rows:
            if row["source"] in ("user", "result"):
                source = made.messages[row["message"]]
                assert source.role == ("user" if row["source"] == "user" else "tool")


def test_paths_lead_to_every_leaf() -> None:
    value: Json = {"guests": [{"email": "a@b.c"}, {"email": None}], "days": []}
    assert dict(leaves("party", value)) == {"party.guests[0].email": "a@b.c", "party.guests[1].email": None}


def parallel(conversation: Conversation) -> Conversation:
    """The first two calls of the only turn in one message, as if both had been asked at once."""
    (turn,) = conversation.turns
    first, second, *_ = turn.calls
    messages = conversation.messages
    calls = Message("assistant", "", (*messages[1].tool_calls, *messages[3].tool_calls))
    merged = (messages[0], calls, messages[2], messages[4], *messages[5:])
    moved = (replace(first, position=1), replace(second, position=1), *turn.calls[2:])
    return replace(conversation, messages=merged, turns=(replace(turn, calls=moved),))


def test_a_parallel_call_does_not_see_its_siblings_result() -> None:
    made = played((ASK, [LOOKUP, move()]))
    assert check_provenance(catalog(), made) is None
    found = check_provenance(catalog(), parallel(made))
    assert found is not None and found.reason is Reason.UNTRACED_ARGUMENT and CHECKING in found.detail


# Secrets.


@pytest.mark.parametrize("said", ["{}0", "1{}", "x{}", "{}x"])
def test_a_secret_inside_a_longer_word_is_not_given(said: str) -> None:
    card = ids("Card", status="frozen", account_id=CHECKING)
    thaw: Step = ("unfreeze_card", {"card_id": card, "pin": PIN})
    assert judged(played((f"Unfreeze {card}, PIN {PIN}.", [thaw]))) is None
    found = judged(played((f"Unfreeze {card}, PIN {said.format(PIN)}.", [thaw])))
    assert found is not None and found.reason is Reason.UNTRACED_SECRET and "unfreeze_card(pin=" in found.detail


def test_a_secret_is_found_letter_by_letter_and_other_text_in_any_case() -> None:
    source = Source("user", 0, "The password is Copper-77, and open my REPORTS folder.")
    assert source.has_exactly("Copper-77") and not source.has_exactly("copper-77")
    assert source.has("reports") and not source.has("report")


# Numbers and words.


@pytest.mark.parametrize(
    ("text", "value", "there"),
    [
        ("pay 25", 25, True),
        ("pay 1,250.50 now", 1250.5, True),
        ("25kg", 25, True),
        ("take -5 off", 5, True),
        ("on 2026-03-05", 5, False),
        ("ACC-25", 25, False),
        ("v2.5", 2.5, False),
        ("2.50", 2.5, True),
        ("room 250", 25, False),
        ("at 14:30", 30, True),
    ],
)
def test_a_number_is_there_when_it_stands_alone(text: str, value: float, there: bool) -> None:
    assert Source("user", 0, text).has(value) is there


@pytest.mark.parametrize(
    ("words", "text", "there"),
    [
        ("flat", "flatbed", False),
        ("flat", "my flat.", True),
        ("/a/b", "x/a/b", True),
        ("b.txt", "ab.txt", False),
        ("no", "nowhere, no", True),
        ("", "x", True),
    ],
)
def test_words_are_whole(words: str, text: str, there: bool) -> None:
    assert occurs(words, text) is there


def test_an_enum_is_said_with_spaces_and_escapes_are_read() -> None:
    assert Source("user", 0, "Make it in progress").has("in_progress")
    assert Source("result", 0, json.dumps({"a": 'say "hi"\nnow'})).has('say "hi"\nnow')


# Flags.


def flagged(text: str, value: bool, error: str = "", tool: str = "create_budget_category") -> Any:
    """What becomes of a call with the flag `strict` (a change), the user and an earlier error having said this."""
    arguments: dict[str, Json] = {"name": "Books", "monthly_limit": 50, "strict": value}
    result = '{"id":"x"}'
    messages = [Message("user", text)]
    calls: list[ExecutedCall] = []
    for ok, given, answer in ([(False, {"name": "Books"}, error)] if error else []) + [(True, arguments, result)]:
        call = ToolCall(f"c{len(messages)}", tool, given)
        calls.append(ExecutedCall(tool, given, len(messages), True, ok, answer))
        messages += [Message("assistant", "", (call,)), Message("tool", answer, tool_call_id=call.id)]
    messages.append(Message("assistant", "Done."))
    turn = replace(conversations()[0].turns[0], start=0, calls=tuple(calls), truth=(TruthCall(tool, arguments),))
    return trace(catalog(), replace(conversations()[0], messages=tuple(messages), turns=(turn,)))


def test_a_flag_of_a_change_is_said_or_the_default() -> None:
    ask = "Add a category Books with 50 a month."
    assert isinstance(flagged(ask, True), Rejection)
    assert {o.source for o in flagged(ask, False) if o.argument == "strict"} == {"default"}
    (said,) = (o for o in flagged(f"{ask} Be strict about it.", True) if o.argument == "strict")
    assert (said.source, said.message) == ("user", 0)
    (asked,) = (o for o in flagged(ask, True, '{"error":"pass strict to go on"}') if o.argument == "strict")
    assert (asked.source, asked.message) == ("result", 2)
    assert isinstance(flagged(ask, True, '{"error":"too strictly"}'), Rejection)


def test_what_an_error_repeats_is_no_source() -> None:
    found = flagged("Add a category Books.", False, '{"error":"there is nothing for 50"}')
    assert isinstance(found, Rejection) and "monthly_limit=50" in found.detail
