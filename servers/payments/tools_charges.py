"""Billing a customer and charging their card."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Annotated

from pydantic import Field

from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.types import Amount, Date, Money
from servers.payments.model import (
    CaptureMethod,
    CustomerEmail,
    Fault,
    Intent,
    IntentId,
    IntentStatus,
    Invoice,
    InvoiceId,
    InvoiceStatus,
)
from servers.payments.rules import (
    AUTHORIZATION_LIFE,
    SETTLEMENT,
    customer_of,
    intent_of,
    invoice_of,
    invoice_status,
    money,
    notify,
    refunded,
    status_of,
)
from servers.payments.server import server
from servers.payments.views import (
    Captured,
    IntentView,
    InvoiceView,
)

URGENCY: tuple[IntentStatus, ...] = ("disputed", "authorized")
"""Payments that wait for the merchant come first in a list."""


@server.tool(read_only=True)
def list_invoices(
    session: Session,
    query: Query = "",
    status: InvoiceStatus | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[InvoiceView]:
    """List the merchant's invoices with their ids, customers, totals and status, newest first.

    Use it first whenever a request names an invoice or a customer.

    Args:
        query: words of the customer's name or e-mail address, or of the description.
        status: only invoices in this status.
        limit: most invoices to return.
        offset: how many to skip.
    """
    rows = search(
        session.table(Invoice).all(),
        query,
        lambda i: f"{i.customer_email} {customer_of(session, i.customer_email).name} {i.description}",
    )
    rows = [row for row in rows if status is None or invoice_status(session, row) == status]
    rows.sort(key=lambda row: (-row.issued_at.timestamp(), row.id))
    page = paginate(rows, limit, offset)
    return Page([_invoice_view(session, row) for row in page.items], page.total, page.next_offset)


@server.tool()
def create_invoice(
    session: Session,
    customer_email: CustomerEmail,
    description: Annotated[str, Field(min_length=3, max_length=80)],
    amount: Amount,
    due_on: Date,
) -> InvoiceView:
    """Bill a known customer: what for, how much in their currency, and until when.

    Args:
        customer_email: the customer's e-mail address, as in list_invoices.
        description: what is billed.
        amount: how much, in the customer's currency.
        due_on: the last day to pay, from today to a year ahead.

    Raises:
        due_date_not_allowed: the day is not in the coming year.
        duplicate_invoice: the customer has an unpaid invoice for the same.
        amount_below_minimum: it is too little to charge.
        invalid_amount: the currency has no such fraction.
    """
    customer = customer_of(session, customer_email)
    total = money(amount, customer.currency)
    today = session.now.date()
    if not today <= due_on <= today + timedelta(days=365):
        raise ToolError(
            Fault.DUE_DATE_NOT_ALLOWED, f"The day must lie between {today} and {today + timedelta(days=365)}."
        )
    for other in session.table(Invoice).where(customer_email=customer.id):
        same = other.description.casefold() == description.strip().casefold()
        if same and invoice_status(session, other) in ("open", "overdue"):
            raise ToolError(
                Fault.DUPLICATE_INVOICE,
                f"{customer.name} has an unpaid invoice for that, {other.id} of {other.total}; "
                "create_payment_intent collects it, or choose another description.",
            )
    row = Invoice(session.new_id("MINV"), customer.id, description.strip(), total, session.now, due_on, void=False)
    session.table(Invoice).add(row)
    notify(session, "invoice.created", customer.id)
    return _invoice_view(session, row)


@server.tool(read_only=True)
def list_payment_intents(
    session: Session,
    query: Query = "",
    status: IntentStatus | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[IntentView]:
    """List card payments with ids and status: disputed first, then authorized, then newest.

    Use it first whenever a request is to capture, refund or defend a payment.

    Args:
        query: words of the customer's name or e-mail address, or of the invoice's description.
        status: only payments in this status.
        limit: most payments to return.
        offset: how many to skip.
    """
    views = {row.id: _intent_view(session, row) for row in session.table(Intent).all()}
    rows = search(session.table(Intent).all(), query, lambda row: _intent_text(session, views[row.id]))
    rows = [row for row in rows if status is None or views[row.id].status == status]

    def order(row: Intent) -> tuple[int, float, str]:
        state = views[row.id].status
        urgent = URGENCY.index(state) if state in URGENCY else len(URGENCY)
        return urgent, -row.created_at.timestamp(), row.id

    return paginate([views[row.id] for row in sorted(rows, key=order)], limit, offset)


@server.tool(idempotent=True)
def create_payment_intent(
    session: Session,
    invoice_id: InvoiceId,
    idempotency_key: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{4,40}$")],
    capture_method: CaptureMethod = "automatic",
) -> IntentView:
    """Charge an unpaid invoice to the customer's card, or only authorize it with capture_method manual.

    Repeating the call with the same key and arguments returns the first payment and charges nothing more.

    Args:
        invoice_id: the invoice, from list_invoices.
        idempotency_key: a key of the merchant's choice that names this charge.
        capture_method: automatic takes the money now; manual holds it for seven days.

    Raises:
        idempotency_key_reused: the key belongs to another charge.
        invoice_already_paid: nothing is owed.
        invoice_void: it was withdrawn.
        intent_in_progress: the invoice has an authorized payment.
        customer_card_declined: the customer's bank refuses.
        customer_card_expired: the card on file has ended.
    """
    invoice = invoice_of(session, invoice_id)
    for earlier in session.table(Intent).where(key=idempotency_key):
        if (earlier.invoice_id, earlier.method) == (invoice.id, capture_method):
            return _intent_view(session, earlier)
        other = invoice_of(session, earlier.invoice_id)
        raise ToolError(
            Fault.IDEMPOTENCY_KEY_REUSED,
            f"The key names a {earlier.method} charge of {other.customer_email} ({other.description}); use a new one.",
        )
    _check_chargeable(session, invoice)
    automatic = capture_method == "automatic"
    intent = Intent(
        id=session.new_id("MPIN"),
        invoice_id=invoice.id,
        amount=invoice.total,
        created_at=session.now,
        captured=invoice.total if automatic else Money(0, invoice.total.currency),
        captured_at=session.now if automatic else None,
        method=capture_method,
        key=idempotency_key,
    )
    session.table(Intent).add(intent)
    notify(session, "payment.captured" if automatic else "payment.authorized", invoice.customer_email)
    return _intent_view(session, intent)


@server.tool()
def capture_payment_intent(session: Session, payment_intent_id: IntentId, amount: Amount | None = None) -> Captured:
    """Take the money of an authorized payment, all of it or less, within seven days.

    Args:
        payment_intent_id: the payment, from list_payment_intents.
        amount: how much in its currency; all when left out.

    Raises:
        not_authorized: its money was taken already.
        authorization_expired: the seven days are over.
        capture_exceeds_authorization: the amount is more than was authorized.
        amount_below_minimum: it is too little to take.
        invalid_amount: the currency has no such fraction.
    """
    intent = intent_of(session, payment_intent_id)
    status = status_of(session, intent)
    if status == "expired":
        ended = intent.created_at + AUTHORIZATION_LIFE
        raise ToolError(
            Fault.AUTHORIZATION_EXPIRED, f"It ended on {ended:%Y-%m-%d}; create_payment_intent makes a new one."
        )
    if status != "authorized":
        raise ToolError(Fault.NOT_AUTHORIZED, f"The payment is {status}; only authorized ones can be captured.")
    total = money(amount, intent.amount.currency) if amount is not None else intent.amount
    if total > intent.amount:
        raise ToolError(Fault.CAPTURE_EXCEEDS_AUTHORIZATION, f"At most the authorized {intent.amount} can be taken.")
    intent = session.table(Intent).put(replace(intent, captured=total, captured_at=session.now))
    notify(session, "payment.captured", invoice_of(session, intent.invoice_id).customer_email)
    return Captured(intent.id, total, status_of(session, intent), (session.now + SETTLEMENT).date())


def _check_chargeable(session: Session, invoice: Invoice) -> None:
    status = invoice_status(session, invoice)
    if status == "void":
        raise ToolError(Fault.INVOICE_VOID, "The invoice was withdrawn; create_invoice bills the customer anew.")
    if status == "paid":
        raise ToolError(Fault.INVOICE_ALREADY_PAID, "The invoice is paid; list_invoices with status open shows others.")
    for intent in session.table(Intent).where(invoice_id=invoice.id):
        if status_of(session, intent) == "authorized":
            raise ToolError(
                Fault.INTENT_IN_PROGRESS, f"{intent.id} is authorized for it; capture_payment_intent takes the money."
            )
    customer = customer_of(session, invoice.customer_email)
    if customer.card == "declined":
        raise ToolError(Fault.CUSTOMER_CARD_DECLINED, f"The bank of {customer.name} refuses; ask them to call it.")
    if customer.card == "expired":
        raise ToolError(
            Fault.CUSTOMER_CARD_EXPIRED, f"The card of {customer.name} has expired; ask them for a new one."
        )


def _invoice_view(session: Session, row: Invoice) -> InvoiceView:
    return InvoiceView(row.id, row.customer_email, row.description, row.total, row.due_on, invoice_status(session, row))


def _intent_view(session: Session, row: Intent) -> IntentView:
    invoice = invoice_of(session, row.invoice_id)
    back = refunded(session, row)
    amount = row.captured if row.captured_at else row.amount
    return IntentView(
        id=row.id,
        customer_email=invoice.customer_email,
        description=invoice.description,
        amount=amount,
        status=status_of(session, row),
        refunded=back if back.minor else None,
    )


def _intent_text(session: Session, view: IntentView) -> str:
    return f"{view.customer_email} {customer_of(session, view.customer_email).name} {view.description}"
