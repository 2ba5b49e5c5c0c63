"""What happens at the counter: click-and-collect, and goods that come back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Annotated

from pydantic import Field

from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.types import Sensitive
from servers.retail_chain.model import (
    Fault,
    ItemId,
    Reservation,
    ReservationId,
    ReservationStatus,
    ReturnCondition,
    Stock,
    StoreId,
)
from servers.retail_chain.rules import (
    check_available,
    check_open,
    check_works,
    item_of,
    on_hand,
    price_of,
    reservation_of,
    status_of,
    stock_of,
    store_of,
)
from servers.retail_chain.server import server
from servers.retail_chain.views import HandedOver, ReservationMade, ReservationView, ReturnAccepted

HOLD_TIME = timedelta(hours=48)
RETURN_WINDOW = timedelta(days=30)


@server.tool()
def reserve_click_and_collect(
    session: Session,
    store_id: StoreId,
    item_id: ItemId,
    customer_name: Annotated[str, Field(min_length=3, max_length=60)],
    quantity: Annotated[int, Field(ge=1, le=5)] = 1,
) -> ReservationMade:
    """Set an item aside in a store for a customer, who collects and pays it within 48 hours.

    Args:
        store_id: the store, from list_chain_stores or find_item_in_stores.
        item_id: the item, from find_item_in_stores.
        customer_name: who collects it.
        quantity: how many pieces, at most five.

    Raises:
        store_closed_for_works: the store is closed.
        duplicate_reservation: the customer has one for the item there.
        insufficient_stock: fewer pieces are free.
    """
    stock = stock_of(session, store_id, item_id)
    store, item = store_of(session, store_id), item_of(session, item_id)
    check_works(session, store)
    for other in session.table(Reservation).where(item_id=item.id, store_id=store.id):
        if other.customer.casefold() == customer_name.strip().casefold() and status_of(session, other) == "ready":
            raise ToolError(
                Fault.DUPLICATE_RESERVATION,
                f"{other.quantity} of {item.name} wait for {other.customer} there until "
                f"{other.expires_at:%Y-%m-%d %H:%M} UTC; hand_over_reservation comes first.",
            )
    check_available(session, stock, quantity)
    new_id = session.new_id("RCOL")
    row = Reservation(
        id=new_id,
        store_id=store.id,
        item_id=item.id,
        quantity=quantity,
        customer=customer_name.strip(),
        price=price_of(session, stock),
        reserved_at=session.now,
        expires_at=session.now + HOLD_TIME,
        collected_at=None,
        returned=0,
        pickup_code=f"{int(new_id.split('-')[1]) * 7919 % 10_000:04d}",
    )
    session.table(Reservation).add(row)
    return ReservationMade(row.id, row.price * quantity, row.expires_at)


@server.tool(read_only=True)
def list_collect_reservations(
    session: Session,
    query: Query = "",
    status: ReservationStatus | None = None,
    store_id: StoreId | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[ReservationView]:
    """List click-and-collect reservations with ids, customers, items and status, newest first.

    Use it first whenever a customer comes to collect something or brings it back.

    Args:
        query: words of the customer's name or the item.
        status: only reservations in this status.
        store_id: only those of this store.
        limit: most reservations to return.
        offset: how many to skip.
    """
    rows = search(
        session.table(Reservation).all(), query, lambda row: f"{row.customer} {item_of(session, row.item_id).name}"
    )
    rows = [r for r in rows if status in (None, status_of(session, r)) and store_id in (None, r.store_id)]
    rows.sort(key=lambda row: (-row.reserved_at.timestamp(), row.id))
    page = paginate(rows, limit, offset)
    return Page([_view(session, row) for row in page.items], page.total, page.next_offset)


@server.tool()
def hand_over_reservation(
    session: Session,
    reservation_id: ReservationId,
    pickup_code: Annotated[str, Sensitive(), Field(pattern=r"^\d{4}$")],
) -> HandedOver:
    """Give reserved goods to the customer, who says the pickup code and pays. The store must be open.

    Args:
        reservation_id: the reservation, from list_collect_reservations.
        pickup_code: the four digits that the customer was sent.

    Raises:
        already_collected: they took the goods before.
        reservation_expired: the 48 hours are over.
        store_shut: nobody is at the counter.
        wrong_pickup_code: the code is not the reservation's.
        insufficient_stock: a count found too few pieces.
    """
    row = reservation_of(session, reservation_id)
    item, status = item_of(session, row.item_id), status_of(session, row)
    if row.collected_at is not None:
        raise ToolError(Fault.ALREADY_COLLECTED, f"{row.customer} collected it on {row.collected_at:%Y-%m-%d}.")
    if status == "expired":
        raise ToolError(
            Fault.RESERVATION_EXPIRED,
            f"It ended at {row.expires_at:%Y-%m-%d %H:%M} UTC; reserve_click_and_collect makes a new one.",
        )
    check_open(session, store_of(session, row.store_id))
    if pickup_code != row.pickup_code:
        raise ToolError(Fault.WRONG_PICKUP_CODE, f"The code is not that of {row.customer}'s reservation; ask again.")
    stock = stock_of(session, row.store_id, row.item_id)
    present = on_hand(session, stock)
    if row.quantity > present:
        raise ToolError(
            Fault.INSUFFICIENT_STOCK,
            f"By the last count only {present} of {item.name} are there; record_stock_count corrects that.",
        )
    session.table(Stock).put(replace(stock, base=stock.base - row.quantity))
    session.table(Reservation).put(replace(row, collected_at=session.now))
    return HandedOver(row.id, row.price * row.quantity, (session.now + RETURN_WINDOW).date())


@server.tool()
def accept_store_return(
    session: Session,
    reservation_id: ReservationId,
    condition: ReturnCondition,
    quantity: Annotated[int, Field(ge=1, le=5)] = 1,
    store_id: StoreId | None = None,
) -> ReturnAccepted:
    """Take collected goods back within 30 days and refund them; damaged pieces aren't restocked.

    Args:
        reservation_id: the reservation that they were collected with, from list_collect_reservations.
        condition: sealed, opened or damaged; opened goods get 80 percent back.
        quantity: how many pieces.
        store_id: where they are brought back; the store of the reservation when left out.

    Raises:
        not_collected: the customer never took them.
        not_returnable: this kind of item can't be returned unless damaged.
        return_window_closed: they were collected more than 30 days ago.
        already_returned: fewer pieces are left to return.
        return_in_other_currency: the store refunds in another currency.
        store_shut: nobody is at the counter.
    """
    row = reservation_of(session, reservation_id)
    item, home = item_of(session, row.item_id), store_of(session, row.store_id)
    store = store_of(session, store_id) if store_id is not None else home
    if row.collected_at is None:
        raise ToolError(Fault.NOT_COLLECTED, f"The reservation is {status_of(session, row)}; nothing was collected.")
    if not item.returnable and condition != "damaged":
        raise ToolError(Fault.NOT_RETURNABLE, f"{item.name} can be returned only if it is damaged.")
    last = row.collected_at + RETURN_WINDOW
    if session.now > last:
        raise ToolError(Fault.RETURN_WINDOW_CLOSED, f"{item.name} could be returned until {last:%Y-%m-%d}.")
    left = row.quantity - row.returned
    if quantity > left:
        raise ToolError(Fault.ALREADY_RETURNED, f"{row.returned} came back already, so {left} can be returned.")
    if store.currency != home.currency:
        raise ToolError(
            Fault.RETURN_IN_OTHER_CURRENCY,
            f"It was paid in {home.currency}, but {store.name} refunds in {store.currency}; {home.name} can do it.",
        )
    check_open(session, store)
    session.table(Reservation).put(replace(row, returned=row.returned + quantity))
    if condition != "damaged":
        stock = stock_of(session, store.id, row.item_id)
        session.table(Stock).put(replace(stock, base=stock.base + quantity))
    refund = row.price * quantity
    return ReturnAccepted(
        row.id, store.name, refund.share(8, 10) if condition == "opened" else refund, condition != "damaged"
    )


def _view(session: Session, row: Reservation) -> ReservationView:
    item, store = item_of(session, row.item_id), store_of(session, row.store_id)
    return ReservationView(row.id, row.customer, item.name, row.quantity, store.name, status_of(session, row))
