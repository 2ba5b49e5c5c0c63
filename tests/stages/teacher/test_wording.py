"""The scripted teacher's words: what is left out, how registers differ, and answers that claim only what was seen."""

from __future__ import annotations

import json
from typing import Any

import pytest

from servers.kernel.dice import Dice
from servers.kernel.requests import load_requests, placeholders
from stages.teacher import wording
from stages.teacher.wording.nouns import listed, moments, plural, some
from stages.teacher.wording.replies import details
from stages.teacher.wording.requests import left_vague
from tests.stages.synthesize.writing import catalog

PAY = "Pay {amount} to {payee_id.name} from {source_account_id.name}. My PIN is {pin}."
VALUES = {"amount": "25", "payee_id.name": "Fibernet", "source_account_id.name": "Everyday", "pin": "1234"}


def sentence(ask: str = PAY, withheld: tuple[str, ...] = (), **values: str) -> dict[str, Any]:
    return {"ask": ask, "values": values or VALUES, "parents": (), "withheld": withheld}


@pytest.mark.parametrize(
    ("ask", "parameter", "left"),
    [
        (PAY, "pin", "Pay {amount} to {payee_id.name} from {source_account_id.name}."),
        (PAY, "source_account_id", "Pay {amount} to {payee_id.name}. My PIN is {pin}."),
        (PAY, "amount", "Pay some money to {payee_id.name} from {source_account_id.name}. My PIN is {pin}."),
        ("Freeze my card {card_id.label}.", "card_id", "Freeze one of my cards."),
        ("details for {account_id.name} pls", "account_id", "details pls"),
        ("Is {account_id.name} frozen?", "account_id", "Is one of my accounts frozen?"),
        ("Make {card_id.label} usable again? My PIN is {pin}.", "pin", "Make {card_id.label} usable again?"),
        ("I owe {p.name} {amount}. Use {a.name}; the PIN is {pin}.", "a", "I owe {p.name} {amount}. The PIN is {pin}."),
        ("{vehicle_id.name}'s doors?", "vehicle_id", "My vehicle's doors?"),
        ("Show {query}.", "other", "Show {query}."),
    ],
)
def test_what_is_withheld_is_left_out_as_people_do(ask: str, parameter: str, left: str) -> None:
    assert left_vague(ask, parameter) == left


def test_nothing_withheld_is_ever_mentioned_in_any_phrasing_of_any_tool() -> None:
    for server in catalog().servers.values():
        for name, entry in load_requests(server).items():
            for ask in entry.ask:
                for parameter in placeholders(ask):
                    left = left_vague(ask, parameter)
                    assert parameter not in placeholders(left) and len(left) > 3, (name, ask, left)
                    assert "  " not in left and left == left.strip(), (name, ask, left)


def test_registers_differ_in_more_than_their_greeting() -> None:
    orders = [sentence("Cancel the {order}.", order="pizza"), sentence("Show my {kind}.", kind="orders")]
    said = {p: {wording.request(orders, p, "done", False, Dice(n, p)) for n in range(30)} for p in wording.PERSONAS}
    assert all(len(texts) > 1 for texts in said.values())
    for persona, texts in said.items():
        assert all("pizza" in text and "orders" in text for text in texts)
        others = set().union(*(said[other] for other in said if other != persona))
        assert len(texts - others) >= len(texts) / 2, persona
    assert any(text.startswith("Thank you. Could you please cancel the pizza?") for text in said["polite"])
    assert not any("please" in text.casefold() for text in said["terse"] | said["plain"])


def test_a_persona_prefers_phrasings_of_its_own_kind() -> None:
    assert wording.liking("terse", "cancel {x}") > wording.liking("terse", "Could you cancel {x}, please?")
    assert wording.liking("formal", "Could you cancel {x}, please?") > wording.liking("formal", "cancel {x}")
    assert all(wording.liking(p, ask) > 0 for p in wording.PERSONAS for ask in ("x", "Do {x}.", "Please {x}"))


def test_a_follow_up_after_a_failure_asks_to_try_again() -> None:
    text = wording.request([sentence("Unfreeze {card}.", card="Gold")], "plain", "failed", True, Dice(1, "x"))
    assert text.startswith(("I see. Unfreeze Gold.", "All right. Unfreeze Gold."))
    assert text.rsplit("Gold. ", 1)[1] in ("Then try that again.", "After that, try again.", "Then it should work.")


def test_a_question_lists_options_only_if_a_few_were_shown() -> None:
    few = json.dumps({"items": [{"id": "A", "name": "Everyday"}, {"id": "B", "name": "Savings"}], "total": 2})
    many = json.dumps({"items": [{"name": str(n)} for n in range(9)]})
    assert wording.question(["account_id"], [few], Dice(1, "q")) == "Which account do you mean: Everyday or Savings?"
    both = wording.question(["account_id", "amount"], [few], Dice(1, "q"))
    assert both.endswith("Everyday or Savings? And could you tell me the amount?")
    for shown in ([], [many], [json.dumps({"items": []})]):
        text = wording.question(["account_id"], shown, Dice(1, "q"))
        assert "account" in text and ":" not in text and text.endswith("?")


def turn(*ran: tuple[str, dict[str, Any], dict[str, Any]]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "…"}]
    for number, (name, arguments, result) in enumerate(ran):
        call = {"id": f"c{number}", "function": {"name": name, "arguments": json.dumps(arguments)}}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": json.dumps(result)},
        ]
    return messages


def action(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def test_an_answer_tells_what_worked_and_what_did_not() -> None:
    refused = {"error": {"code": "limit", "message": "The daily limit is reached"}}
    messages = turn(
        ("list_cards", {}, {"items": []}),
        ("send_payment", {"amount": 5}, refused),
        ("freeze_card", {"card_id": "C"}, {"id": "C", "label": "Gold", "status": "frozen", "since": "2026-03-02"}),
    )
    told = wording.answer(
        [action("send_payment", amount=5), action("freeze_card", card_id="C")], messages, Dice(1, "a")
    )
    assert told.startswith(
        "I've frozen the card: Gold, status frozen. I could not send the payment: The daily limit is reached."
    )
    assert "list" not in told


def test_an_answer_after_a_repair_does_not_tell_of_the_slip() -> None:
    wrong = {"error": {"code": "invalid_arguments", "message": "amount must be a number"}}
    messages = turn(("pay", {"amount": "5"}, wrong), ("pay", {"amount": 5}, {"amount": "5.00 USD"}))
    assert wording.answer([action("pay", amount=5)], messages, Dice(1, "a")).startswith("I've paid it: amount 5.00 USD")


def test_lists_are_counted_and_the_rest_is_not_hidden() -> None:
    def told(items: list[dict[str, Any]], total: int) -> str:
        return wording.answer(
            [action("list_cards")], turn(("list_cards", {}, {"items": items, "total": total})), Dice(1, "")
        )

    cards = [{"id": str(n), "label": f"Card {n}"} for n in range(5)]
    assert told([], 0) == "I found no cards that fit."
    assert told(cards[:1], 1) == "I found 1 card: Card 0."
    assert told(cards[:2], 2) == "I found 2 cards: Card 0 and Card 1."
    assert told(cards, 40) == "I found 40 cards; the first are Card 0, Card 1 and Card 2."


def test_days_and_times_are_said_as_people_do() -> None:
    assert moments("due 2026-03-05") == "due 5 March 2026"
    assert moments("2026-12-24T09:30:00Z, 2026-13-01") == "24 December 2026 at 09:30, 2026-13-01"
    assert listed(["a"]) == "a" and listed(["a", "b", "c"], "or") == "a, b or c"
    assert some("account_id", True) == "one of my accounts" and some("city", True) == "one of the cities"


def test_what_is_plural_already_stays_so() -> None:
    assert left_vague("Log {hours} hours on {issue_key}", "hours") == "Log some hours on {issue_key}"
    assert left_vague("Forward it to {recipients.name}", "recipients") == "Forward it"
    assert left_vague("{recipients.name} should see it", "recipients") == "One of my recipients should see it"
    told = {details({"recipients": "Ann and Bo"}, (), "plain", Dice(seed, "x")) for seed in range(9)}
    assert "The recipients are Ann and Bo." in told and not any("recipients is" in text for text in told)
    forwarded = turn(("draft_forward", {}, {"id": "D", "subject": "Fwd: x"}))
    assert wording.answer([action("draft_forward")], forwarded, Dice(1, "a")).startswith("I've drafted the forward")
    assert plural("address") == "addresses" and plural("status") == "statuses" and plural("entry") == "entries"
