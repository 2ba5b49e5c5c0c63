"""The bank's tools."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Annotated

from pydantic import Field

from servers.banking.model import (
    Account,
    AccountId,
    AccountKind,
    Card,
    CardId,
    CardStatus,
    Category,
    Fault,
    Payee,
    PayeeId,
    ScheduledId,
    ScheduledPayment,
    Transaction,
    TransactionId,
)
from servers.banking.rules import (
    account_of,
    balance_of,
    book,
    booking_of,
    bookings,
    card_of,
    card_status,
    check_funds,
    check_not_expired,
    check_payment,
    check_pin,
    leaves_at,
    left_today,
    payee_of,
)
from servers.banking.seed import build, iban
from servers.banking.views import (
    AccountDetails,
    AccountSummary,
    Booking,
    CardDetails,
    CardSummary,
    Disputed,
    PayeeSummary,
    Removed,
    ScheduledSummary,
    Statement,
    TransactionSummary,
    booking_summary,
    card_details,
    scheduled_summary,
)
from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.server import Known, ToolServer
from servers.kernel.session import Session
from servers.kernel.types import Amount, Date, Money, Sensitive
from servers.shared.amounts import money

DISPUTE_WINDOW = timedelta(days=60)
DAILY_LIMIT_CEILING = 5000

Pin = Annotated[str, Sensitive(), Field(pattern=r"^\d{4}$")]
Memo = Annotated[str, Field(max_length=140)]


def knows(session: Session) -> Iterator[Known]:
    """The customer knows the PIN of each account, and so of its cards."""
    for account in session.table(Account).all():
        yield Known("pin", account.pin, account.id)
    for card in session.table(Card).all():
        yield Known("pin", account_of(session, card.account_id).pin, card.id)


server = ToolServer(
    "banking",
    "Accounts, payees, payments and cards of a bank customer",
    records=(Account, Payee, Transaction, ScheduledPayment, Card),
    seed=build,
    faults=Fault,
    knows=knows,
)


@server.tool(read_only=True)
def list_accounts(session: Session, kind: AccountKind | None = None) -> Page[AccountSummary]:
    """List the customer's accounts with their ids and balances.

    Use it first whenever a request names an account by its name. Ordered by name.

    Args:
        kind: only accounts of this kind.
    """
    found = [a for a in session.table(Account).all() if kind is None or a.kind == kind]
    found.sort(key=lambda account: (account.name, account.id))
    return paginate([AccountSummary(a.id, a.name, a.kind, balance_of(session, a)) for a in found], 10)


@server.tool(read_only=True)
def get_account(session: Session, account_id: AccountId) -> AccountDetails:
    """Show one account: balance, daily limit, what may still be paid today, and whether it is frozen.

    Args:
        account_id: the account, from list_accounts.
    """
    a = account_of(session, account_id)
    return AccountDetails(a.id, a.name, a.kind, balance_of(session, a), a.daily_limit, left_today(session, a), a.frozen)


@server.tool(read_only=True)
def list_transactions(
    session: Session,
    account_id: AccountId,
    query: Query = "",
    category: Category | None = None,
    limit: Limit = 3,
    offset: Offset = 0,
) -> Page[TransactionSummary]:
    """List an account's bookings, newest first, optionally filtered by words or category.

    Args:
        account_id: the account, from list_accounts.
        query: words to look for in counterparty and memo.
        category: only bookings of this category.
        limit: most bookings to return.
        offset: how many to skip.
    """
    account = account_of(session, account_id)
    rows = search(bookings(session, account), query, lambda t: f"{t.counterparty} {t.memo}")
    rows = [row for row in rows if category is None or row.category == category]
    rows.sort(key=lambda row: (-row.booked_at.timestamp(), row.id))
    return paginate([booking_summary(row) for row in rows], limit, offset)


@server.tool(read_only=True)
def get_statement(
    session: Session, account_id: AccountId, month: Annotated[str, Field(pattern=r"^20\d\d-(0[1-9]|1[0-2])$")]
) -> Statement:
    """Sum up one calendar month of an account: money in, money out, largest payment.

    Args:
        account_id: the account, from list_accounts.
        month: the month as YYYY-MM.
    """
    account = account_of(session, account_id)
    rows = [row for row in bookings(session, account) if f"{row.booked_at:%Y-%m}" == month]
    out = [row for row in rows if row.amount.minor < 0]
    largest = min(out, key=lambda row: (row.amount.minor, row.id), default=None)
    currency = account.balance.currency
    return Statement(
        account_id=account_id,
        month=month,
        money_in=Money(sum(row.amount.minor for row in rows if row.amount.minor > 0), currency),
        money_out=Money(-sum(row.amount.minor for row in out), currency),
        transactions=len(rows),
        largest_payment_to=largest.counterparty if largest else "",
    )


@server.tool(read_only=True)
def list_payees(session: Session, query: Query = "", limit: Limit = 5, offset: Offset = 0) -> Page[PayeeSummary]:
    """List saved payees with their ids; search by name before paying somebody. Ordered by name.

    Args:
        query: words of the payee's name.
        limit: most payees to return.
        offset: how many to skip.
    """
    rows = search(session.table(Payee).all(), query, lambda payee: payee.name)
    rows.sort(key=lambda payee: (payee.name, payee.id))
    return paginate([PayeeSummary(row.id, row.name, row.currency) for row in rows], limit, offset)


@server.tool()
def add_payee(
    session: Session,
    name: Annotated[str, Field(min_length=2, max_length=70)],
    iban_number: Annotated[str, Field(max_length=34)],
) -> Payee:
    """Save a new payee by name and IBAN. A new payee can be paid after 24 hours.

    Args:
        name: the payee's full name.
        iban_number: the IBAN, with or without spaces; its country decides the currency.

    Raises:
        invalid_iban: the country is not served or the check digits are wrong.
        payee_exists: the IBAN is already saved.
    """
    number = iban_number.replace(" ", "").upper()
    currency = {"US": "USD", "DE": "EUR", "GB": "GBP"}.get(number[:2])
    if currency is None or not (number.isascii() and number[2:].isdigit() and len(number) == 20):
        raise ToolError(Fault.INVALID_IBAN, "An IBAN here is US, DE or GB followed by 18 digits.")
    if iban(number[:2], int(number[4:])) != number:
        raise ToolError(Fault.INVALID_IBAN, "The IBAN's check digits don't fit; ask for the number again.")
    for payee in session.table(Payee).where(iban=number):
        raise ToolError(Fault.PAYEE_EXISTS, f"That IBAN is already saved as {payee.name} ({payee.id}).")
    return session.table(Payee).add(Payee(session.new_id("PAY"), name, number, currency, session.now))


@server.tool(destructive=True)
def remove_payee(session: Session, payee_id: PayeeId) -> Removed:
    """Delete a saved payee who has no scheduled payment to come.

    Args:
        payee_id: the payee, from list_payees.

    Raises:
        payee_in_use: a scheduled payment to this payee is still to come.
    """
    payee = payee_of(session, payee_id)
    coming = [p for p in session.table(ScheduledPayment).where(payee_id=payee_id) if p.on > session.now.date()]
    if coming:
        first = min(coming, key=lambda row: (row.on, row.id))
        raise ToolError(
            Fault.PAYEE_IN_USE,
            f"{payee.name} still gets {first.id} on {first.on}; cancel_scheduled_payment comes first.",
        )
    session.table(Payee).remove(payee_id)
    return Removed(payee_id)


@server.tool()
def transfer_between_accounts(
    session: Session, source_account_id: AccountId, target_account_id: AccountId, amount: Amount
) -> Booking:
    """Move money between two of the customer's own accounts in the same currency. Needs no PIN.

    Args:
        source_account_id: the account that the money leaves, from list_accounts.
        target_account_id: the account that gets it, from list_accounts.
        amount: how much, in the accounts' currency.

    Raises:
        same_account: source and target are one.
        currency_mismatch: the accounts have different currencies.
        account_frozen: the source is frozen.
        insufficient_funds: the source holds too little.
        invalid_amount: the currency has no such fraction.
    """
    source, target = account_of(session, source_account_id), account_of(session, target_account_id)
    if source.id == target.id:
        raise ToolError(Fault.SAME_ACCOUNT, "Source and target are the same account; choose two from list_accounts.")
    if source.balance.currency != target.balance.currency:
        raise ToolError(
            Fault.CURRENCY_MISMATCH,
            f"{source.name} is in {source.balance.currency}, {target.name} in {target.balance.currency}; "
            "choose accounts in one currency.",
        )
    sum_moved = money(amount, source.balance.currency, Fault.INVALID_AMOUNT)
    check_funds(session, source, sum_moved)
    book(session, target, sum_moved, source.name, "transfer", "own transfer")
    return book(session, source, sum_moved * -1, target.name, "transfer", "own transfer")


@server.tool()
def send_payment(
    session: Session,
    source_account_id: AccountId,
    payee_id: PayeeId,
    amount: Amount,
    pin: Pin,
    memo: Memo = "",
) -> Booking:
    """Pay a saved payee now. The customer must have given the account's PIN.

    Args:
        source_account_id: the account that pays, from list_accounts.
        payee_id: who is paid, from list_payees.
        amount: how much, in the account's currency.
        pin: the account's four-digit PIN as the customer said it.
        memo: text for the payee.

    Raises:
        invalid_amount: the currency has no such fraction.
        wrong_pin: the PIN is not the account's.
        account_frozen: the account takes no payments.
        currency_mismatch: the payee is paid in another currency.
        payee_cooling_off: the payee was added less than a day ago.
        daily_limit_exceeded: more than may leave the account today.
        insufficient_funds: the account holds too little.
    """
    account, payee = account_of(session, source_account_id), payee_of(session, payee_id)
    check_pin(account, pin)
    total = money(amount, account.balance.currency, Fault.INVALID_AMOUNT)
    check_payment(account, payee, total, session.now)
    rest = left_today(session, account)
    if total > rest:
        raise ToolError(
            Fault.DAILY_LIMIT_EXCEEDED,
            f"Only {rest} of today's limit of {account.daily_limit} is left; pay less or tomorrow.",
        )
    check_funds(session, account, total)
    return book(session, account, total * -1, payee.name, "shopping", memo)


@server.tool()
def schedule_payment(
    session: Session,
    source_account_id: AccountId,
    payee_id: PayeeId,
    amount: Amount,
    payment_date: Date,
    pin: Pin,
    memo: Memo = "",
) -> ScheduledSummary:
    """Arrange a payment to a saved payee for a later day. Needs the account's PIN.

    Args:
        source_account_id: the account that will pay, from list_accounts.
        payee_id: who is paid, from list_payees.
        amount: how much, in the account's currency.
        payment_date: the day, from tomorrow to a year ahead.
        pin: the account's four-digit PIN as the customer said it.
        memo: text for the payee.

    Raises:
        invalid_amount: the currency has no such fraction.
        wrong_pin: the PIN is not the account's.
        date_not_allowed: the day is not in the coming year.
        account_frozen: the account takes no payments.
        currency_mismatch: the payee is paid in another currency.
        payee_cooling_off: the day starts less than 24 hours after the payee was added.
        daily_limit_exceeded: more than may leave the account in a day.
    """
    account, payee = account_of(session, source_account_id), payee_of(session, payee_id)
    check_pin(account, pin)
    today = session.now.date()
    if not today < payment_date <= today + timedelta(days=365):
        raise ToolError(
            Fault.DATE_NOT_ALLOWED,
            f"The day must lie between {today + timedelta(days=1)} and {today + timedelta(days=365)}.",
        )
    total = money(amount, account.balance.currency, Fault.INVALID_AMOUNT)
    check_payment(account, payee, total, leaves_at(payment_date))
    row = ScheduledPayment(
        session.new_id("SCH"), account.id, payee.id, payee.name, total, payment_date, memo, session.new_id("TXN")
    )
    return scheduled_summary(session.table(ScheduledPayment).add(row))


@server.tool(read_only=True)
def list_scheduled_payments(
    session: Session, account_id: AccountId, limit: Limit = 5, offset: Offset = 0
) -> Page[ScheduledSummary]:
    """List an account's payments that are still to come, soonest first.

    Args:
        account_id: the account, from list_accounts.
        limit: most payments to return.
        offset: how many to skip.
    """
    account_of(session, account_id)
    rows = [row for row in session.table(ScheduledPayment).where(account_id=account_id) if row.on > session.now.date()]
    rows.sort(key=lambda row: (row.on, row.id))
    return paginate([scheduled_summary(row) for row in rows], limit, offset)


@server.tool(destructive=True)
def cancel_scheduled_payment(session: Session, scheduled_payment_id: ScheduledId) -> Removed:
    """Cancel a payment that has not left yet.

    Args:
        scheduled_payment_id: the payment, from list_scheduled_payments.

    Raises:
        already_sent: its day has come.
    """
    row = session.table(ScheduledPayment).require(scheduled_payment_id, "list_scheduled_payments shows the valid ids.")
    if row.on <= session.now.date():
        raise ToolError(
            Fault.ALREADY_SENT,
            f"The payment left on {row.on} and can't be cancelled; list_transactions shows its booking, "
            "which dispute_transaction contests.",
        )
    session.table(ScheduledPayment).remove(row.id)
    return Removed(row.id)


@server.tool(read_only=True)
def list_cards(session: Session, status: CardStatus | None = None) -> Page[CardSummary]:
    """List the customer's debit cards with their ids, last digits and status. Ordered by label.

    Args:
        status: only cards in this status.
    """
    rows = [card for card in session.table(Card).all() if status in (None, card_status(session, card))]
    rows.sort(key=lambda card: (card.label, card.id))
    return paginate([CardSummary(row.id, row.label, row.last_four, card_status(session, row)) for row in rows], 10)


@server.tool()
def freeze_card(session: Session, card_id: CardId) -> CardDetails:
    """Block a card at once, for example when it is lost or a payment looks wrong.

    Args:
        card_id: the card, from list_cards.

    Raises:
        card_not_active: it is frozen already.
        card_expired: its date has passed.
    """
    card = card_of(session, card_id)
    check_not_expired(session, card)
    if card.status != "active":
        raise ToolError(Fault.CARD_NOT_ACTIVE, f"{card.label} is already frozen.")
    return card_details(session.table(Card).put(replace(card, status="frozen")))


@server.tool()
def unfreeze_card(session: Session, card_id: CardId, pin: Pin) -> CardDetails:
    """Make a frozen card usable again. Needs the PIN of the card's account.

    Args:
        card_id: the card, from list_cards.
        pin: the account's four-digit PIN as the customer said it.

    Raises:
        card_not_frozen: it is active.
        card_expired: its date has passed.
        wrong_pin: the PIN is not the account's.
    """
    card = card_of(session, card_id)
    check_not_expired(session, card)
    if card.status != "frozen":
        raise ToolError(Fault.CARD_NOT_FROZEN, f"{card.label} is active already.")
    check_pin(account_of(session, card.account_id), pin)
    return card_details(session.table(Card).put(replace(card, status="active")))


@server.tool(idempotent=True)
def set_card_limit(session: Session, card_id: CardId, daily_limit: Amount) -> CardDetails:
    """Change what an active card may spend in a day.

    Args:
        card_id: the card, from list_cards.
        daily_limit: the new limit in the card's currency, at most 5000.

    Raises:
        invalid_amount: the currency has no such fraction.
        card_not_active: frozen cards keep their limit.
        limit_out_of_range: the limit is above 5000.
        card_expired: its date has passed.
    """
    card = card_of(session, card_id)
    check_not_expired(session, card)
    if card.status != "active":
        raise ToolError(Fault.CARD_NOT_ACTIVE, f"{card.label} is frozen; unfreeze_card comes first.")
    limit = money(daily_limit, card.daily_limit.currency, Fault.INVALID_AMOUNT)
    if daily_limit > DAILY_LIMIT_CEILING:
        raise ToolError(Fault.LIMIT_OUT_OF_RANGE, f"A card may spend at most {DAILY_LIMIT_CEILING} a day.")
    return card_details(session.table(Card).put(replace(card, daily_limit=limit)))


@server.tool()
def dispute_transaction(
    session: Session,
    transaction_id: TransactionId,
    reason: Annotated[str, Field(min_length=5, max_length=300)],
) -> Disputed:
    """Contest an outgoing booking of the last 60 days that the customer does not recognise.

    Args:
        transaction_id: the booking, from list_transactions.
        reason: why, in the customer's words.

    Raises:
        not_disputable: it is incoming, an own transfer, or older than 60 days.
        already_disputed: a dispute is open.
    """
    row = booking_of(session, transaction_id)
    if row.disputed:
        raise ToolError(Fault.ALREADY_DISPUTED, f"A dispute over {row.amount} to {row.counterparty} is open already.")
    age = session.now - row.booked_at
    if row.amount.minor >= 0 or row.category == "transfer" or age > DISPUTE_WINDOW:
        raise ToolError(Fault.NOT_DISPUTABLE, "Only outgoing payments of the last 60 days can be disputed.")
    session.table(Transaction).put(replace(row, disputed=True))
    return Disputed(row.id, row.counterparty, row.amount)
