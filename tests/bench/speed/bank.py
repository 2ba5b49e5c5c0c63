"""Calls on the bank that the figures share: a read that looks at dozens of rows, and a write of one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from servers.banking.model import Account, Transaction
from servers.kernel.catalog import Catalog, load_catalog
from servers.kernel.session import Session, World

SEED = 0
"""The world of a session that nobody asked a seed for, such as that of a process over stdio."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool with its arguments."""

    tool: str
    arguments: Mapping[str, Any]


@cache
def bank_world() -> World:
    """The bank alone."""
    return load_catalog(("banking",)).world(SEED)


@cache
def read() -> Call:
    """An account with its balance and what may be paid today: 40 rows are read."""
    account = next(row for row in bank_world().rows.tables[Account.table].values() if isinstance(row, Account))
    return Call("get_account", {"account_id": account.id})


@cache
def writes() -> Sequence[Call]:
    """Eight disputes of bookings that the bank accepts: one row is written by each."""
    catalog, session, found = load_catalog(("banking",)), Session(bank_world()), []
    for booking in bank_world().rows.tables[Transaction.table]:
        call = Call("dispute_transaction", {"transaction_id": booking, "reason": "not_mine"})
        if catalog.call(session, call.tool, call.arguments).ok:
            found.append(call)
    return found[:8]


def disputed(session: Session, catalog: Catalog | None = None) -> Session:
    """The session after all the writes."""
    for call in writes():
        outcome = (catalog or load_catalog()).call(session, call.tool, call.arguments)
        if not outcome.ok:
            raise ValueError(f"{call.tool} was to succeed: {outcome.text}")
    return session
