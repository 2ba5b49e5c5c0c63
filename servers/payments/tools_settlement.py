"""What follows a charge: refunds, disputes, webhooks and payouts."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Annotated

from pydantic import Field

from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.types import Amount
from servers.payments.model import (
    Currency,
    Decision,
    Delivery,
    DeliveryId,
    DeliveryStatus,
    Dispute,
    Fault,
    IntentId,
    Payout,
    Refund,
    RefundReason,
)
from servers.payments.rules import (
    DISPUTE_DECISION,
    available,
    delivery_status,
    dispute_of,
    dispute_outcome,
    endpoint_of,
    intent_of,
    invoice_of,
    is_down,
    least_payout,
    money,
    notify,
    refunded,
    status_of,
)
from servers.payments.server import server
from servers.payments.views import (
    DeliveryView,
    DisputeAnswered,
    PayoutView,
    Refunded,
)

REFUND_WINDOW = timedelta(days=180)
DUE_SOON = timedelta(minutes=10)
PAYOUT_TIME = timedelta(days=2)


@server.tool()
def refund_payment_intent(
    session: Session, payment_intent_id: IntentId, reason: RefundReason, amount: Amount | None = None
) -> Refunded:
    """Give back a captured payment, all that is left of it or a part.

    Args:
        payment_intent_id: the payment, from list_payment_intents.
        reason: why it goes back.
        amount: how much in its currency; all that is left when left out.

    Raises:
        not_captured: no money was taken.
        payment_disputed: the bank decides about it.
        refund_window_closed: it was captured more than 180 days ago.
        refund_exceeds_captured: less than that is left.
        amount_below_minimum: it is too little to send.
        invalid_amount: the currency has no such fraction.
    """
    intent = intent_of(session, payment_intent_id)
    status = status_of(session, intent)
    if intent.captured_at is None:
        raise ToolError(Fault.NOT_CAPTURED, f"The payment is {status}; no money was taken, so none can go back.")
    if status in ("disputed", "charged_back"):
        raise ToolError(
            Fault.PAYMENT_DISPUTED, f"The payment is {status}; use answer_payment_dispute while it is open."
        )
    last = intent.captured_at + REFUND_WINDOW
    if session.now > last:
        raise ToolError(Fault.REFUND_WINDOW_CLOSED, f"It could be refunded until {last:%Y-%m-%d}.")
    left = intent.captured - refunded(session, intent)
    total = money(amount, left.currency) if amount is not None else left
    if total > left or not left.minor:
        raise ToolError(
            Fault.REFUND_EXCEEDS_CAPTURED, f"Of {intent.captured} captured, {left} is left to refund. Refund no more."
        )
    row = Refund(session.new_id("MREF"), intent.id, total, reason, session.now)
    session.table(Refund).add(row)
    notify(session, "refund.created", invoice_of(session, intent.invoice_id).customer_email)
    return Refunded(row.id, total, left - total, status_of(session, intent))


@server.tool()
def answer_payment_dispute(
    session: Session,
    payment_intent_id: IntentId,
    decision: Decision,
    evidence: Annotated[str, Field(max_length=300)] = "",
) -> DisputeAnswered:
    """Accept or contest the customer's dispute over a payment, once and before its deadline.

    Args:
        payment_intent_id: the disputed payment, from list_payment_intents.
        decision: accept gives the money back; contest asks the bank to decide.
        evidence: what speaks for the merchant; needed to contest.

    Raises:
        no_dispute: nobody disputes the payment.
        dispute_already_answered: the answer stands.
        dispute_deadline_passed: it was lost without an answer.
        evidence_required: contesting needs evidence.
    """
    intent = intent_of(session, payment_intent_id)
    dispute = dispute_of(session, intent)
    if dispute is None:
        raise ToolError(
            Fault.NO_DISPUTE, "Nobody disputes this payment; list_payment_intents with status disputed helps."
        )
    if dispute.answer:
        outcome = dispute_outcome(session, dispute)
        raise ToolError(Fault.DISPUTE_ALREADY_ANSWERED, f"It was answered with {dispute.answer} and is now {outcome}.")
    if session.now >= dispute.answer_by:
        raise ToolError(Fault.DISPUTE_DEADLINE_PASSED, f"The answer was due by {dispute.answer_by:%Y-%m-%d %H:%M} UTC.")
    if decision == "contest" and len(evidence.strip()) < 10:
        raise ToolError(
            Fault.EVIDENCE_REQUIRED,
            f"The complaint is '{dispute.reason}'; contest it with at least a sentence of evidence.",
        )
    session.table(Dispute).put(replace(dispute, answer=decision, answered_at=session.now))
    decided = (session.now + DISPUTE_DECISION).date() if decision == "contest" else None
    return DisputeAnswered(intent.id, dispute.reason, intent.captured, status_of(session, intent), decided)


@server.tool(read_only=True)
def list_webhook_deliveries(
    session: Session,
    query: Query = "",
    status: DeliveryStatus | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[DeliveryView]:
    """List webhook deliveries with ids, endpoints and status, newest first.

    Args:
        query: words of the event, the endpoint or the customer's e-mail address.
        status: only deliveries in this status.
        limit: most deliveries to return.
        offset: how many to skip.
    """
    rows = search(session.table(Delivery).all(), query, lambda d: f"{d.event} {endpoint_of(session, d).url} {d.about}")
    rows = [row for row in rows if status is None or delivery_status(session, row)[0] == status]
    rows.sort(key=lambda row: (-row.created_at.timestamp(), row.id))
    page = paginate(rows, limit, offset)
    return Page([_delivery_view(session, row) for row in page.items], page.total, page.next_offset)


@server.tool()
def retry_webhook_delivery(session: Session, webhook_delivery_id: DeliveryId) -> DeliveryView:
    """Send a failed or pending webhook again now, when its endpoint answers again.

    Args:
        webhook_delivery_id: the delivery, from list_webhook_deliveries.

    Raises:
        webhook_already_delivered: it arrived.
        webhook_endpoint_disabled: the endpoint is switched off.
        webhook_attempt_due_soon: it is tried by itself within ten minutes.
        webhook_endpoint_down: the endpoint doesn't answer.
    """
    row = session.table(Delivery).require(webhook_delivery_id, "list_webhook_deliveries shows the valid ids.")
    endpoint = endpoint_of(session, row)
    status, upcoming = delivery_status(session, row)
    if status == "delivered":
        raise ToolError(Fault.WEBHOOK_ALREADY_DELIVERED, f"{row.event} has reached {endpoint.url}; nothing to retry.")
    if endpoint.disabled:
        raise ToolError(
            Fault.WEBHOOK_ENDPOINT_DISABLED, f"{endpoint.url} is switched off; its owner must enable it first."
        )
    if upcoming is not None and upcoming - session.now <= DUE_SOON:
        raise ToolError(
            Fault.WEBHOOK_ATTEMPT_DUE_SOON, f"It is tried by itself at {upcoming:%H:%M} UTC; wait for that."
        )
    if is_down(endpoint, session.now):
        when = f"{endpoint.down_until:%Y-%m-%d %H:%M}"
        raise ToolError(
            Fault.WEBHOOK_ENDPOINT_DOWN, f"{endpoint.url} doesn't answer; it is announced to be back at {when} UTC."
        )
    return _delivery_view(session, session.table(Delivery).put(replace(row, resent_at=session.now)))


@server.tool()
def create_payout(session: Session, currency: Currency, amount: Amount | None = None) -> PayoutView:
    """Send the settled balance of one currency, or a part of it, to the merchant's bank.

    Args:
        currency: which balance.
        amount: how much; the whole balance when left out.

    Raises:
        no_payout_account: the merchant has no bank account in the currency.
        payout_already_today: one payout a day leaves each balance.
        insufficient_balance: less than that is settled.
        amount_below_minimum: a payout is at least 10.
        invalid_amount: the currency has no such fraction.
    """
    if currency == "JPY":
        raise ToolError(Fault.NO_PAYOUT_ACCOUNT, "The merchant has bank accounts in USD, EUR and GBP only.")
    today = session.now.date()
    for payout in session.table(Payout).all():
        if payout.amount.currency == currency and payout.created_at.date() == today:
            raise ToolError(
                Fault.PAYOUT_ALREADY_TODAY, f"{payout.amount} left the {currency} balance today; try again tomorrow."
            )
    balance = available(session, currency)
    total = money(amount, currency) if amount is not None else balance
    if total > balance:
        raise ToolError(Fault.INSUFFICIENT_BALANCE, f"Only {balance} is settled in {currency}; pay out at most that.")
    least = least_payout(currency)
    if total < least:
        raise ToolError(Fault.AMOUNT_BELOW_MINIMUM, f"A payout is at least {least}; {balance} is settled.")
    row = Payout(session.new_id("MPYO"), total, session.now)
    session.table(Payout).add(row)
    notify(session, "payout.sent", f"{total}")
    return PayoutView(row.id, total, (session.now + PAYOUT_TIME).date(), available(session, currency))


def _delivery_view(session: Session, row: Delivery) -> DeliveryView:
    status, upcoming = delivery_status(session, row)
    return DeliveryView(row.id, row.event, row.about, endpoint_of(session, row).url, status, upcoming)
