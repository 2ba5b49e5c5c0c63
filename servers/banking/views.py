"""What the bank's tools return."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from servers.banking.model import (
    AccountId,
    AccountKind,
    Card,
    CardId,
    CardStatus,
    PayeeId,
    ScheduledId,
    ScheduledPayment,
    Transaction,
    TransactionId,
)
from servers.kernel.types import Money


@dataclass(frozen=True, slots=True)
class AccountSummary:
    """An account in a list."""

    id: AccountId
    name: str
    kind: AccountKind
    balance: Money


@dataclass(frozen=True, slots=True)
class AccountDetails:
    """An account with what may still leave it today."""

    id: AccountId
    name: str
    kind: AccountKind
    balance: Money
    daily_limit: Money
    left_today: Money
    frozen: bool


@dataclass(frozen=True, slots=True)
class PayeeSummary:
    """A payee in a list."""

    id: PayeeId
    name: str
    currency: str


@dataclass(frozen=True, slots=True)
class TransactionSummary:
    """A booking in a list; `disputed` is absent unless a dispute is open."""

    id: TransactionId
    on: date
    amount: Money
    counterparty: str
    memo: str
    disputed: bool | None = None


@dataclass(frozen=True, slots=True)
class ScheduledSummary:
    """A payment to come in a list."""

    id: ScheduledId
    payee: str
    amount: Money
    on: date
    memo: str


@dataclass(frozen=True, slots=True)
class CardSummary:
    """A card in a list."""

    id: CardId
    label: str
    last_four: str
    status: CardStatus


@dataclass(frozen=True, slots=True)
class CardDetails:
    """A card after a change."""

    id: CardId
    label: str
    status: CardStatus
    daily_limit: Money


@dataclass(frozen=True, slots=True)
class Booking:
    """One side of a finished payment or transfer."""

    transaction_id: TransactionId
    account_id: AccountId
    amount: Money
    new_balance: Money


@dataclass(frozen=True, slots=True)
class Disputed:
    """A booking that is contested now."""

    transaction_id: TransactionId
    counterparty: str
    amount: Money
    disputed: bool = True


@dataclass(frozen=True, slots=True)
class Statement:
    """Totals of one account over one calendar month."""

    account_id: AccountId
    month: str
    money_in: Money
    money_out: Money
    transactions: int
    largest_payment_to: str


@dataclass(frozen=True, slots=True)
class Removed:
    """Confirms that something is gone."""

    id: str
    removed: bool = True


def booking_summary(row: Transaction) -> TransactionSummary:
    """A booking as a list shows it."""
    return TransactionSummary(
        row.id, row.booked_at.date(), row.amount, row.counterparty, row.memo, True if row.disputed else None
    )


def scheduled_summary(row: ScheduledPayment) -> ScheduledSummary:
    """A payment to come as a list shows it."""
    return ScheduledSummary(row.id, row.payee, row.amount, row.on, row.memo)


def card_details(row: Card) -> CardDetails:
    """A card that has not expired, as a change shows it."""
    return CardDetails(row.id, row.label, row.status, row.daily_limit)
