"""The processor: each of its error codes is reached, and no money is taken or given back twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from servers.payments.model import Customer, Delivery, Dispute, Fault, Intent, Invoice, Refund
from servers.payments.rules import available, status_of
from tests.servers.play import Play

EVIDENCE = "The signed delivery note is on file."
BILL = {"description": "brochure layout", "amount": 120, "due_on": "2026-03-31"}


def customer(play: Play, currency: str = "USD", card: str = "ok") -> Customer:
    return next(row for row in play.rows(Customer) if row.currency == currency and row.card == card)


def billed(play: Play, **changes: str) -> str:
    """A fresh invoice of a customer like this."""
    person = customer(play, **changes)
    amount = 12_000 if person.currency == "JPY" else 120
    invoice = play.ok("create_invoice", customer_email=person.id, **{**BILL, "amount": amount})
    return str(invoice["id"])


def with_card(play: Play, card: str) -> str:
    person = next(row for row in play.rows(Customer) if row.card == card)
    bill = {**BILL, "amount": 12_000}
    return str(play.ok("create_invoice", customer_email=person.id, **bill)["id"])


def payment(play: Play, status: str) -> Any:
    return play.ok("list_payment_intents", status=status, limit=50)["items"][0]


def delivery(play: Play, status: str, endpoint: str) -> str:
    shown = play.ok("list_webhook_deliveries", status=status, query=endpoint, limit=50)["items"]
    return str(shown[0]["id"])


def paid(play: Play) -> str:
    """A new, captured payment of 120 USD."""
    return str(play.ok("create_payment_intent", invoice_id=billed(play), idempotency_key="fresh-1")["id"])


def invalid_amount(play: Play) -> None:
    yen = customer(play, "JPY")
    play.fails("invalid_amount", "create_invoice", customer_email=yen.id, **{**BILL, "amount": 120.5})


def amount_below_minimum(play: Play) -> None:
    someone = customer(play)
    play.fails("amount_below_minimum", "create_invoice", customer_email=someone.id, **{**BILL, "amount": 0.5})
    play.fails("amount_below_minimum", "create_payout", currency="EUR", amount=9.5)


def due_date_not_allowed(play: Play) -> None:
    bill = {**BILL, "due_on": "2026-03-01"}
    play.fails("due_date_not_allowed", "create_invoice", customer_email=customer(play).id, **bill)


def duplicate_invoice(play: Play) -> None:
    billed(play)
    play.fails("duplicate_invoice", "create_invoice", customer_email=customer(play).id, **BILL)


def invoice_already_paid(play: Play) -> None:
    invoice = billed(play)
    play.ok("create_payment_intent", invoice_id=invoice, idempotency_key="once-1")
    play.fails("invoice_already_paid", "create_payment_intent", invoice_id=invoice, idempotency_key="twice-2")


def invoice_void(play: Play) -> None:
    gone = next(row for row in play.rows(Invoice) if row.void)
    play.fails("invoice_void", "create_payment_intent", invoice_id=gone.id, idempotency_key="any-key")


def intent_in_progress(play: Play) -> None:
    held = play.session.table(Intent).require(payment(play, "authorized")["id"], "")
    arguments = {"invoice_id": held.invoice_id, "idempotency_key": "another-key"}
    assert held.id in play.fails("intent_in_progress", "create_payment_intent", **arguments)


def idempotency_key_reused(play: Play) -> None:
    arguments = {"invoice_id": billed(play), "idempotency_key": "my-key-1"}
    play.ok("create_payment_intent", **arguments)
    play.fails("idempotency_key_reused", "create_payment_intent", **arguments, capture_method="manual")


def customer_card_declined(play: Play) -> None:
    invoice = with_card(play, "declined")
    play.fails("customer_card_declined", "create_payment_intent", invoice_id=invoice, idempotency_key="key-1")


def customer_card_expired(play: Play) -> None:
    invoice = with_card(play, "expired")
    play.fails("customer_card_expired", "create_payment_intent", invoice_id=invoice, idempotency_key="key-1")


def not_authorized(play: Play) -> None:
    play.fails("not_authorized", "capture_payment_intent", payment_intent_id=payment(play, "captured")["id"])


def authorization_expired(play: Play) -> None:
    held = payment(play, "authorized")["id"]
    play.wait(days=8)
    play.fails("authorization_expired", "capture_payment_intent", payment_intent_id=held)


def capture_exceeds_authorization(play: Play) -> None:
    held = payment(play, "authorized")["id"]
    play.fails("capture_exceeds_authorization", "capture_payment_intent", payment_intent_id=held, amount=900_000)


def not_captured(play: Play) -> None:
    held = payment(play, "authorized")["id"]
    play.fails("not_captured", "refund_payment_intent", payment_intent_id=held, reason="requested")


def refund_exceeds_captured(play: Play) -> None:
    arguments = {"payment_intent_id": paid(play), "reason": "requested"}
    play.ok("refund_payment_intent", **arguments, amount=100)
    assert "20.00 USD" in play.fails("refund_exceeds_captured", "refund_payment_intent", **arguments, amount=20.01)
    assert play.ok("refund_payment_intent", **arguments)["status"] == "refunded"
    play.fails("refund_exceeds_captured", "refund_payment_intent", **arguments)


def refund_window_closed(play: Play) -> None:
    taken = [row for row in play.rows(Intent) if row.captured_at]
    disputed = {row.intent_id for row in play.rows(Dispute)}
    old = min((row for row in taken if row.id not in disputed), key=lambda row: row.created_at)
    play.fails("refund_window_closed", "refund_payment_intent", payment_intent_id=old.id, reason="duplicate")


def payment_disputed(play: Play) -> None:
    contested = payment(play, "disputed")["id"]
    play.fails("payment_disputed", "refund_payment_intent", payment_intent_id=contested, reason="requested")


def answer(play: Play, intent: str, decision: str = "contest") -> dict[str, object]:
    return {"payment_intent_id": intent, "decision": decision, "evidence": EVIDENCE}


def unanswered(play: Play) -> Dispute:
    now = play.session.now
    return next(row for row in play.rows(Dispute) if not row.answer and row.answer_by > now)


def no_dispute(play: Play) -> None:
    play.fails("no_dispute", "answer_payment_dispute", **answer(play, payment(play, "authorized")["id"]))


def dispute_already_answered(play: Play) -> None:
    dispute = unanswered(play)
    play.ok("answer_payment_dispute", **answer(play, dispute.intent_id))
    play.fails("dispute_already_answered", "answer_payment_dispute", **answer(play, dispute.intent_id, "accept"))
    play.wait(days=11)
    intent = next(row for row in play.rows(Intent) if row.id == dispute.intent_id)
    assert (status_of(play.session, intent) == "charged_back") != dispute.wins


def dispute_deadline_passed(play: Play) -> None:
    dispute = unanswered(play)
    play.wait(days=13)
    play.fails("dispute_deadline_passed", "answer_payment_dispute", **answer(play, dispute.intent_id))


def evidence_required(play: Play) -> None:
    arguments = {"payment_intent_id": unanswered(play).intent_id, "decision": "contest"}
    play.fails("evidence_required", "answer_payment_dispute", **arguments)


def webhook_already_delivered(play: Play) -> None:
    done = delivery(play, "delivered", "shop.example.com")
    play.fails("webhook_already_delivered", "retry_webhook_delivery", webhook_delivery_id=done)


def webhook_attempt_due_soon(play: Play) -> None:
    billed(play)
    new = play.rows(Delivery)[-1]
    play.fails("webhook_attempt_due_soon", "retry_webhook_delivery", webhook_delivery_id=new.id)


def webhook_endpoint_disabled(play: Play) -> None:
    lost = delivery(play, "failed", "oldapp.example.com")
    play.fails("webhook_endpoint_disabled", "retry_webhook_delivery", webhook_delivery_id=lost)


def webhook_endpoint_down(play: Play) -> None:
    waiting = play.ok("list_webhook_deliveries", status="pending", query="crm", limit=50)["items"]
    late = max(waiting, key=lambda row: row["next_attempt"])
    play.fails("webhook_endpoint_down", "retry_webhook_delivery", webhook_delivery_id=late["id"])


def insufficient_balance(play: Play) -> None:
    play.fails("insufficient_balance", "create_payout", currency="GBP", amount=900_000)


def payout_already_today(play: Play) -> None:
    play.ok("create_payout", currency="USD", amount=20)
    play.fails("payout_already_today", "create_payout", currency="USD", amount=20)
    play.wait(days=1)
    play.ok("create_payout", currency="USD", amount=20)


def no_payout_account(play: Play) -> None:
    play.fails("no_payout_account", "create_payout", currency="JPY")


FAULTS: dict[str, Callable[[Play], None]] = {
    name: scenario for name, scenario in globals().items() if name in set(Fault)
}


@pytest.mark.parametrize("fault", sorted(Fault))
def test_fault_is_reached(fault: str) -> None:
    FAULTS[fault](Play("payments"))


def test_the_same_key_charges_once() -> None:
    play = Play("payments")
    arguments = {"invoice_id": billed(play), "idempotency_key": "my-key-1"}
    first = play.ok("create_payment_intent", **arguments)
    state = play.session.state_hash
    assert play.ok("create_payment_intent", **arguments) == first
    assert play.session.state_hash == state


def test_refunds_never_exceed_what_was_captured() -> None:
    for seed in (0, 1):
        play = Play("payments", seed)
        for intent in play.rows(Intent):
            back = [row.amount.minor for row in play.rows(Refund) if row.intent_id == intent.id]
            assert sum(back) <= intent.captured.minor <= intent.amount.minor


def test_captured_money_settles_after_two_days_and_is_paid_out_once() -> None:
    rich, plain = Play("payments"), Play("payments")
    paid(rich)
    gained = []
    for _ in range(3):
        gained.append(available(rich.session, "USD").minor - available(plain.session, "USD").minor)
        rich.wait(days=1)
        plain.wait(days=1)
    gained.append(available(rich.session, "USD").minor - available(plain.session, "USD").minor)
    assert (gained[0], gained[1], gained[3]) == (0, 0, 12_000)
    assert rich.ok("create_payout", currency="USD")["left_in_balance"] == "0.00 USD"


def test_a_partial_capture_settles_the_invoice() -> None:
    play = Play("payments")
    invoice = billed(play)
    held = play.ok("create_payment_intent", invoice_id=invoice, idempotency_key="hold-1", capture_method="manual")
    taken = play.ok("capture_payment_intent", payment_intent_id=held["id"], amount=50)
    assert (taken["captured"], taken["status"]) == ("50.00 USD", "captured")
    arguments = {"payment_intent_id": held["id"], "reason": "requested", "amount": 60}
    play.fails("refund_exceeds_captured", "refund_payment_intent", **arguments)


def test_a_webhook_arrives_by_itself_when_its_endpoint_is_back() -> None:
    play = Play("payments")
    billed(play)
    new = play.rows(Delivery)[-1]
    assert play.ok("list_webhook_deliveries")["items"][0]["status"] == "pending"
    play.wait(hours=36)
    shown = play.ok("list_webhook_deliveries", limit=50)["items"]
    assert next(row["status"] for row in shown if row["id"] == new.id) == "delivered"
