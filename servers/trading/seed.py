"""The broker's initial world: four exchanges with makers' resting orders, and one investor's portfolios."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, time, timedelta

from servers.kernel.dice import Dice
from servers.kernel.server import SeedBuilder
from servers.kernel.session import EPOCH
from servers.kernel.store import Record
from servers.kernel.types import Money
from servers.trading.model import (
    CashBalance,
    CorporateEvent,
    EventKind,
    Exchange,
    Portfolio,
    Position,
    Side,
    Stock,
    StockOrder,
    StockTrade,
    TimeInForce,
    WatchedStock,
)

CURRENCY: dict[Exchange, str] = {"LSE": "GBP", "XETRA": "EUR", "NYSE": "USD", "TSE": "JPY"}
HOURS: dict[Exchange, tuple[time, time]] = {
    "LSE": (time(8), time(16, 30)),
    "XETRA": (time(8), time(16, 30)),
    "NYSE": (time(14, 30), time(21)),
    "TSE": (time(0), time(6)),
}
"""Trading hours from Monday to Friday, in UTC."""

_STOCKS: dict[Exchange, tuple[tuple[str, str], ...]] = {
    "LSE": (
        ("ALBN", "Albion Rail"),
        ("BRKL", "Brackley Foods"),
        ("CRNW", "Cornwall Tin"),
        ("DOVR", "Dover Shipping"),
        ("EDNB", "Edinburgh Assurance"),
        ("FENS", "Fenland Farms"),
        ("HRBR", "Harbour Media"),
        ("KESW", "Keswick Outdoor"),
        ("MRSY", "Mersey Power"),
        ("OXBR", "Oxbridge Labs"),
        ("PENN", "Pennine Water"),
        ("SVRN", "Severn Homes"),
        ("TWEE", "Tweed Textiles"),
        ("YRKS", "Yorkstone Retail"),
    ),
    "XETRA": (
        ("ALST", "Alster Werft"),
        ("BAYR", "Bayerwald Holz"),
        ("DONU", "Donau Logistik"),
        ("ELBE", "Elbe Chemie"),
        ("FALK", "Falke Optik"),
        ("HARZ", "Harz Maschinen"),
        ("ISAR", "Isar Software"),
        ("KIEL", "Kieler Marine"),
        ("MOSL", "Mosel Wein"),
        ("NECK", "Neckar Auto"),
        ("RHON", "Rhoen Solar"),
        ("SPRE", "Spree Biotech"),
        ("VOLT", "Voltwerk"),
        ("ZUGS", "Zugspitze Sport"),
    ),
    "NYSE": (
        ("APLC", "Appalachia Coal"),
        ("BOLT", "Boltline Motors"),
        ("DELT", "Delta Grain"),
        ("HUDS", "Hudson Trust"),
        ("MESA", "Mesa Pharma"),
        ("SIER", "Sierra Chips"),
    ),
    "TSE": (("FUJI", "Fujimi Denki"), ("HANA", "Hanabi Games"), ("NARA", "Nara Robotics")),
}
_PORTFOLIOS = ("Retirement", "Growth", "Dividend Income", "Kids Fund", "Swing Trades", "Inherited")
_MAKERS = ("Alder Markets", "Birch Markets", "Cedar Markets")
_EVENTS: tuple[EventKind, ...] = ("dividend", "earnings", "split", "meeting")


def opening(exchange: Exchange, moment: datetime) -> datetime:
    """When the exchange opens next, or has opened today if it still trades."""
    start, end = HOURS[exchange]
    for offset in range(8):
        day = moment.date() + timedelta(days=offset)
        if day.weekday() < 5 and moment < datetime.combine(day, end, tzinfo=moment.tzinfo):
            return datetime.combine(day, start, tzinfo=moment.tzinfo)
    raise AssertionError("a week has five trading days")


def build(make: SeedBuilder) -> Iterator[Record]:
    """Write stocks, then portfolios and makers, then what they hold, rest and have traded."""
    dice = make.dice
    stocks = [_stock(dice, exchange, *spec) for exchange, specs in _STOCKS.items() for spec in specs]
    makers = [Portfolio(make.new_id("PFL"), name, False, False) for name in _MAKERS]
    own = [Portfolio(make.new_id("PFL"), name, name == "Inherited", True) for name in _PORTFOLIOS]
    yield from stocks
    yield from makers
    yield from own
    for maker in makers:
        yield from _maker_holdings(dice, maker, stocks)
    for stock in stocks:
        yield from _resting(make, dice, stock, makers)
    for portfolio in own:
        yield from _holdings(make, dice, portfolio, stocks, makers)
    for stock in dice.sample(stocks, 9):
        yield WatchedStock(stock.id, EPOCH - timedelta(days=dice.integer(1, 90), minutes=dice.integer(0, 600)))
    yield from _calendar(make, dice, stocks)


def _stock(dice: Dice, exchange: Exchange, symbol: str, name: str) -> Stock:
    tick = {"LSE": dice.choice((5, 10)), "XETRA": dice.choice((1, 5)), "NYSE": 1, "TSE": dice.choice((1, 5))}[exchange]
    price = dice.integer(1500, 3900) if exchange == "TSE" else dice.integer(4050, 4950)
    return Stock(
        id=symbol,
        name=name,
        exchange=exchange,
        last=Money(price - price % tick, CURRENCY[exchange]),
        tick=tick,
        lot={"LSE": dice.choice((1, 10)), "XETRA": dice.choice((1, 10)), "NYSE": 1, "TSE": 100}[exchange],
        halted=dice.chance(0.08),
    )


def _maker_holdings(dice: Dice, maker: Portfolio, stocks: list[Stock]) -> Iterator[Record]:
    for currency in CURRENCY.values():
        amount = Money(dice.integer(4, 6) * 10**9, currency)
        yield CashBalance(f"{maker.id}/{currency}", maker.id, amount)
    for stock in stocks:
        shares = dice.integer(200, 400) * 100
        yield Position(f"{maker.id}/{stock.id}", maker.id, stock.id, shares, stock.last * shares)


def _resting(make: SeedBuilder, dice: Dice, stock: Stock, makers: list[Portfolio]) -> Iterator[StockOrder]:
    thin = dice.chance(0.06)
    for side, sign in (("buy", -1), ("sell", 1)):
        for level in range(0 if thin and sign > 0 else 4):
            away = (level * dice.integer(2, 3) + 1) * stock.tick * sign
            yield StockOrder(
                id=make.new_id("SOD"),
                portfolio_id=dice.choice(makers).id,
                symbol=stock.id,
                side="buy" if side == "buy" else "sell",
                kind="limit",
                price=Money(stock.last.minor + away, stock.last.currency),
                quantity=dice.integer(2, 12) * max(10, stock.lot),
                filled=0,
                traded=Money(0, stock.last.currency),
                time_in_force="gtc",
                placed_at=EPOCH - timedelta(minutes=dice.integer(3, 58), seconds=dice.integer(0, 59)),
                cancelled=False,
            )


def _holdings(
    make: SeedBuilder, dice: Dice, portfolio: Portfolio, stocks: list[Stock], makers: list[Portfolio]
) -> Iterator[Record]:
    for currency in ("GBP", "EUR", *dice.sample(("USD", "JPY"), dice.integer(1, 2))):
        scale = 2 if currency == "JPY" else 1
        least = 450_000 if currency in ("GBP", "EUR") else 20_000
        amount = Money(dice.integer(least, 2_400_000) * scale, currency)
        yield CashBalance(f"{portfolio.id}/{currency}", portfolio.id, amount)
    held = dice.sample(stocks, 20)
    for stock in held:
        shares = dice.integer(2, 30) * max(10, stock.lot)
        cost = (stock.last * shares).share(dice.integer(70, 125), 100)
        yield Position(f"{portfolio.id}/{stock.id}", portfolio.id, stock.id, shares, cost)
        yield from _past_trades(make, dice, portfolio, stock, makers)
    for stock in held[:5]:
        yield _own_order(make, dice, portfolio, stock, "sell")
    for stock in dice.sample([row for row in stocks if row.exchange in ("LSE", "XETRA")], 4):
        yield _own_order(make, dice, portfolio, stock, "buy")


def _past_trades(
    make: SeedBuilder, dice: Dice, portfolio: Portfolio, stock: Stock, makers: list[Portfolio]
) -> Iterator[StockTrade]:
    for _ in range(dice.integer(1, 2)):
        buying = dice.chance(0.7)
        maker = dice.choice(makers)
        day = EPOCH - timedelta(days=dice.integer(3, 90))
        start = datetime.combine((day - timedelta(days=max(0, day.weekday() - 4))).date(), HOURS[stock.exchange][0])
        percent = dice.integer(85, 112)
        price = stock.last.share(percent, 100).minor
        yield StockTrade(
            id=make.new_id("STR"),
            symbol=stock.id,
            buyer_id=portfolio.id if buying else maker.id,
            seller_id=maker.id if buying else portfolio.id,
            quantity=dice.integer(1, 12) * max(10, stock.lot),
            price=Money(price - price % stock.tick, stock.last.currency),
            at=start.replace(tzinfo=EPOCH.tzinfo) + timedelta(minutes=dice.integer(1, 300)),
        )


def _own_order(make: SeedBuilder, dice: Dice, portfolio: Portfolio, stock: Stock, side: Side) -> StockOrder:
    """A resting, stopped, filled, cancelled or lapsed order that never crosses the makers' prices."""
    stop = side == "sell" and dice.chance(0.4)
    sign = -1 if (side == "buy") != stop else 1
    price = Money(stock.last.minor + sign * dice.integer(12, 30) * stock.tick, stock.last.currency)
    fate = dice.weighted(("open", "day", "old_day", "filled", "cancelled"), (5, 2, 2, 2, 1))
    quantity = max(10, stock.lot) * dice.integer(1, 2)
    filled = quantity if fate == "filled" else 0
    force: TimeInForce = "day" if fate in ("day", "old_day") else "gtc"
    ago = timedelta(minutes=dice.integer(3, 55)) if fate == "day" else timedelta(days=3, minutes=dice.integer(0, 50))
    return StockOrder(
        id=make.new_id("SOD"),
        portfolio_id=portfolio.id,
        symbol=stock.id,
        side=side,
        kind="stop" if stop else "limit",
        price=price,
        quantity=quantity,
        filled=filled,
        traded=price * filled,
        time_in_force=force,
        placed_at=EPOCH - ago,
        cancelled=fate == "cancelled",
    )


def _calendar(make: SeedBuilder, dice: Dice, stocks: list[Stock]) -> Iterator[CorporateEvent]:
    for stock in stocks:
        for kind in dice.sample(_EVENTS, 2):
            amount = Money(stock.last.minor * dice.integer(1, 4) // 100, stock.last.currency)
            yield CorporateEvent(
                id=make.new_id("CPE"),
                symbol=stock.id,
                kind=kind,
                on=(EPOCH + timedelta(days=dice.integer(-10, 60))).date(),
                amount=amount if kind == "dividend" else None,
            )
