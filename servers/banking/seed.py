"""The bank's initial world: one customer's accounts, cards, payees and three months of bookings."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from servers.banking.model import Account, Card, Category, Payee, ScheduledPayment, Transaction
from servers.kernel.dice import Dice
from servers.kernel.server import SeedBuilder
from servers.kernel.session import EPOCH
from servers.kernel.store import Record
from servers.kernel.types import MINOR_DIGITS, Money
from servers.shared.people import people

_ACCOUNTS = (
    ("Everyday Checking", "checking", "USD"),
    ("Household Joint", "joint", "USD"),
    ("Rainy Day Savings", "savings", "USD"),
    ("Vacation Fund", "savings", "USD"),
    ("Euro Travel Account", "checking", "EUR"),
    ("Berlin Flat Account", "joint", "EUR"),
    ("Sterling Account", "checking", "GBP"),
    ("Old Student Account", "checking", "USD"),
)
_SHOPS: dict[Category, tuple[str, ...]] = {
    "groceries": ("Green Basket", "Corner Market", "Fresh Fields"),
    "rent": ("Lindenhof Housing", "Baytown Rentals"),
    "dining": ("Cafe Aurora", "Noodle Bar 88", "Trattoria Lucia"),
    "transport": ("City Transit", "Volt Charging", "RailEurope Tickets"),
    "salary": ("Northwind Payroll",),
    "utilities": ("Blue River Water", "Sunline Energy", "Fibernet"),
    "shopping": ("Paper & Pen", "Hartmann Shoes", "Gadget Loft"),
}
_FIRMS = (
    "Sunline Energy",
    "Blue River Water",
    "Lindenhof Housing",
    "Fibernet",
    "City Gym",
    "Dr. Okafor Dental",
)


def iban(country: str, number: int) -> str:
    """An account number with valid ISO 7064 check digits."""
    body = f"{number:016d}"
    digits = "".join(str(int(letter, 36)) for letter in f"{body}{country}00")
    return f"{country}{98 - int(digits) % 97:02d}{body}"


def build(make: SeedBuilder) -> Iterator[Record]:
    """Write the rows in an order that needs no look-ahead."""
    dice = make.dice
    accounts = [_account(make, dice, *spec) for spec in _ACCOUNTS]
    payees = [_payee(make, dice, name) for name in _FIRMS]
    payees += [_payee(make, dice, person.name) for person in people(make.seed, 31)[1:]]
    yield from accounts
    yield from payees
    for account in accounts:
        yield from _cards(make, dice, account)
        yield from _bookings(make, dice, account)
        yield from _standing_payments(make, dice, account, payees)


def _money(dice: Dice, low: int, high: int, currency: str) -> Money:
    return Money(dice.integer(low * 100, high * 100), currency) if MINOR_DIGITS[currency] else Money(low, currency)


def _account(make: SeedBuilder, dice: Dice, name: str, kind: str, currency: str) -> Account:
    return Account(
        id=make.new_id("ACC"),
        name=name,
        kind="savings" if kind == "savings" else "joint" if kind == "joint" else "checking",
        balance=_money(dice, 3, 40, currency) if name.startswith("Old") else _money(dice, 900, 9000, currency),
        daily_limit=Money(dice.choice((1000, 1500, 2500)) * 100, currency),
        frozen=name.startswith("Old"),
        pin=f"{dice.integer(1000, 9999)}",
    )


def _payee(make: SeedBuilder, dice: Dice, name: str) -> Payee:
    currency = dice.weighted(("USD", "EUR", "GBP"), (5, 4, 1))
    country = {"USD": "US", "EUR": "DE", "GBP": "GB"}[currency]
    number = iban(country, dice.integer(10**15, 10**16 - 1))
    return Payee(make.new_id("PAY"), name, number, currency, EPOCH - timedelta(days=dice.integer(3, 400)))


def _cards(make: SeedBuilder, dice: Dice, account: Account) -> Iterator[Record]:
    labels = {"checking": ("Debit", "Virtual"), "joint": ("Partner",), "savings": ()}[account.kind]
    for label in labels:
        yield Card(
            id=make.new_id("CRD"),
            account_id=account.id,
            label=f"{account.name} {label}",
            last_four=f"{dice.integer(0, 9999):04d}",
            status="frozen" if dice.chance(0.35) else "active",
            expires=date(2025, 11, 30) if account.frozen else date(dice.integer(2027, 2030), dice.integer(1, 12), 28),
            daily_limit=Money(dice.choice((200, 500, 1000)) * 100, account.balance.currency),
        )


def _bookings(make: SeedBuilder, dice: Dice, account: Account) -> Iterator[Record]:
    for _ in range(12 if account.kind == "savings" else 36):
        category = dice.choice(tuple(_SHOPS))
        income = category == "salary"
        size = (
            _money(dice, 1500, 3200, account.balance.currency)
            if income
            else _money(dice, 4, 180, account.balance.currency)
        )
        yield Transaction(
            id=make.new_id("TXN"),
            account_id=account.id,
            booked_at=EPOCH - timedelta(minutes=dice.integer(600, 120_000)),
            amount=size if income else size * -1,
            counterparty=dice.choice(_SHOPS[category]),
            category=category,
            memo=f"ref {dice.integer(10_000, 99_999)}",
        )


def _standing_payments(make: SeedBuilder, dice: Dice, account: Account, payees: list[Payee]) -> Iterator[Record]:
    fitting = [payee for payee in payees if payee.currency == account.balance.currency]
    for payee in dice.sample(fitting, 0 if account.frozen else 2):
        yield ScheduledPayment(
            id=make.new_id("SCH"),
            account_id=account.id,
            payee_id=payee.id,
            payee=payee.name,
            amount=_money(dice, 20, 300, account.balance.currency),
            on=(EPOCH + timedelta(days=dice.integer(2, 40))).date(),
            memo=dice.choice(("monthly rent", "subscription", "membership", "instalment")),
            booking_id=make.new_id("TXN"),
        )
