"""The chain's rules: when a shop is open, what it has, what is set aside."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from servers.kernel.errors import ToolError
from servers.kernel.session import Session
from servers.kernel.types import Money
from servers.retail_chain.model import Fault, Inbound, Item, Reservation, ReservationStatus, Stock, Store
from servers.retail_chain.seed import stock_id

DAY = timedelta(days=1)


def store_of(session: Session, store_id: str) -> Store:
    """The shop, or an error that says how to find one."""
    return session.table(Store).require(store_id, "list_chain_stores shows the valid store ids.")


def item_of(session: Session, item_id: str) -> Item:
    """The item, or an error that says how to find one."""
    return session.table(Item).require(item_id, "find_item_in_stores shows the valid item ids.")


def reservation_of(session: Session, reservation_id: str) -> Reservation:
    """The reservation, or an error that says how to find one."""
    return session.table(Reservation).require(reservation_id, "list_collect_reservations shows the valid ids.")


def stock_of(session: Session, store_id: str, item_id: str) -> Stock:
    """An item's row in a shop."""
    store, item = store_of(session, store_id), item_of(session, item_id)
    return session.table(Stock).require(stock_id(store.id, item.id), "list_store_stock shows a shop's items.")


def local(session: Session, store: Store) -> datetime:
    """The time on the shop's clock."""
    return session.now.astimezone(ZoneInfo(store.zone))


def open_at(store: Store, moment: datetime) -> bool:
    """Whether the shop is open at a moment of its own clock."""
    if moment.weekday() == store.rest_day or (store.works_until is not None and moment.date() <= store.works_until):
        return False
    return store.opens <= moment.time() < store.closes


def next_opening(session: Session, store: Store) -> datetime:
    """When the shop opens next, on its own clock."""
    now = local(session, store)
    for ahead in range(60):
        day = now + ahead * DAY
        opening = day.replace(hour=store.opens.hour, minute=store.opens.minute, second=0)
        if opening > now and open_at(store, opening):
            return opening
    return now


def check_open(session: Session, store: Store) -> None:
    """Refuse what needs people at the counter while the shop is shut."""
    if not open_at(store, local(session, store)):
        opening = next_opening(session, store)
        raise ToolError(Fault.STORE_SHUT, f"{store.name} is shut; it opens at {opening:%Y-%m-%d %H:%M} local time.")


def check_works(session: Session, store: Store) -> None:
    """Refuse goods and reservations for a shop that is closed for works."""
    if store.works_until is not None and local(session, store).date() <= store.works_until:
        raise ToolError(
            Fault.STORE_CLOSED_FOR_WORKS,
            f"{store.name} is closed for works until {store.works_until}; use another store.",
        )


def inbound(session: Session, stock: Stock) -> list[Inbound]:
    """What was ever sent to this shop of this item."""
    return session.table(Inbound).where(item_id=stock.item_id, store_id=stock.store_id)


def arrived(session: Session, stock: Stock) -> int:
    """Pieces that have come in so far."""
    return sum(row.quantity for row in inbound(session, stock) if row.arrives_at <= session.now)


def incoming(session: Session, stock: Stock) -> int:
    """Pieces on their way."""
    return sum(row.quantity for row in inbound(session, stock) if row.arrives_at > session.now)


def on_hand(session: Session, stock: Stock) -> int:
    """Pieces in the shop."""
    return stock.base + arrived(session, stock)


def set_aside(session: Session, stock: Stock) -> int:
    """Pieces that wait for customers."""
    rows = session.table(Reservation).where(item_id=stock.item_id, store_id=stock.store_id)
    return sum(row.quantity for row in rows if status_of(session, row) == "ready")


def available(session: Session, stock: Stock) -> int:
    """Pieces that nobody has reserved."""
    return max(0, on_hand(session, stock) - set_aside(session, stock))


def check_available(session: Session, stock: Stock, quantity: int) -> None:
    """Refuse more pieces than are free."""
    free = available(session, stock)
    if quantity > free:
        store, item = store_of(session, stock.store_id), item_of(session, stock.item_id)
        raise ToolError(
            Fault.INSUFFICIENT_STOCK,
            f"{store.name} has {free} of {item.name} free; take fewer or another store from find_item_in_stores.",
        )


def status_of(session: Session, row: Reservation) -> ReservationStatus:
    """Where a reservation stands now."""
    if row.collected_at is not None:
        return "collected"
    return "ready" if session.now < row.expires_at else "expired"


def price_of(session: Session, stock: Stock) -> Money:
    """What the item costs in the shop today."""
    return stock.promo_price if stock.promo_price is not None and promoted(session, stock) else stock.price


def promoted(session: Session, stock: Stock) -> bool:
    """Whether a promotion runs today, by the shop's clock."""
    today = local(session, store_of(session, stock.store_id)).date()
    return stock.promo_until is not None and today <= stock.promo_until
