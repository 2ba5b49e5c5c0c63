"""The broker's server object."""

from __future__ import annotations

from servers.kernel.server import ToolServer
from servers.trading.model import (
    CashBalance,
    CorporateEvent,
    Fault,
    Portfolio,
    Position,
    Stock,
    StockOrder,
    StockTrade,
    WatchedStock,
)
from servers.trading.seed import build

server = ToolServer(
    "trading",
    "Portfolios, order books and stock orders of an investor",
    records=(Portfolio, CashBalance, Position, Stock, StockOrder, StockTrade, WatchedStock, CorporateEvent),
    seed=build,
    faults=Fault,
)
