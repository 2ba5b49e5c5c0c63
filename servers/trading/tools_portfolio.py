"""Tools for portfolios, their positions and their trades."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.types import Money
from servers.trading.model import (
    CashBalance,
    Portfolio,
    PortfolioId,
    Position,
    Side,
    StockSymbol,
    StockTrade,
)
from servers.trading.rules import buying_power, free_shares, portfolio_of, stock_of
from servers.trading.server import server


@dataclass(frozen=True, slots=True)
class PortfolioItem:
    """A portfolio with the cash that its open orders leave free, by currency."""

    id: PortfolioId
    name: str
    buying_power: list[Money]
    restricted: bool


@dataclass(frozen=True, slots=True)
class PositionItem:
    """Shares of a stock; `free` ones are in no open sell order."""

    symbol: StockSymbol
    shares: int
    free: int
    value: Money
    gain: Money


@dataclass(frozen=True, slots=True)
class TradeItem:
    """One trade from the portfolio's side; the time is UTC."""

    at: datetime
    symbol: StockSymbol
    side: Side
    quantity: int
    price: Money


@server.tool(read_only=True)
def list_portfolios(session: Session, query: Query = "") -> Page[PortfolioItem]:
    """List the investor's portfolios with their ids and free cash by currency. Ordered by name.

    Args:
        query: words of the portfolio's name.
    """
    rows = search([row for row in session.table(Portfolio).all() if row.own], query, lambda row: row.name)
    items = []
    for row in sorted(rows, key=lambda row: (row.name, row.id)):
        currencies = [cash.amount.currency for cash in session.table(CashBalance).where(portfolio_id=row.id)]
        power = [buying_power(session, row.id, currency) for currency in sorted(currencies)]
        items.append(PortfolioItem(row.id, row.name, power, row.restricted))
    return paginate(items, 10)


@server.tool(read_only=True)
def list_positions(
    session: Session, portfolio_id: PortfolioId, query: Query = "", limit: Limit = 5, offset: Offset = 0
) -> Page[PositionItem]:
    """List a portfolio's stocks: shares, shares free to sell, value and gain. Ordered by symbol.

    Args:
        portfolio_id: the portfolio, from list_portfolios.
        query: words of the symbol or the company's name.
        limit: most positions to return.
        offset: how many to skip.
    """
    portfolio_of(session, portfolio_id)
    rows = session.table(Position).where(portfolio_id=portfolio_id)
    found = search(rows, query, lambda row: f"{row.symbol} {stock_of(session, row.symbol).name}")
    items = []
    for row in sorted(found, key=lambda row: row.symbol):
        value = stock_of(session, row.symbol).last * row.shares
        free = free_shares(session, portfolio_id, row.symbol)
        items.append(PositionItem(row.symbol, row.shares, free, value, value - row.cost))
    return paginate(items, limit, offset)


@server.tool(read_only=True)
def list_stock_trades(
    session: Session, portfolio_id: PortfolioId, query: Query = "", limit: Limit = 5, offset: Offset = 0
) -> Page[TradeItem]:
    """List what a portfolio has bought and sold, newest first.

    Args:
        portfolio_id: the portfolio, from list_portfolios.
        query: words of the symbol, the company or the side.
        limit: most trades to return.
        offset: how many to skip.
    """
    portfolio_of(session, portfolio_id)
    table = session.table(StockTrade)
    rows = [*table.where(buyer_id=portfolio_id), *table.where(seller_id=portfolio_id)]
    rows.sort(key=lambda row: (-row.at.timestamp(), row.id))
    items = [
        TradeItem(row.at, row.symbol, "buy" if row.buyer_id == portfolio_id else "sell", row.quantity, row.price)
        for row in rows
    ]
    found = search(items, query, lambda item: f"{item.symbol} {stock_of(session, item.symbol).name} {item.side}")
    return paginate(found, limit, offset)
