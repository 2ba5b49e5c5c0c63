"""The processor's rules: where an invoice, a payment, a dispute or a delivery stands now."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

from servers.kernel.errors import ToolError
from servers.kernel.session import Session
from servers.kernel.types import Money
from servers.payments.model import (
    Customer,
    Delivery,
    DeliveryStatus,
    Dispute,
    Endpoint,
    Fault,
    Intent,
    IntentStatus,
    Invoice,
    InvoiceStatus,
    Payout,
    Refund,
    Topic,
)
from servers.shared import amounts

AUTHORIZATION_LIFE = timedelta(days=7)
SETTLEMENT = timedelta(days=2)
DISPUTE_DECISION = timedelta(days=10)
ATTEMPTS = tuple(timedelta(minutes=minutes) for minutes in (0, 5, 35, 155, 635, 2075))
"""When a webhook is tried, counted from its event: each pause is longer than the one before."""


def invoice_of(session: Session, invoice_id: str) -> Invoice:
    """The invoice, or an error that says how to find one."""
    return session.table(Invoice).require(invoice_id, "list_invoices shows the valid invoice ids.")


def intent_of(session: Session, intent_id: str) -> Intent:
    """The payment intent, or an error that says how to find one."""
    return session.table(Intent).require(intent_id, "list_payment_intents shows the valid ids.")


def customer_of(session: Session, email: str) -> Customer:
    """The customer, or an error that says how to find one."""
    return session.table(Customer).require(email, "list_invoices shows the customers' e-mail addresses.")


def endpoint_of(session: Session, delivery: Delivery) -> Endpoint:
    """Where a delivery goes."""
    return session.table(Endpoint).require(delivery.endpoint_id, "list_webhook_deliveries shows the endpoints.")


def money(amount: Decimal, currency: str) -> Money:
    """An amount that the currency can express and that is worth charging."""
    total = amounts.money(amount, currency, Fault.INVALID_AMOUNT)
    least = Money(100, currency)
    if total < least:
        raise ToolError(Fault.AMOUNT_BELOW_MINIMUM, f"The smallest amount in {currency} is {least}.")
    return total


def least_payout(currency: str) -> Money:
    """The smallest payout: 10 major units, or 1000 where there is no smaller unit."""
    return Money(1000, currency)


def refunded(session: Session, intent: Intent) -> Money:
    """What of a payment went back."""
    rows = session.table(Refund).where(intent_id=intent.id)
    return sum((row.amount for row in rows), Money(0, intent.amount.currency))


def dispute_of(session: Session, intent: Intent) -> Dispute | None:
    """The dispute over a payment; there is at most one."""
    return next(iter(session.table(Dispute).where(intent_id=intent.id)), None)


def dispute_outcome(session: Session, dispute: Dispute) -> str:
    """`open`, `contested`, `won` or `lost`; an answer that never came loses."""
    if dispute.answer == "accept":
        return "lost"
    if dispute.answered_at is not None:
        decided = session.now >= dispute.answered_at + DISPUTE_DECISION
        return ("won" if dispute.wins else "lost") if decided else "contested"
    return "open" if session.now < dispute.answer_by else "lost"


def status_of(session: Session, intent: Intent) -> IntentStatus:
    """Where a payment stands now."""
    if intent.captured_at is None:
        return "authorized" if session.now < intent.created_at + AUTHORIZATION_LIFE else "expired"
    dispute = dispute_of(session, intent)
    outcome = dispute_outcome(session, dispute) if dispute else "won"
    if outcome == "lost":
        return "charged_back"
    if outcome != "won":
        return "disputed"
    return "refunded" if refunded(session, intent) == intent.captured else "captured"


def invoice_status(session: Session, invoice: Invoice) -> InvoiceStatus:
    """Where an invoice stands now; a capture, even a partial one, settles it."""
    if invoice.void:
        return "void"
    if any(intent.captured_at for intent in session.table(Intent).where(invoice_id=invoice.id)):
        return "paid"
    return "overdue" if invoice.due_on < session.now.date() else "open"


def available(session: Session, currency: str) -> Money:
    """What can be paid out: settled captures less refunds, disputed money and earlier payouts."""
    total = Money(0, currency)
    for intent in session.table(Intent).all():
        if intent.amount.currency != currency or intent.captured_at is None:
            continue
        if status_of(session, intent) in ("disputed", "charged_back"):
            continue
        total = total - refunded(session, intent)
        if intent.captured_at + SETTLEMENT <= session.now:
            total = total + intent.captured
    for payout in session.table(Payout).all():
        if payout.amount.currency == currency:
            total = total - payout.amount
    return max(total, Money(0, currency))


def is_down(endpoint: Endpoint, at: datetime) -> bool:
    """Whether the endpoint answers no call at a moment."""
    since, until = endpoint.down_from, endpoint.down_until
    return since is not None and until is not None and since <= at < until


def delivery_status(session: Session, delivery: Delivery) -> tuple[DeliveryStatus, datetime | None]:
    """Where a delivery stands, and when it is tried next by itself."""
    endpoint = endpoint_of(session, delivery)
    if delivery.resent_at is not None:
        return "delivered", None
    if endpoint.disabled:
        return "failed", None
    for pause in ATTEMPTS:
        at = delivery.created_at + pause
        if at > session.now:
            return "pending", at
        if not is_down(endpoint, at):
            return "delivered", None
    return "failed", None


def notify(session: Session, event: Topic, about: str) -> None:
    """Send an event to the endpoints that want it."""
    for endpoint in session.table(Endpoint).all():
        if event in endpoint.topics and not endpoint.disabled:
            row = Delivery(session.new_id("MWHD"), endpoint.id, event, about, session.now, None)
            session.table(Delivery).add(row)
