"""The order book: price-time priority, matching against resting orders, and stops that a trade sets off."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from servers.kernel.errors import ToolError
from servers.kernel.session import Session
from servers.kernel.types import Money
from servers.trading.model import (
    CashBalance,
    Fault,
    Portfolio,
    Position,
    Side,
    Stock,
    StockOrder,
    StockTrade,
)
from servers.trading.rules import STOP_MARGIN, cash_of, is_open, shares_of, stock_of


@dataclass(frozen=True, slots=True)
class Fill:
    """Shares that a resting order gives or takes, at its own price."""

    resting: StockOrder
    price: Money
    quantity: int


def resting_orders(session: Session, symbol: str, side: Side) -> list[StockOrder]:
    """Open limit orders on one side of the book: best price first, then the oldest, then by id."""
    rows = [
        row
        for row in session.table(StockOrder).where(symbol=symbol)
        if row.side == side and row.kind == "limit" and row.price is not None and is_open(session, row)
    ]
    sign = -1 if side == "buy" else 1
    return sorted(rows, key=lambda row: (sign * (row.price.minor if row.price else 0), row.placed_at, row.id))


def plan_fills(session: Session, symbol: str, side: Side, quantity: int, limit: Money | None) -> list[Fill]:
    """What a new order would trade at once, without doing it."""
    fills = []
    for row in resting_orders(session, symbol, "sell" if side == "buy" else "buy"):
        price = row.price
        if quantity == 0 or price is None:
            break
        if limit is not None and (price > limit if side == "buy" else price < limit):
            break
        taken = min(quantity, row.quantity - row.filled)
        fills.append(Fill(row, price, taken))
        quantity -= taken
    return fills


def value_of(fills: Iterable[Fill], currency: str) -> Money:
    """What the fills cost together."""
    return sum((fill.price * fill.quantity for fill in fills), Money(0, currency))


def check_no_self_match(session: Session, fills: Iterable[Fill]) -> None:
    """Refuse an order that would trade with one of the investor's own."""
    for fill in fills:
        if session.table(Portfolio).require(fill.resting.portfolio_id, "").own:
            row = fill.resting
            raise ToolError(
                Fault.SELF_MATCH,
                f"It would trade with your own order {row.id} ({row.side} at {row.price}); "
                "cancel_stock_order that one first or choose another price.",
            )


def execute(session: Session, order: StockOrder, fills: Iterable[Fill]) -> StockOrder:
    """Trade the fills, move shares and cash, then run the stops that the new last price sets off."""
    order = _trade(session, order, fills)
    while (stop := _next_stop(session, order.symbol)) is not None:
        _run_stop(session, stop)
    return order


def _trade(session: Session, order: StockOrder, fills: Iterable[Fill]) -> StockOrder:
    orders, stocks = session.table(StockOrder), session.table(Stock)
    for fill in fills:
        resting, value = fill.resting, fill.price * fill.quantity
        buyer, seller = (order, resting) if order.side == "buy" else (resting, order)
        move_shares(session, seller.portfolio_id, order.symbol, -fill.quantity, value)
        move_shares(session, buyer.portfolio_id, order.symbol, fill.quantity, value)
        move_cash(session, buyer.portfolio_id, value * -1)
        move_cash(session, seller.portfolio_id, value)
        orders.put(replace(resting, filled=resting.filled + fill.quantity, traded=resting.traded + value))
        order = replace(order, filled=order.filled + fill.quantity, traded=order.traded + value)
        stocks.put(replace(stock_of(session, order.symbol), last=fill.price))
        session.table(StockTrade).add(
            StockTrade(
                id=session.new_id("STR"),
                symbol=order.symbol,
                buyer_id=buyer.portfolio_id,
                seller_id=seller.portfolio_id,
                quantity=fill.quantity,
                price=fill.price,
                at=session.now,
            )
        )
    return orders.put(order)


def move_cash(session: Session, portfolio_id: str, amount: Money) -> None:
    """Book cash in or out."""
    total = cash_of(session, portfolio_id, amount.currency) + amount
    session.table(CashBalance).put(CashBalance(f"{portfolio_id}/{amount.currency}", portfolio_id, total))


def move_shares(session: Session, portfolio_id: str, symbol: str, shares: int, value: Money) -> None:
    """Book shares in at their price, or out at their average cost."""
    table, key = session.table(Position), f"{portfolio_id}/{symbol}"
    before, row = shares_of(session, portfolio_id, symbol), table.get(key)
    cost = row.cost if row else Money(0, value.currency)
    cost = cost + value if shares > 0 else cost - cost.share(-shares, before)
    if before + shares:
        table.put(Position(key, portfolio_id, symbol, before + shares, cost))
    else:
        table.remove(key)


def _next_stop(session: Session, symbol: str) -> StockOrder | None:
    """The oldest open stop order that the last price has reached."""
    last = stock_of(session, symbol).last
    reached = [
        row
        for row in session.table(StockOrder).where(symbol=symbol, kind="stop")
        if is_open(session, row)
        and row.price is not None
        and (last >= row.price if row.side == "buy" else last <= row.price)
    ]
    return min(reached, key=lambda row: (row.placed_at, row.id), default=None)


def _run_stop(session: Session, stop: StockOrder) -> None:
    """Trade a triggered stop against other investors; what finds no price near the stop is cancelled."""
    price = stop.price or Money(0, stop.traded.currency)
    limit = price.share(100 + (STOP_MARGIN if stop.side == "buy" else -STOP_MARGIN), 100)
    plan = plan_fills(session, stop.symbol, stop.side, stop.quantity, limit)
    fills = [fill for fill in plan if not session.table(Portfolio).require(fill.resting.portfolio_id, "").own]
    done = _trade(session, stop, fills)
    session.table(StockOrder).put(replace(done, cancelled=done.filled < done.quantity))
