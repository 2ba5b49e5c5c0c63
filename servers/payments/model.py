"""Records and error codes of the payment processor."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from servers.kernel.store import Record
from servers.kernel.types import Entity, Hidden, Money

CustomerEmail: TypeAlias = Annotated[str, Entity("merchant_customer", natural=True)]
InvoiceId: TypeAlias = Annotated[str, Entity("merchant_invoice")]
IntentId: TypeAlias = Annotated[str, Entity("payment_intent")]
DeliveryId: TypeAlias = Annotated[str, Entity("webhook_delivery")]

Currency: TypeAlias = Literal["USD", "EUR", "GBP", "JPY"]
CardState: TypeAlias = Literal["ok", "declined", "expired"]
InvoiceStatus: TypeAlias = Literal["open", "overdue", "paid", "void"]
IntentStatus: TypeAlias = Literal["disputed", "authorized", "captured", "refunded", "expired", "charged_back"]
CaptureMethod: TypeAlias = Literal["automatic", "manual"]
RefundReason: TypeAlias = Literal["duplicate", "fraudulent", "requested"]
Decision: TypeAlias = Literal["accept", "contest"]
DeliveryStatus: TypeAlias = Literal["delivered", "pending", "failed"]
Topic: TypeAlias = Literal["invoice.created", "payment.authorized", "payment.captured", "refund.created", "payout.sent"]


class Fault(StrEnum):
    """What the processor refuses, beyond bad arguments and unknown ids."""

    INVALID_AMOUNT = "invalid_amount"
    AMOUNT_BELOW_MINIMUM = "amount_below_minimum"
    DUE_DATE_NOT_ALLOWED = "due_date_not_allowed"
    DUPLICATE_INVOICE = "duplicate_invoice"
    INVOICE_ALREADY_PAID = "invoice_already_paid"
    INVOICE_VOID = "invoice_void"
    INTENT_IN_PROGRESS = "intent_in_progress"
    IDEMPOTENCY_KEY_REUSED = "idempotency_key_reused"
    CUSTOMER_CARD_DECLINED = "customer_card_declined"
    CUSTOMER_CARD_EXPIRED = "customer_card_expired"
    NOT_AUTHORIZED = "not_authorized"
    AUTHORIZATION_EXPIRED = "authorization_expired"
    CAPTURE_EXCEEDS_AUTHORIZATION = "capture_exceeds_authorization"
    NOT_CAPTURED = "not_captured"
    REFUND_EXCEEDS_CAPTURED = "refund_exceeds_captured"
    REFUND_WINDOW_CLOSED = "refund_window_closed"
    PAYMENT_DISPUTED = "payment_disputed"
    NO_DISPUTE = "no_dispute"
    DISPUTE_ALREADY_ANSWERED = "dispute_already_answered"
    DISPUTE_DEADLINE_PASSED = "dispute_deadline_passed"
    EVIDENCE_REQUIRED = "evidence_required"
    WEBHOOK_ALREADY_DELIVERED = "webhook_already_delivered"
    WEBHOOK_ATTEMPT_DUE_SOON = "webhook_attempt_due_soon"
    WEBHOOK_ENDPOINT_DISABLED = "webhook_endpoint_disabled"
    WEBHOOK_ENDPOINT_DOWN = "webhook_endpoint_down"
    INSUFFICIENT_BALANCE = "insufficient_balance"
    PAYOUT_ALREADY_TODAY = "payout_already_today"
    NO_PAYOUT_ACCOUNT = "no_payout_account"


@dataclass(frozen=True, slots=True)
class Customer(Record):
    """Somebody who buys from the merchant; the e-mail address is the id, and one card is on file."""

    id: CustomerEmail
    name: str
    currency: Currency
    card: CardState


@dataclass(frozen=True, slots=True)
class Invoice(Record):
    """What a customer owes. Whether it is paid follows from its payment intents."""

    id: InvoiceId
    customer_email: CustomerEmail
    description: str
    total: Money
    issued_at: datetime
    due_on: date
    void: bool


@dataclass(frozen=True, slots=True)
class Intent(Record):
    """One try to collect an invoice: authorised at `created_at`, money taken at `captured_at`."""

    id: IntentId
    invoice_id: InvoiceId
    amount: Money
    created_at: datetime
    captured: Money
    captured_at: datetime | None
    method: CaptureMethod
    key: str


@dataclass(frozen=True, slots=True)
class Refund(Record):
    """Captured money that went back."""

    id: str
    intent_id: IntentId
    amount: Money
    reason: RefundReason
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Dispute(Record):
    """A customer's complaint to their bank; `wins` decides a contested one, ten days after the answer."""

    id: str
    intent_id: IntentId
    reason: str
    answer_by: datetime
    answer: str
    answered_at: datetime | None
    wins: Annotated[bool, Hidden]


@dataclass(frozen=True, slots=True)
class Endpoint(Record):
    """A web address that hears of events; it answers no call between `down_from` and `down_until`."""

    id: str
    url: str
    topics: tuple[Topic, ...]
    disabled: bool
    down_from: datetime | None
    down_until: datetime | None


@dataclass(frozen=True, slots=True)
class Delivery(Record):
    """One event on its way to one endpoint. Attempts follow from `created_at`; `resent_at` is a retry by hand."""

    id: DeliveryId
    endpoint_id: str
    event: Topic
    about: str
    created_at: datetime
    resent_at: datetime | None


@dataclass(frozen=True, slots=True)
class Payout(Record):
    """Money sent to the merchant's bank."""

    id: str
    amount: Money
    created_at: datetime
