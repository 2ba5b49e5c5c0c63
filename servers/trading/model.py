"""Records and error codes of the broker."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from servers.kernel.store import Record
from servers.kernel.types import Entity, Hidden, Money

PortfolioId: TypeAlias = Annotated[str, Entity("portfolio")]
StockSymbol: TypeAlias = Annotated[str, Entity("stock_symbol", natural=True)]
StockOrderId: TypeAlias = Annotated[str, Entity("stock_order")]

Exchange: TypeAlias = Literal["LSE", "XETRA", "NYSE", "TSE"]
Side: TypeAlias = Literal["buy", "sell"]
OrderKind: TypeAlias = Literal["market", "limit", "stop"]
TimeInForce: TypeAlias = Literal["day", "gtc", "ioc"]
TradingStatus: TypeAlias = Literal["open", "closed", "halted"]
StockOrderStatus: TypeAlias = Literal[
    "open", "partly_filled", "filled", "cancelled", "partly_filled_rest_cancelled", "expired"
]
EventKind: TypeAlias = Literal["dividend", "earnings", "split", "meeting"]


class Fault(StrEnum):
    """What the broker refuses, beyond bad arguments and unknown ids."""

    MARKET_CLOSED = "market_closed"
    SYMBOL_HALTED = "symbol_halted"
    PORTFOLIO_RESTRICTED = "portfolio_restricted"
    INSUFFICIENT_BUYING_POWER = "insufficient_buying_power"
    NOT_ENOUGH_SHARES = "not_enough_shares"
    TICK_SIZE = "tick_size"
    LOT_SIZE = "lot_size"
    PRICE_OUT_OF_BAND = "price_out_of_band"
    NO_LIQUIDITY = "no_liquidity"
    SELF_MATCH = "self_match"
    STOP_ON_WRONG_SIDE = "stop_on_wrong_side"
    ORDER_NOT_OPEN = "order_not_open"
    ALREADY_WATCHED = "already_watched"
    NOT_WATCHED = "not_watched"
    WATCH_LIST_FULL = "watch_list_full"


@dataclass(frozen=True, slots=True)
class Portfolio(Record):
    """An investor's portfolio, or a market maker's. `restricted` ones may sell but not buy."""

    id: PortfolioId
    name: str
    restricted: bool
    own: Annotated[bool, Hidden]


@dataclass(frozen=True, slots=True)
class CashBalance(Record):
    """What a portfolio holds in one currency; the id is `portfolio/currency`."""

    id: str
    portfolio_id: PortfolioId
    amount: Money


@dataclass(frozen=True, slots=True)
class Position(Record):
    """Shares of one stock in a portfolio, and what all of them cost; the id is `portfolio/symbol`."""

    id: str
    portfolio_id: PortfolioId
    symbol: StockSymbol
    shares: int
    cost: Money


@dataclass(frozen=True, slots=True)
class Stock(Record):
    """A listed share; its id is the symbol. `tick` is the price step in minor units, `lot` the share step."""

    id: StockSymbol
    name: str
    exchange: Exchange
    last: Money
    tick: int
    lot: int
    halted: bool


@dataclass(frozen=True, slots=True)
class StockOrder(Record):
    """An order. `price` is its limit or stop; market orders have none. `traded` is the value of its fills."""

    id: StockOrderId
    portfolio_id: PortfolioId
    symbol: StockSymbol
    side: Side
    kind: OrderKind
    price: Money | None
    quantity: int
    filled: int
    traded: Money
    time_in_force: TimeInForce
    placed_at: datetime
    cancelled: bool


@dataclass(frozen=True, slots=True)
class StockTrade(Record):
    """One match between two portfolios."""

    id: str
    symbol: StockSymbol
    buyer_id: PortfolioId
    seller_id: PortfolioId
    quantity: int
    price: Money
    at: datetime


@dataclass(frozen=True, slots=True)
class WatchedStock(Record):
    """A stock on the watch list; its id is the symbol."""

    id: StockSymbol
    since: datetime


@dataclass(frozen=True, slots=True)
class CorporateEvent(Record):
    """A day in a company's calendar; only dividends have an amount, per share."""

    id: str
    symbol: StockSymbol
    kind: EventKind
    on: date
    amount: Money | None
