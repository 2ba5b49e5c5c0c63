"""What the bank allows: funds, limits, PINs, currencies, waiting times."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta

from servers.banking.model import (
    Account,
    Card,
    CardStatus,
    Category,
    Fault,
    Payee,
    ScheduledPayment,
    Transaction,
)
from servers.banking.views import Booking
from servers.kernel.errors import ToolError
from servers.kernel.session import Session
from servers.kernel.types import Money

COOLING_OFF = timedelta(hours=24)
"""How long a new payee waits before the first payment."""


def account_of(session: Session, account_id: str) -> Account:
    """The account, or an error that says how to find one."""
    return session.table(Account).require(account_id, "list_accounts shows the valid account ids.")


def payee_of(session: Session, payee_id: str) -> Payee:
    """The payee, or an error that says how to find one."""
    return session.table(Payee).require(payee_id, "list_payees shows the valid payee ids.")


def card_of(session: Session, card_id: str) -> Card:
    """The card, or an error that says how to find one."""
    return session.table(Card).require(card_id, "list_cards shows the valid card ids.")


def card_status(session: Session, card: Card) -> CardStatus:
    """Whether a card can be used today."""
    if card.expires < session.now.date():
        return "expired"
    return card.status


def check_not_expired(session: Session, card: Card) -> None:
    """Refuse to change a card whose date has passed."""
    if card_status(session, card) == "expired":
        raise ToolError(
            Fault.CARD_EXPIRED,
            f"{card.label} expired on {card.expires} and stays blocked; list_cards shows the others.",
        )


def leaves_at(day: date) -> datetime:
    """When a scheduled payment leaves."""
    return datetime.combine(day, time(0), UTC)


def due_payments(session: Session, account: Account) -> list[ScheduledPayment]:
    """The account's scheduled payments whose day has come."""
    rows = session.table(ScheduledPayment).where(account_id=account.id)
    return [row for row in rows if row.on <= session.now.date()]


def bookings(session: Session, account: Account) -> list[Transaction]:
    """Every booking on an account: those written down, and the scheduled payments that have left."""
    rows = session.table(Transaction).where(account_id=account.id)
    written = {row.id for row in rows}
    return rows + [_booked(row) for row in due_payments(session, account) if row.booking_id not in written]


def _booked(row: ScheduledPayment) -> Transaction:
    return Transaction(
        row.booking_id, row.account_id, leaves_at(row.on), row.amount * -1, row.payee, "shopping", row.memo
    )


def booking_of(session: Session, transaction_id: str) -> Transaction:
    """The booking, or an error that says how to find one."""
    for row in session.table(ScheduledPayment).where(booking_id=transaction_id):
        if row.on <= session.now.date() and session.table(Transaction).get(transaction_id) is None:
            return _booked(row)
    return session.table(Transaction).require(transaction_id, "list_transactions shows the valid ids.")


def balance_of(session: Session, account: Account) -> Money:
    """The balance after every scheduled payment whose day has come."""
    due = (row.amount for row in due_payments(session, account))
    return sum(due, Money(0, account.balance.currency)) * -1 + account.balance


def left_today(session: Session, account: Account) -> Money:
    """What the daily limit still lets out; transfers between own accounts don't count."""
    today = session.now.date()
    spent = -sum(
        b.amount.minor
        for b in bookings(session, account)
        if b.booked_at.date() == today and b.amount.minor < 0 and b.category != "transfer"
    )
    return Money(max(0, account.daily_limit.minor - spent), account.balance.currency)


def check_pin(account: Account, pin: str) -> None:
    """Refuse a PIN that isn't the account's."""
    if pin != account.pin:
        raise ToolError(Fault.WRONG_PIN, f"The PIN is not that of {account.name}. Ask the customer for it.")


def check_funds(session: Session, account: Account, amount: Money) -> None:
    """Refuse to take from a frozen or an empty account."""
    if account.frozen:
        raise ToolError(Fault.ACCOUNT_FROZEN, f"{account.name} is frozen; use another account from list_accounts.")
    available = balance_of(session, account)
    if amount > available:
        raise ToolError(
            Fault.INSUFFICIENT_FUNDS,
            f"{account.name} holds {available}, which is less than {amount}. Pay less or use another account.",
        )


def book(
    session: Session, account: Account, amount: Money, counterparty: str, category: Category, memo: str
) -> Booking:
    """Write one booking and the new balance."""
    session.table(Account).put(replace(account, balance=account.balance + amount))
    row = Transaction(session.new_id("TXN"), account.id, session.now, amount, counterparty, category, memo)
    session.table(Transaction).add(row)
    updated = account_of(session, account.id)
    return Booking(row.id, account.id, amount, balance_of(session, updated))


def check_payment(account: Account, payee: Payee, amount: Money, at: datetime) -> None:
    """The rules that an immediate and a scheduled payment share; `at` is when it leaves."""
    if account.frozen:
        raise ToolError(Fault.ACCOUNT_FROZEN, f"{account.name} is frozen; use another account from list_accounts.")
    if payee.currency != account.balance.currency:
        raise ToolError(
            Fault.CURRENCY_MISMATCH,
            f"{payee.name} is paid in {payee.currency} and {account.name} is in {account.balance.currency}. "
            f"Use an account in {payee.currency}.",
        )
    free_at = payee.added_at + COOLING_OFF
    if at < free_at:
        raise ToolError(
            Fault.PAYEE_COOLING_OFF,
            f"{payee.name} was just added and can be paid from {free_at:%Y-%m-%d %H:%M} UTC on.",
        )
    if amount > account.daily_limit:
        raise ToolError(
            Fault.DAILY_LIMIT_EXCEEDED,
            f"{account.name} lets out at most {account.daily_limit} a day. Pay less.",
        )
