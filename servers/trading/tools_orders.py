"""Tools for placing, listing and cancelling stock orders."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import Field

from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.types import Amount, Money
from servers.trading.book import check_no_self_match, execute, plan_fills, value_of
from servers.trading.model import (
    Fault,
    OrderKind,
    Portfolio,
    PortfolioId,
    Side,
    Stock,
    StockOrder,
    StockOrderId,
    StockOrderStatus,
    StockSymbol,
    TimeInForce,
)
from servers.trading.rules import (
    STOP_MARGIN,
    check_buying_power,
    check_order,
    order_status,
    own_order_of,
    portfolio_of,
    price_of,
    stock_of,
)
from servers.trading.server import server

Shares = Annotated[int, Field(ge=1, le=1_000_000)]


@dataclass(frozen=True, slots=True)
class OrderResult:
    """What became of an order; without fills there is no average price."""

    id: StockOrderId
    status: StockOrderStatus
    filled: int
    quantity: int
    average_price: Money | None


@dataclass(frozen=True, slots=True)
class OrderRow:
    """An order in a list; `price` is its limit or stop, or what a market order paid on average."""

    id: StockOrderId
    symbol: StockSymbol
    side: Side
    quantity: int
    price: Money
    status: StockOrderStatus


def average_price(order: StockOrder) -> Money | None:
    """What a share of the order's fills cost on average."""
    return order.traded.share(1, order.filled) if order.filled else None


def _new_order(
    session: Session,
    portfolio_id: str,
    stock: Stock,
    side: Side,
    kind: OrderKind,
    quantity: int,
    price: Money | None,
    time_in_force: TimeInForce,
) -> StockOrder:
    return StockOrder(
        id=session.new_id("SOD"),
        portfolio_id=portfolio_id,
        symbol=stock.id,
        side=side,
        kind=kind,
        price=price,
        quantity=quantity,
        filled=0,
        traded=Money(0, stock.last.currency),
        time_in_force=time_in_force,
        placed_at=session.now,
        cancelled=False,
    )


def _result(session: Session, order: StockOrder) -> OrderResult:
    return OrderResult(order.id, order_status(session, order), order.filled, order.quantity, average_price(order))


@server.tool()
def place_market_order(
    session: Session, portfolio_id: PortfolioId, symbol: StockSymbol, side: Side, quantity: Shares
) -> OrderResult:
    """Buy or sell shares at once at the best prices in the book.

    What the book can't fill is cancelled. Look at get_stock_quote first for the lot size.

    Args:
        portfolio_id: the portfolio, from list_portfolios.
        symbol: the stock's symbol, such as VOLT.
        side: buy or sell.
        quantity: how many shares.

    Raises:
        portfolio_restricted: the portfolio may not buy.
        symbol_halted: trading in the stock is halted.
        market_closed: its exchange is closed.
        lot_size: the quantity is no multiple of the lot.
        not_enough_shares: fewer shares are free to sell.
        no_liquidity: nobody is on the other side of the book.
        self_match: it would trade with an own order.
        insufficient_buying_power: too little cash is free.
    """
    stock = check_order(session, portfolio_id, symbol, side, quantity)
    fills = plan_fills(session, symbol, side, quantity, None)
    if not fills:
        raise ToolError(
            Fault.NO_LIQUIDITY, f"Nobody {'sells' if side == 'buy' else 'buys'} {symbol} now; use place_limit_order."
        )
    check_no_self_match(session, fills)
    if side == "buy":
        check_buying_power(session, portfolio_id, value_of(fills, stock.last.currency))
    order = _new_order(session, portfolio_id, stock, side, "market", quantity, None, "ioc")
    done = execute(session, order, fills)
    done = session.table(StockOrder).put(replace(done, cancelled=done.filled < quantity))
    return _result(session, done)


@server.tool()
def place_limit_order(
    session: Session,
    portfolio_id: PortfolioId,
    symbol: StockSymbol,
    side: Side,
    quantity: Shares,
    limit_price: Amount,
    time_in_force: TimeInForce = "day",
) -> OrderResult:
    """Buy or sell shares at a price or better; what isn't filled waits in the book.

    Args:
        portfolio_id: the portfolio, from list_portfolios.
        symbol: the stock's symbol, such as VOLT.
        side: buy or sell.
        quantity: how many shares.
        limit_price: highest price to pay or lowest to take, in the stock's currency.
        time_in_force: day until today's close, gtc until cancelled, ioc fills now and cancels the rest.

    Raises:
        portfolio_restricted: the portfolio may not buy.
        symbol_halted: trading in the stock is halted.
        market_closed: its exchange is closed.
        lot_size: the quantity is no multiple of the lot.
        not_enough_shares: fewer shares are free to sell.
        tick_size: the price is no multiple of the tick.
        price_out_of_band: the price is below half or above double the last one.
        self_match: it would trade with an own order.
        insufficient_buying_power: too little cash is free.
    """
    stock = check_order(session, portfolio_id, symbol, side, quantity)
    price = price_of(stock, limit_price)
    if side == "buy":
        check_buying_power(session, portfolio_id, price * quantity)
    fills = plan_fills(session, symbol, side, quantity, price)
    check_no_self_match(session, fills)
    order = _new_order(session, portfolio_id, stock, side, "limit", quantity, price, time_in_force)
    done = execute(session, order, fills)
    if time_in_force == "ioc" and done.filled < quantity:
        done = session.table(StockOrder).put(replace(done, cancelled=True))
    return _result(session, done)


@server.tool()
def place_stop_order(
    session: Session,
    portfolio_id: PortfolioId,
    symbol: StockSymbol,
    side: Side,
    quantity: Shares,
    stop_price: Amount,
    time_in_force: Literal["day", "gtc"] = "gtc",
) -> OrderResult:
    """Sell automatically when the price falls to a stop, or buy when it rises to one.

    It waits until a trade reaches the stop, then trades at once, at most 10 % beyond it.

    Args:
        portfolio_id: the portfolio, from list_portfolios.
        symbol: the stock's symbol, such as VOLT.
        side: sell below the last price, or buy above it.
        quantity: how many shares.
        stop_price: the price that sets it off, in the stock's currency.
        time_in_force: day until today's close, gtc until cancelled.

    Raises:
        portfolio_restricted: the portfolio may not buy.
        symbol_halted: trading in the stock is halted.
        market_closed: its exchange is closed.
        lot_size: the quantity is no multiple of the lot.
        not_enough_shares: fewer shares are free to sell.
        tick_size: the price is no multiple of the tick.
        price_out_of_band: the price is below half or above double the last one.
        stop_on_wrong_side: the last price has passed the stop already.
        insufficient_buying_power: too little cash is free.
    """
    stock = check_order(session, portfolio_id, symbol, side, quantity)
    price = price_of(stock, stop_price)
    where, passed = ("below", price >= stock.last) if side == "sell" else ("above", price <= stock.last)
    if passed:
        raise ToolError(
            Fault.STOP_ON_WRONG_SIDE,
            f"A {side} stop lies {where} the last price of {stock.last}; choose another price.",
        )
    if side == "buy":
        check_buying_power(session, portfolio_id, (price * quantity).share(100 + STOP_MARGIN, 100))
    order = _new_order(session, portfolio_id, stock, side, "stop", quantity, price, time_in_force)
    return _result(session, session.table(StockOrder).add(order))


@server.tool(read_only=True)
def list_stock_orders(
    session: Session,
    query: Query = "",
    status: StockOrderStatus | None = None,
    portfolio_id: PortfolioId | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[OrderRow]:
    """List the investor's stock orders with their ids and status, newest first.

    Args:
        query: words of the symbol, the company or the side.
        status: only orders in this state.
        portfolio_id: only orders of this portfolio.
        limit: most orders to return.
        offset: how many to skip.
    """
    owners = {row.id for row in session.table(Portfolio).all() if row.own}
    if portfolio_id is not None:
        owners = {portfolio_of(session, portfolio_id).id}
    rows = [row for row in session.table(StockOrder).all() if row.portfolio_id in owners]
    rows = search(rows, query, lambda row: f"{row.symbol} {stock_of(session, row.symbol).name} {row.side}")
    rows.sort(key=lambda row: (-row.placed_at.timestamp(), row.id))
    items = []
    for row in rows:
        state = order_status(session, row)
        price = row.price or average_price(row) or stock_of(session, row.symbol).last
        if status is None or state == status:
            items.append(OrderRow(row.id, row.symbol, row.side, row.quantity, price, state))
    return paginate(items, limit, offset)


@server.tool(destructive=True)
def cancel_stock_order(session: Session, stock_order_id: StockOrderId) -> OrderResult:
    """Cancel an open order; shares that it has traded stay traded.

    Args:
        stock_order_id: the order, from list_stock_orders.

    Raises:
        order_not_open: it is filled, cancelled or expired.
    """
    order = own_order_of(session, stock_order_id)
    status = order_status(session, order)
    if status not in ("open", "partly_filled"):
        raise ToolError(Fault.ORDER_NOT_OPEN, f"The order is {status}; only open orders can be cancelled.")
    return _result(session, session.table(StockOrder).put(replace(order, cancelled=True)))
