"""Tools for stocks: search, quotes, order books, the watch list and the corporate calendar."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import Field

from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.types import Money
from servers.trading.book import resting_orders
from servers.trading.model import (
    CorporateEvent,
    EventKind,
    Exchange,
    Fault,
    Side,
    Stock,
    StockOrder,
    StockSymbol,
    TradingStatus,
    WatchedStock,
)
from servers.trading.rules import stock_of, trading_status
from servers.trading.seed import opening
from servers.trading.server import server

WATCH_LIST_SIZE = 12


@dataclass(frozen=True, slots=True)
class StockItem:
    """A stock in a list."""

    symbol: StockSymbol
    name: str
    exchange: Exchange
    last: Money
    status: TradingStatus


@dataclass(frozen=True, slots=True)
class StockQuote:
    """A stock's prices and trading rules; `opens_at` is absent while it trades."""

    symbol: StockSymbol
    last: Money
    bid: Money | None
    ask: Money | None
    tick: Money
    lot: int
    status: TradingStatus
    opens_at: datetime | None


@dataclass(frozen=True, slots=True)
class BookLevel:
    """All shares at one price."""

    price: Money
    shares: int


@dataclass(frozen=True, slots=True)
class OrderBook:
    """The best prices on both sides, best first."""

    symbol: StockSymbol
    bids: list[BookLevel]
    asks: list[BookLevel]


@dataclass(frozen=True, slots=True)
class WatchChange:
    """A stock that was put on the watch list or taken off."""

    symbol: StockSymbol
    watched: bool
    stocks_watched: int


@dataclass(frozen=True, slots=True)
class CalendarItem:
    """A coming day in a company's calendar."""

    symbol: StockSymbol
    name: str
    kind: EventKind
    on: date
    amount: Money | None


@server.tool(read_only=True)
def search_stocks(
    session: Session,
    query: Query = "",
    exchange: Exchange | None = None,
    watched_only: bool = False,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[StockItem]:
    """Search stocks by symbol or company name, or show the watch list. Ordered by symbol.

    Args:
        query: words of the symbol or the company's name.
        exchange: only stocks listed there.
        watched_only: only stocks on the watch list.
        limit: most stocks to return.
        offset: how many to skip.
    """
    watched = {row.id for row in session.table(WatchedStock).all()} if watched_only else None
    rows = search(session.table(Stock).all(), query, lambda row: f"{row.id} {row.name}")
    items = [
        StockItem(row.id, row.name, row.exchange, row.last, trading_status(session, row))
        for row in rows
        if (exchange is None or row.exchange == exchange) and (watched is None or row.id in watched)
    ]
    return paginate(sorted(items, key=lambda item: item.symbol), limit, offset)


@server.tool(read_only=True)
def get_stock_quote(session: Session, symbol: StockSymbol) -> StockQuote:
    """Show a stock's last, bid and ask price, tick and lot size, and whether it trades now.

    Args:
        symbol: the stock's symbol, such as VOLT.
    """
    stock = stock_of(session, symbol)
    bids, asks = resting_orders(session, symbol, "buy"), resting_orders(session, symbol, "sell")
    status = trading_status(session, stock)
    return StockQuote(
        symbol=stock.id,
        last=stock.last,
        bid=bids[0].price if bids else None,
        ask=asks[0].price if asks else None,
        tick=Money(stock.tick, stock.last.currency),
        lot=stock.lot,
        status=status,
        opens_at=opening(stock.exchange, session.now) if status == "closed" else None,
    )


@server.tool(read_only=True)
def get_order_book(session: Session, symbol: StockSymbol, depth: Annotated[int, Field(ge=1, le=10)] = 3) -> OrderBook:
    """Show how many shares are bid and offered at the best prices of a stock.

    Args:
        symbol: the stock's symbol, such as VOLT.
        depth: how many prices of each side.
    """
    stock_of(session, symbol)
    return OrderBook(symbol, _levels(session, symbol, "buy", depth), _levels(session, symbol, "sell", depth))


def _levels(session: Session, symbol: str, side: Side, depth: int) -> list[BookLevel]:
    shares: dict[Money, int] = {}
    rows: list[StockOrder] = resting_orders(session, symbol, side)
    for row in rows:
        if row.price is not None:
            shares[row.price] = shares.get(row.price, 0) + row.quantity - row.filled
    return [BookLevel(price, count) for price, count in shares.items()][:depth]


@server.tool()
def change_watch_list(session: Session, action: Literal["add", "remove"], symbol: StockSymbol) -> WatchChange:
    """Add a stock to the watch list or remove it; search_stocks shows the list.

    Args:
        action: add or remove.
        symbol: the stock's symbol, such as VOLT.

    Raises:
        already_watched: it is on the list.
        not_watched: it isn't on the list.
        watch_list_full: the list holds 12 stocks.
    """
    stock_of(session, symbol)
    table = session.table(WatchedStock)
    rows, present = table.all(), table.get(symbol)
    if action == "remove":
        if present is None:
            raise ToolError(Fault.NOT_WATCHED, f"{symbol} isn't on the watch list, so there is nothing to remove.")
        table.remove(symbol)
        return WatchChange(symbol, False, len(rows) - 1)
    if present is not None:
        raise ToolError(Fault.ALREADY_WATCHED, f"{symbol} has been on the watch list since {present.since:%Y-%m-%d}.")
    if len(rows) >= WATCH_LIST_SIZE:
        raise ToolError(Fault.WATCH_LIST_FULL, f"The watch list holds {WATCH_LIST_SIZE} stocks; remove one first.")
    table.add(WatchedStock(symbol, session.now))
    return WatchChange(symbol, True, len(rows) + 1)


@server.tool(read_only=True)
def list_corporate_events(
    session: Session, query: Query = "", kind: EventKind | None = None, limit: Limit = 5, offset: Offset = 0
) -> Page[CalendarItem]:
    """List coming dividends, earnings, splits and meetings of companies, soonest first.

    Args:
        query: words of the symbol or the company's name.
        kind: only events of this kind.
        limit: most events to return.
        offset: how many to skip.
    """
    today = session.now.date()
    rows = [row for row in session.table(CorporateEvent).all() if row.on >= today and kind in (None, row.kind)]
    rows.sort(key=lambda row: (row.on, row.symbol, row.id))
    items = [CalendarItem(r.symbol, stock_of(session, r.symbol).name, r.kind, r.on, r.amount) for r in rows]
    return paginate(search(items, query, lambda item: f"{item.symbol} {item.name}"), limit, offset)
