"""Where goods are, how they move, what they cost."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Annotated

from pydantic import Field

from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.types import Amount, Date
from servers.retail_chain.model import Fault, Inbound, Item, ItemId, Stock, Store, StoreId
from servers.retail_chain.rules import (
    available,
    check_available,
    check_works,
    inbound,
    incoming,
    item_of,
    local,
    on_hand,
    open_at,
    price_of,
    promoted,
    stock_of,
    store_of,
)
from servers.retail_chain.server import server
from servers.retail_chain.views import (
    CountView,
    InboundView,
    ItemInStores,
    PriceChange,
    StockView,
    StoreShare,
    StoreView,
)
from servers.shared.amounts import money

TRANSFER_TIME = timedelta(hours=24)
LEAD_TIME = timedelta(hours=72)
CUTOFF_HOUR = 16
"""Replenishment orders after this local hour take a day longer."""
COUNT_PAUSE = timedelta(hours=12)
PROMOTION_LENGTH = timedelta(days=60)
BEST_STORES = 4
_DAYS = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")


@server.tool(read_only=True)
def list_chain_stores(session: Session, query: Query = "", limit: Limit = 5, offset: Offset = 0) -> Page[StoreView]:
    """List the chain's stores with ids, local opening hours and whether they are open now.

    Use it first whenever a request names a store. Ordered by name.

    Args:
        query: words of the store's name or city.
        limit: most stores to return.
        offset: how many to skip.
    """
    rows = search(session.table(Store).all(), query, lambda store: f"{store.name} {store.city}")
    rows.sort(key=lambda store: (store.name, store.id))
    page = paginate(rows, limit, offset)
    return Page([_store_view(session, row) for row in page.items], page.total, page.next_offset)


@server.tool(read_only=True)
def list_store_stock(
    session: Session,
    store_id: StoreId,
    query: Query = "",
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[StockView]:
    """List a store's items with ids, free pieces, today's price and pieces on their way. Ordered by name.

    Args:
        store_id: the store, from list_chain_stores.
        query: words of the item's name or department.
        limit: most items to return.
        offset: how many to skip.
    """
    store = store_of(session, store_id)
    found = [(row, item_of(session, row.item_id)) for row in session.table(Stock).where(store_id=store.id)]
    found = search(found, query, lambda pair: f"{pair[1].name} {pair[1].department}")
    found.sort(key=lambda pair: (pair[1].name, pair[1].id))
    page = paginate(found, limit, offset)
    views = [
        StockView(
            item_id=item.id,
            name=item.name,
            available=available(session, row),
            price=price_of(session, row),
            incoming=incoming(session, row) or None,
            promo_until=row.promo_until if promoted(session, row) else None,
        )
        for row, item in page.items
    ]
    return Page(views, page.total, page.next_offset)


@server.tool(read_only=True)
def find_item_in_stores(
    session: Session,
    query: Query = "",
    city: Annotated[str, Field(max_length=40)] = "",
    limit: Limit = 3,
    offset: Offset = 0,
) -> Page[ItemInStores]:
    """Find items by name with their ids, and the stores that have most of each. Ordered by name.

    Use it first whenever a request names an item.

    Args:
        query: words of the item's name or department.
        city: only stores in this city.
        limit: most items to return.
        offset: how many to skip.
    """
    rows = search(session.table(Item).all(), query, lambda item: f"{item.name} {item.department}")
    rows.sort(key=lambda item: (item.name, item.id))
    page = paginate(rows, limit, offset)
    return Page([_spread(session, item, city) for item in page.items], page.total, page.next_offset)


@server.tool()
def transfer_store_stock(
    session: Session,
    item_id: ItemId,
    from_store_id: StoreId,
    to_store_id: StoreId,
    quantity: Annotated[int, Field(ge=1, le=50)],
) -> InboundView:
    """Send pieces of an item from one store to another of the same currency; they arrive in 24 hours.

    Args:
        item_id: the item, from find_item_in_stores.
        from_store_id: the store that gives.
        to_store_id: the store that gets.
        quantity: how many pieces.

    Raises:
        same_store: both stores are one.
        no_transfer_route: they trade in different currencies.
        store_closed_for_works: one of them is closed.
        insufficient_stock: the first has fewer pieces free.
        storage_full: the second has no room.
    """
    giver, taker = store_of(session, from_store_id), store_of(session, to_store_id)
    if giver.id == taker.id:
        raise ToolError(Fault.SAME_STORE, "Both stores are the same; choose two from list_chain_stores.")
    if giver.currency != taker.currency:
        raise ToolError(
            Fault.NO_TRANSFER_ROUTE,
            f"{giver.name} trades in {giver.currency} and {taker.name} in {taker.currency}; goods don't cross.",
        )
    check_works(session, giver)
    check_works(session, taker)
    source = stock_of(session, giver.id, item_id)
    check_available(session, source, quantity)
    _check_room(session, stock_of(session, taker.id, item_id), quantity)
    source = session.table(Stock).put(replace(source, base=source.base - quantity))
    arrives = session.now + TRANSFER_TIME
    row = Inbound(session.new_id("RINB"), taker.id, item_id, giver.id, quantity, session.now, arrives)
    session.table(Inbound).add(row)
    return InboundView(row.id, quantity, arrives, on_hand(session, source))


@server.tool()
def order_store_replenishment(
    session: Session, store_id: StoreId, item_id: ItemId, cases: Annotated[int, Field(ge=1, le=20)]
) -> InboundView:
    """Order cases of an item from the supplier for a store; they arrive in three days or four.

    Args:
        store_id: the store, from list_chain_stores.
        item_id: the item, from find_item_in_stores or list_store_stock.
        cases: how many cases; the result says how many pieces that is.

    Raises:
        store_closed_for_works: the store is closed.
        item_discontinued: the supplier no longer makes it.
        replenishment_open: an order of the item is on its way.
        storage_full: the store has no room.
    """
    store, item = store_of(session, store_id), item_of(session, item_id)
    stock = stock_of(session, store_id, item_id)
    check_works(session, store)
    if item.discontinued:
        raise ToolError(
            Fault.ITEM_DISCONTINUED, f"{item.name} is no longer made; transfer_store_stock can bring what is left."
        )
    for row in inbound(session, stock):
        if not row.source and row.arrives_at > session.now:
            raise ToolError(
                Fault.REPLENISHMENT_OPEN,
                f"{row.quantity} of {item.name} come from the supplier on {row.arrives_at:%Y-%m-%d}; wait for them.",
            )
    quantity = cases * item.case_size
    _check_room(session, stock, quantity)
    late = local(session, store).hour >= CUTOFF_HOUR
    arrives = session.now + LEAD_TIME + (TRANSFER_TIME if late else timedelta())
    new = Inbound(session.new_id("RINB"), store.id, item.id, "", quantity, session.now, arrives)
    session.table(Inbound).add(new)
    return InboundView(new.id, quantity, arrives)


@server.tool()
def change_store_price(
    session: Session, store_id: StoreId, item_id: ItemId, new_price: Amount, until: Date | None = None
) -> PriceChange:
    """Change what an item costs in a store, for good or, with a last day, as a promotion.

    Args:
        store_id: the store, from list_chain_stores.
        item_id: the item, from list_store_stock.
        new_price: the price in the store's currency.
        until: the last day of a promotion; the regular price returns after it.

    Raises:
        promotion_running: the item is in a promotion.
        price_unchanged: it costs that already.
        price_out_of_range: it is more than 60 percent away from the regular price, or a promotion above it.
        date_not_allowed: the day is not in the coming 60 days.
        invalid_amount: the currency has no such fraction.
    """
    stock = stock_of(session, store_id, item_id)
    store, item = store_of(session, store_id), item_of(session, item_id)
    today = local(session, store).date()
    if promoted(session, stock):
        raise ToolError(
            Fault.PROMOTION_RUNNING, f"{item.name} is in a promotion until {stock.promo_until}; change it after that."
        )
    price, old = money(new_price, store.currency, Fault.INVALID_AMOUNT), stock.price
    if price == old:
        raise ToolError(Fault.PRICE_UNCHANGED, f"{item.name} costs {old} in {store.name} already.")
    low, high = old.share(4, 10), old if until else old.share(16, 10)
    if not low <= price <= high:
        raise ToolError(Fault.PRICE_OUT_OF_RANGE, f"The new price must lie between {low} and {high}.")
    if until is None:
        session.table(Stock).put(replace(stock, price=price, promo_price=None, promo_until=None))
        return PriceChange(item.name, store.name, old, price)
    if not today <= until <= today + PROMOTION_LENGTH:
        raise ToolError(Fault.DATE_NOT_ALLOWED, f"The last day lies between {today} and {today + PROMOTION_LENGTH}.")
    session.table(Stock).put(replace(stock, promo_price=price, promo_until=until))
    return PriceChange(item.name, store.name, old, price, until)


@server.tool()
def record_stock_count(
    session: Session,
    store_id: StoreId,
    item_id: ItemId,
    counted: Annotated[int, Field(ge=0, le=500)],
    confirmed: bool = False,
) -> CountView:
    """Enter how many pieces of an item were counted in a store, and correct its stock to that.

    Args:
        store_id: the store, from list_chain_stores.
        item_id: the item, from list_store_stock.
        counted: the pieces on shelf and in storage, reserved ones included.
        confirmed: whether somebody counted again; needed when far off.

    Raises:
        counted_recently: it was counted in the last twelve hours.
        count_needs_confirmation: it differs by more than 10 pieces.
    """
    stock = stock_of(session, store_id, item_id)
    store, item = store_of(session, store_id), item_of(session, item_id)
    if stock.counted_at is not None and session.now < stock.counted_at + COUNT_PAUSE:
        free = stock.counted_at + COUNT_PAUSE
        raise ToolError(
            Fault.COUNTED_RECENTLY,
            f"{item.name} was counted at {stock.counted_at:%H:%M} UTC; again from {free:%H:%M} on.",
        )
    expected = on_hand(session, stock)
    if abs(counted - expected) > 10 and not confirmed:
        raise ToolError(
            Fault.COUNT_NEEDS_CONFIRMATION,
            f"{expected} were expected and {counted} counted; have them counted again and send confirmed=true.",
        )
    session.table(Stock).put(replace(stock, base=stock.base + counted - expected, counted_at=session.now))
    return CountView(item.name, store.name, expected, counted, counted - expected)


def _spread(session: Session, item: Item, city: str) -> ItemInStores:
    shares = []
    for row in session.table(Stock).where(item_id=item.id):
        store, free = store_of(session, row.store_id), available(session, row)
        if free and city.strip().casefold() in ("", store.city.casefold()):
            shares.append(StoreShare(store.id, store.name, free))
    shares.sort(key=lambda share: (-share.available, share.store, share.store_id))
    return ItemInStores(item.id, item.name, sum(share.available for share in shares), shares[:BEST_STORES])


def _check_room(session: Session, stock: Stock, quantity: int) -> None:
    item, store = item_of(session, stock.item_id), store_of(session, stock.store_id)
    room = max(0, item.capacity - on_hand(session, stock) - incoming(session, stock))
    if quantity > room:
        raise ToolError(Fault.STORAGE_FULL, f"{store.name} has room for {room} more of {item.name}; send no more.")


def _store_view(session: Session, store: Store) -> StoreView:
    now = local(session, store)
    closed = None
    if store.works_until is not None and now.date() <= store.works_until:
        closed = f"works until {store.works_until}"
    elif now.weekday() == store.rest_day:
        closed = _DAYS[store.rest_day]
    hours = f"{store.opens:%H:%M}-{store.closes:%H:%M}"
    return StoreView(store.id, store.name, open_at(store, now), hours, closed)
