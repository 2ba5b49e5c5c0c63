"""What the bank allows: funds, limits, PINs, currencies, waiting times."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from servers.banking.model import (
    Account,
    Card,
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


def balance_of(session: Session, account: Account) -> Money:
    """The balance after every scheduled payment whose day has come."""
    due = (p.amount for p in session.table(ScheduledPayment).where(account_id=account.id) if p.on <= session.now.date())
    return sum(due, Money(0, account.balance.currency)) * -1 + account.balance


def left_today(session: Session, account: Account) -> Money:
    """What the daily limit still lets out; transfers between own accounts don't count."""
    today = session.now.date()
    bookings = session.table(Transaction).where(account_id=account.id)
    spent = -sum(
        b.amount.minor
        for b in bookings
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


def check_payment(session: Session, account: Account, payee: Payee, amount: Money) -> None:
    """The rules that an immediate and a scheduled payment share."""
    if account.frozen:
        raise ToolError(Fault.ACCOUNT_FROZEN, f"{account.name} is frozen; use another account from list_accounts.")
    if payee.currency != account.balance.currency:
        raise ToolError(
            Fault.CURRENCY_MISMATCH,
            f"{payee.name} is paid in {payee.currency} and {account.name} is in {account.balance.currency}. "
            f"Use an account in {payee.currency}.",
        )
    free_at = payee.added_at + COOLING_OFF
    if session.now < free_at:
        raise ToolError(
            Fault.PAYEE_COOLING_OFF,
            f"{payee.name} was just added and can be paid from {free_at:%Y-%m-%d %H:%M} UTC on.",
        )
    if amount > account.daily_limit:
        raise ToolError(
            Fault.DAILY_LIMIT_EXCEEDED,
            f"{account.name} lets out at most {account.daily_limit} a day. Pay less.",
        )
