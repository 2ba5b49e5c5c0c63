"""What the processor's tools show."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from servers.kernel.types import Money
from servers.payments.model import (
    CustomerEmail,
    DeliveryId,
    DeliveryStatus,
    IntentId,
    IntentStatus,
    InvoiceId,
    InvoiceStatus,
    Topic,
)


@dataclass(frozen=True, slots=True)
class InvoiceView:
    """An invoice in a list."""

    id: InvoiceId
    customer_email: CustomerEmail
    description: str
    total: Money
    due_on: date
    status: InvoiceStatus


@dataclass(frozen=True, slots=True)
class IntentView:
    """A payment intent; `refunded` is absent while nothing went back."""

    id: IntentId
    customer_email: CustomerEmail
    description: str
    amount: Money
    status: IntentStatus
    refunded: Money | None = None


@dataclass(frozen=True, slots=True)
class Captured:
    """Money that was taken."""

    payment_intent_id: IntentId
    captured: Money
    status: IntentStatus
    available_on: date


@dataclass(frozen=True, slots=True)
class Refunded:
    """Money that went back, and what could still."""

    refund_id: str
    amount: Money
    left_to_refund: Money
    status: IntentStatus


@dataclass(frozen=True, slots=True)
class DisputeAnswered:
    """An answer to a dispute; a contested one is decided on `decision_on`."""

    payment_intent_id: IntentId
    complaint: str
    amount: Money
    status: IntentStatus
    decision_on: date | None = None


@dataclass(frozen=True, slots=True)
class DeliveryView:
    """A webhook delivery; `next_attempt` is when it is tried again by itself."""

    id: DeliveryId
    event: Topic
    about: str
    endpoint: str
    status: DeliveryStatus
    next_attempt: datetime | None = None


@dataclass(frozen=True, slots=True)
class PayoutView:
    """A payout on its way to the bank."""

    payout_id: str
    amount: Money
    arrives_on: date
    left_in_balance: Money
