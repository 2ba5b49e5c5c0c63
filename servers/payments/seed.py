"""The processor's initial world: a merchant's customers, invoices, payments, disputes and webhooks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from servers.kernel.dice import Dice
from servers.kernel.server import SeedBuilder
from servers.kernel.session import EPOCH
from servers.kernel.store import Record
from servers.kernel.types import MINOR_DIGITS, Money
from servers.payments.model import (
    CaptureMethod,
    Currency,
    Customer,
    Delivery,
    Dispute,
    Endpoint,
    Intent,
    Invoice,
    Payout,
    Refund,
    RefundReason,
    Topic,
)
from servers.shared.people import people

_WORK = (
    "Logo design",
    "Website hosting",
    "Photo session",
    "Monthly retainer",
    "Copy editing",
    "Translation work",
    "Workshop ticket",
    "Annual licence",
    "Print run",
    "Consulting hours",
    "Support plan",
    "Video editing",
)
_PROJECTS = (
    "spring issue",
    "harbour site",
    "north branch",
    "summer fair",
    "pilot phase",
    "second batch",
    "book launch",
    "museum shop",
    "jazz night",
    "city guide",
    "trade show",
    "winter sale",
    "annual report",
    "staff day",
)
_CURRENCIES: tuple[Currency, ...] = ("USD", "EUR", "GBP", "JPY")
_COMPLAINTS = ("not received", "not recognised", "not as described", "charged twice")
_REASONS: tuple[RefundReason, ...] = ("duplicate", "fraudulent", "requested")
_AUTHORIZED, _EXPIRED, _DISPUTED = 14, 4, 12


def build(make: SeedBuilder) -> Iterator[Record]:
    """Write customers, then their invoices, then what happened to each invoice."""
    dice = make.dice
    customers = [
        Customer(
            person.email,
            person.name,
            dice.weighted(_CURRENCIES, (5, 3, 2, 1)),
            dice.weighted(("ok", "declined", "expired"), (8, 1, 1)),
        )
        for person in people(make.seed, 43)[1:]
    ]
    yield from customers
    works = dice.shuffled([f"{work}, {project}" for work in _WORK for project in _PROJECTS])
    invoices = [row for customer in customers for row in _invoices(make, dice, customer, works)]
    yield from invoices
    payable = dice.shuffled([invoice for invoice in invoices if not invoice.void])[:68]
    intents = [_intent(make, dice, invoice, position) for position, invoice in enumerate(payable)]
    yield from intents
    yield from _aftermath(make, dice, intents)
    endpoints = list(_endpoints(make))
    yield from endpoints
    yield from _deliveries(make, dice, endpoints, intents, invoices)
    for number, currency in enumerate(("USD", "EUR", "GBP", "USD", "EUR")):
        amount = Money(dice.integer(20, 60) * 100, currency)
        yield Payout(make.new_id("MPYO"), amount, EPOCH - timedelta(days=3 * number + 2, hours=1))


def _invoices(make: SeedBuilder, dice: Dice, customer: Customer, works: list[str]) -> Iterator[Invoice]:
    for _ in range(dice.integer(2, 4)):
        issued = EPOCH - timedelta(days=dice.integer(1, 120), minutes=dice.integer(0, 600))
        yield Invoice(
            id=make.new_id("MINV"),
            customer_email=customer.id,
            description=works.pop(),
            total=_money(dice, 30, 900, customer.currency),
            issued_at=issued,
            due_on=(issued + timedelta(days=dice.choice((14, 30, 60)))).date(),
            void=dice.chance(0.08),
        )


def _money(dice: Dice, low: int, high: int, currency: str) -> Money:
    major = dice.integer(low, high)
    return (
        Money(major * 100 + dice.choice((0, 0, 50, 90)), currency)
        if MINOR_DIGITS[currency]
        else Money(major * 100, currency)
    )


def _intent(make: SeedBuilder, dice: Dice, invoice: Invoice, position: int) -> Intent:
    """The first few are authorised, the next ones were never captured in time, the rest were captured."""
    method: CaptureMethod = "manual" if position < _AUTHORIZED + _EXPIRED or dice.chance(0.2) else "automatic"
    hours = dice.integer(2, 150) if position < _AUTHORIZED else dice.integer(200, 2900)
    if position >= _AUTHORIZED + _EXPIRED and dice.chance(0.25):
        hours = dice.integer(4400, 6000)
    elif position >= 48:
        hours = dice.integer(2, 40)
    created = EPOCH - timedelta(hours=hours, minutes=dice.integer(0, 59))
    taken = position >= _AUTHORIZED + _EXPIRED
    return Intent(
        id=make.new_id("MPIN"),
        invoice_id=invoice.id,
        amount=invoice.total,
        created_at=created,
        captured=invoice.total if taken else Money(0, invoice.total.currency),
        captured_at=created + timedelta(hours=1) if taken else None,
        method=method,
        key=f"key-{dice.integer(100_000, 999_999)}",
    )


def _aftermath(make: SeedBuilder, dice: Dice, intents: Sequence[Intent]) -> Iterator[Record]:
    captured = [intent for intent in intents if intent.captured_at]
    for position, intent in enumerate(captured[:_DISPUTED]):
        answered = EPOCH - timedelta(days=dice.integer(1, 20)) if position % 4 == 3 else None
        yield Dispute(
            id=make.new_id("MDSP"),
            intent_id=intent.id,
            reason=dice.choice(_COMPLAINTS),
            answer_by=EPOCH + timedelta(hours=dice.integer(20, 300) if position % 6 != 2 else -30),
            answer="contest" if answered else "",
            answered_at=answered,
            wins=dice.chance(0.5),
        )
    for intent in captured[_DISPUTED:]:
        if dice.chance(0.4):
            part = intent.captured if dice.chance(0.3) else _round(intent.captured.share(dice.integer(1, 6), 10))
            when = EPOCH - timedelta(minutes=dice.integer(5, 55))
            yield Refund(make.new_id("MREF"), intent.id, part, dice.choice(_REASONS), when)


def _round(money: Money) -> Money:
    return Money(max(100, money.minor // 100 * 100), money.currency)


def _endpoints(make: SeedBuilder) -> Iterator[Endpoint]:
    hour = timedelta(hours=1)
    everything: tuple[Topic, ...] = ("payment.authorized", "payment.captured", "refund.created", "payout.sent")
    specs: tuple[tuple[str, tuple[Topic, ...], bool, tuple[datetime, datetime] | None], ...] = (
        ("shop.example.com", everything, False, None),
        ("ledger.example.com", ("payment.captured", "payout.sent"), False, (EPOCH - 70 * hour, EPOCH - 3 * hour)),
        ("crm.example.com", ("invoice.created",), False, (EPOCH - 10 * hour, EPOCH + 30 * hour)),
        ("oldapp.example.com", ("payment.captured", "invoice.created"), True, None),
    )
    for url, topics, disabled, down in specs:
        since, until = down or (None, None)
        yield Endpoint(make.new_id("MWEP"), url, topics, disabled, since, until)


def _deliveries(
    make: SeedBuilder,
    dice: Dice,
    endpoints: Sequence[Endpoint],
    intents: Sequence[Intent],
    invoices: Sequence[Invoice],
) -> Iterator[Delivery]:
    emails = {invoice.id: invoice.customer_email for invoice in invoices}
    for number, intent in enumerate(dice.shuffled(intents)[:44]):
        endpoint = endpoints[(1, 0, 1, 3)[number % 4]]
        hours = dice.integer(4, 68)
        yield Delivery(
            id=make.new_id("MWHD"),
            endpoint_id=endpoint.id,
            event="payment.captured",
            about=emails[intent.invoice_id],
            created_at=EPOCH - timedelta(hours=hours, minutes=dice.integer(0, 59)),
            resent_at=None,
        )
    for invoice in dice.sample(invoices, 12):
        created = EPOCH - timedelta(hours=dice.integer(1, 30), minutes=dice.integer(0, 59))
        yield Delivery(make.new_id("MWHD"), endpoints[2].id, "invoice.created", invoice.customer_email, created, None)
