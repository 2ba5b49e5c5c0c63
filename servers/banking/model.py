"""Records and error codes of the bank."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from servers.kernel.store import Record
from servers.kernel.types import Entity, Hidden, Money

AccountId: TypeAlias = Annotated[str, Entity("account")]
PayeeId: TypeAlias = Annotated[str, Entity("payee")]
CardId: TypeAlias = Annotated[str, Entity("card")]
TransactionId: TypeAlias = Annotated[str, Entity("transaction")]
ScheduledId: TypeAlias = Annotated[str, Entity("scheduled_payment")]

AccountKind: TypeAlias = Literal["checking", "savings", "joint"]
Category: TypeAlias = Literal["groceries", "rent", "dining", "transport", "salary", "utilities", "transfer", "shopping"]
CardStatus: TypeAlias = Literal["active", "frozen", "expired"]


class Fault(StrEnum):
    """What the bank refuses, beyond bad arguments and unknown ids."""

    ACCOUNT_FROZEN = "account_frozen"
    INSUFFICIENT_FUNDS = "insufficient_funds"
    CURRENCY_MISMATCH = "currency_mismatch"
    DAILY_LIMIT_EXCEEDED = "daily_limit_exceeded"
    WRONG_PIN = "wrong_pin"
    SAME_ACCOUNT = "same_account"
    INVALID_AMOUNT = "invalid_amount"
    INVALID_IBAN = "invalid_iban"
    PAYEE_EXISTS = "payee_exists"
    PAYEE_COOLING_OFF = "payee_cooling_off"
    PAYEE_IN_USE = "payee_in_use"
    DATE_NOT_ALLOWED = "date_not_allowed"
    ALREADY_SENT = "already_sent"
    CARD_NOT_ACTIVE = "card_not_active"
    CARD_NOT_FROZEN = "card_not_frozen"
    CARD_EXPIRED = "card_expired"
    LIMIT_OUT_OF_RANGE = "limit_out_of_range"
    NOT_DISPUTABLE = "not_disputable"
    ALREADY_DISPUTED = "already_disputed"


@dataclass(frozen=True, slots=True)
class Account(Record):
    """A current or savings account of the customer. `frozen` accounts take no outgoing payment."""

    id: AccountId
    name: str
    kind: AccountKind
    balance: Money
    daily_limit: Money
    frozen: bool
    pin: Annotated[str, Hidden]


@dataclass(frozen=True, slots=True)
class Payee(Record):
    """Somebody whom the customer pays. New payees wait a day before they may be paid."""

    id: PayeeId
    name: str
    iban: str
    currency: str
    added_at: datetime


@dataclass(frozen=True, slots=True)
class Transaction(Record):
    """One booking on an account; outgoing amounts are negative."""

    id: TransactionId
    account_id: AccountId
    booked_at: datetime
    amount: Money
    counterparty: str
    category: Category
    memo: str
    disputed: bool = False


@dataclass(frozen=True, slots=True)
class ScheduledPayment(Record):
    """A payment that leaves at the start of its day, then booked under `booking_id`.

    `payee` is the name, since the saved payee may be removed once the payment has left.
    """

    id: ScheduledId
    account_id: AccountId
    payee_id: PayeeId
    payee: str
    amount: Money
    on: date
    memo: str
    booking_id: TransactionId


@dataclass(frozen=True, slots=True)
class Card(Record):
    """A debit card of an account; only the last four digits are ever stored. Past `expires`, its status is void."""

    id: CardId
    account_id: AccountId
    label: str
    last_four: str
    status: Literal["active", "frozen"]
    expires: date
    daily_limit: Money
