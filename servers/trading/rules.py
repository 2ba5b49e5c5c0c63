"""The broker's rules: trading hours, order states, and what a portfolio may still spend or sell."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from servers.kernel.errors import KernelFault, ToolError
from servers.kernel.session import Session
from servers.kernel.store import shown
from servers.kernel.types import Money
from servers.trading.model import (
    CashBalance,
    Exchange,
    Fault,
    Portfolio,
    Position,
    Side,
    Stock,
    StockOrder,
    StockOrderStatus,
    TradingStatus,
)
from servers.trading.seed import HOURS, opening

STOP_MARGIN = 10
"""A triggered stop order trades at most this many percent beyond its stop; buys reserve that much."""


def portfolio_of(session: Session, portfolio_id: str) -> Portfolio:
    """The investor's portfolio, or an error that says how to find one."""
    portfolio = session.table(Portfolio).get(portfolio_id)
    if portfolio is None or not portfolio.own:
        raise ToolError(
            KernelFault.NOT_FOUND,
            f"There is no portfolio {shown(portfolio_id)} of the investor. list_portfolios shows the valid ids.",
        )
    return portfolio


def own_order_of(session: Session, order_id: str) -> StockOrder:
    """The investor's order, or an error that says how to find one."""
    order = session.table(StockOrder).get(order_id)
    if order is None or not session.table(Portfolio).require(order.portfolio_id, "").own:
        raise ToolError(
            KernelFault.NOT_FOUND,
            f"There is no order {shown(order_id)} of the investor. list_stock_orders shows the valid ids.",
        )
    return order


def stock_of(session: Session, symbol: str) -> Stock:
    """The stock, or an error that says how to find one."""
    return session.table(Stock).require(symbol, "search_stocks shows the valid symbols.")


def is_trading(exchange: Exchange, moment: datetime) -> bool:
    """Whether an exchange is open."""
    return opening(exchange, moment) <= moment


def trading_status(session: Session, stock: Stock) -> TradingStatus:
    """Whether a stock can be traded now."""
    if stock.halted:
        return "halted"
    return "open" if is_trading(stock.exchange, session.now) else "closed"


def is_open(session: Session, order: StockOrder) -> bool:
    """Whether an order can still trade."""
    return order_status(session, order) in ("open", "partly_filled")


def order_status(session: Session, order: StockOrder) -> StockOrderStatus:
    """The state of an order now; day orders lapse when their day's trading ends."""
    if order.filled == order.quantity:
        return "filled"
    if order.cancelled:
        return "partly_filled_rest_cancelled" if order.filled else "cancelled"
    if order.time_in_force == "day":
        closes = HOURS[stock_of(session, order.symbol).exchange][1]
        opened = opening(stock_of(session, order.symbol).exchange, order.placed_at)
        if session.now >= opened.replace(hour=closes.hour, minute=closes.minute):
            return "expired"
    return "partly_filled" if order.filled else "open"


def open_orders(session: Session, portfolio_id: str, side: Side) -> list[StockOrder]:
    """A portfolio's orders on one side that can still trade."""
    rows = session.table(StockOrder).where(portfolio_id=portfolio_id)
    return [row for row in rows if row.side == side and is_open(session, row)]


def cash_of(session: Session, portfolio_id: str, currency: str) -> Money:
    """What a portfolio holds in a currency."""
    row = session.table(CashBalance).get(f"{portfolio_id}/{currency}")
    return row.amount if row else Money(0, currency)


def shares_of(session: Session, portfolio_id: str, symbol: str) -> int:
    """How many shares a portfolio holds."""
    row = session.table(Position).get(f"{portfolio_id}/{symbol}")
    return row.shares if row else 0


def reserved_by(order: StockOrder) -> Money:
    """The cash that an open buy order keeps from being spent twice."""
    price = order.price or Money(0, order.traded.currency)
    whole = price * (order.quantity - order.filled)
    return whole.share(100 + STOP_MARGIN, 100) if order.kind == "stop" else whole


def buying_power(session: Session, portfolio_id: str, currency: str) -> Money:
    """Cash in a currency less what open buy orders reserve."""
    reserved = (reserved_by(o) for o in open_orders(session, portfolio_id, "buy") if o.traded.currency == currency)
    return cash_of(session, portfolio_id, currency) - sum(reserved, Money(0, currency))


def free_shares(session: Session, portfolio_id: str, symbol: str) -> int:
    """Shares that no open sell order is about to sell."""
    selling = (o.quantity - o.filled for o in open_orders(session, portfolio_id, "sell") if o.symbol == symbol)
    return shares_of(session, portfolio_id, symbol) - sum(selling)


def price_of(stock: Stock, amount: Decimal) -> Money:
    """A price on the stock's tick grid and near its last price."""
    currency, step = stock.last.currency, Money(stock.tick, stock.last.currency)
    try:
        price = Money.of(amount, currency)
    except ValueError:
        raise ToolError(Fault.TICK_SIZE, f"{stock.id} trades in steps of {step}; round the price.") from None
    low, high = stock.last.share(1, 2), stock.last * 2
    if not low <= price <= high:
        raise ToolError(
            Fault.PRICE_OUT_OF_BAND, f"{stock.id} last traded at {stock.last}; the price must lie in {low} to {high}."
        )
    if over := price.minor % stock.tick:
        down = Money(price.minor - over, currency)
        near = down if down >= low else down + step
        raise ToolError(Fault.TICK_SIZE, f"{stock.id} trades in steps of {step}; {near} would do.")
    return price


def check_order(session: Session, portfolio_id: str, symbol: str, side: Side, quantity: int) -> Stock:
    """The stock of a new order, after the checks that all kinds of orders share."""
    portfolio, stock = portfolio_of(session, portfolio_id), stock_of(session, symbol)
    if portfolio.restricted and side == "buy":
        raise ToolError(
            Fault.PORTFOLIO_RESTRICTED, f"{portfolio.name} may only sell; buy in another one from list_portfolios."
        )
    if stock.halted:
        raise ToolError(Fault.SYMBOL_HALTED, f"Trading in {symbol} is halted; it can't be ordered for now.")
    if not is_trading(stock.exchange, session.now):
        start = opening(stock.exchange, session.now)
        raise ToolError(Fault.MARKET_CLOSED, f"{stock.exchange} is closed and opens {start:%Y-%m-%d %H:%M} UTC.")
    if quantity % stock.lot:
        down = max(stock.lot, quantity - quantity % stock.lot)
        raise ToolError(Fault.LOT_SIZE, f"{symbol} trades in lots of {stock.lot} shares; {down} would do.")
    free = free_shares(session, portfolio_id, symbol)
    if side == "sell" and quantity > free:
        raise ToolError(
            Fault.NOT_ENOUGH_SHARES,
            f"{portfolio.name} has {max(0, free)} {symbol} free to sell; short selling isn't allowed.",
        )
    return stock


def check_buying_power(session: Session, portfolio_id: str, cost: Money) -> None:
    """Refuse to spend more than is free."""
    power = buying_power(session, portfolio_id, cost.currency)
    if cost > power:
        raise ToolError(
            Fault.INSUFFICIENT_BUYING_POWER,
            f"The order needs {cost} and the portfolio has {power} free; buy fewer shares or cancel an open order.",
        )
