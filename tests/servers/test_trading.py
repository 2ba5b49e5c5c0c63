"""The broker: each of its error codes is reached, and no match makes or loses a share or a penny."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from servers.kernel.dice import Dice
from servers.trading.book import resting_orders
from servers.trading.model import (
    CashBalance,
    Fault,
    Portfolio,
    Position,
    Stock,
    StockOrder,
    StockTrade,
    WatchedStock,
)
from servers.trading.rules import buying_power, free_shares, is_open, trading_status
from tests.servers.play import Play


def portfolio(play: Play, restricted: bool = False) -> Portfolio:
    return next(row for row in play.rows(Portfolio) if row.own and row.restricted == restricted)


def stock(play: Play, status: str = "open", held: bool = False) -> Stock:
    """A stock with a full book, in which the investor has no open order, held by the portfolio or not."""
    busy = {o.symbol for o in play.rows(StockOrder) if o.portfolio_id in own_ids(play) and is_open(play.session, o)}
    shares = {row.symbol: row.shares for row in play.rows(Position) if row.portfolio_id == portfolio(play).id}
    return next(
        row
        for row in play.rows(Stock)
        if trading_status(play.session, row) == status
        and row.id not in busy
        and len(resting_orders(play.session, row.id, "sell")) == 4
        and (row.id in shares) == held
    )


def own_ids(play: Play) -> set[str]:
    return {row.id for row in play.rows(Portfolio) if row.own}


def rich(play: Play, currency: str, minor: int = 10**9) -> None:
    """Give the portfolio much cash, so that only the rule under test can refuse."""
    pid = portfolio(play).id
    play.session.table(CashBalance).put(
        CashBalance(f"{pid}/{currency}", pid, replace(stock(play).last, minor=minor, currency=currency))
    )
    play.session.commit("", {})


def order(play: Play, row: Stock, **changes: object) -> dict[str, object]:
    base: dict[str, object] = {"portfolio_id": portfolio(play).id, "symbol": row.id, "side": "buy", "quantity": row.lot}
    return {**base, **changes}


def price(row: Stock, ticks: int = 0) -> float:
    return (row.last.minor + ticks * row.tick) / 100


def market_closed(play: Play) -> None:
    row = stock(play, "closed")
    assert "opens" in play.fails("market_closed", "place_market_order", **order(play, row))


def symbol_halted(play: Play) -> None:
    row = next(row for row in play.rows(Stock) if row.halted)
    play.fails("symbol_halted", "place_limit_order", **order(play, row), limit_price=40)


def portfolio_restricted(play: Play) -> None:
    pid = portfolio(play, restricted=True).id
    play.fails("portfolio_restricted", "place_market_order", **order(play, stock(play), portfolio_id=pid))


def insufficient_buying_power(play: Play) -> None:
    row = stock(play)
    power = buying_power(play.session, portfolio(play).id, row.last.currency)
    dear = (power.minor // row.last.minor // row.lot + 2) * row.lot
    arguments = order(play, row, quantity=dear)
    assert str(power) in play.fails("insufficient_buying_power", "place_limit_order", **arguments,
                                    limit_price=price(row))  # fmt: skip


def not_enough_shares(play: Play) -> None:
    play.fails("not_enough_shares", "place_market_order", **order(play, stock(play), side="sell"))
    row = stock(play, held=True)
    free = free_shares(play.session, portfolio(play).id, row.id)
    waiting = order(play, row, side="sell", quantity=free)
    play.ok("place_limit_order", **waiting, limit_price=price(row, 40))
    play.fails("not_enough_shares", "place_market_order", **order(play, row, side="sell"))


def tick_size(play: Play) -> None:
    row = next(r for r in play.rows(Stock) if r.tick > 1 and trading_status(play.session, r) == "open")
    message = play.fails("tick_size", "place_limit_order", **order(play, row), limit_price=price(row) + 0.01)
    assert message.split("; ")[1].startswith(str(row.last))


def lot_size(play: Play) -> None:
    row = next(r for r in play.rows(Stock) if r.lot > 1 and trading_status(play.session, r) == "open")
    play.fails("lot_size", "place_market_order", **order(play, row, quantity=row.lot + 1))


def price_out_of_band(play: Play) -> None:
    play.fails("price_out_of_band", "place_limit_order", **order(play, stock(play)), limit_price=10)
    stepped = next(r for r in play.rows(Stock) if r.tick > 1 and trading_status(play.session, r) == "open")
    play.fails("price_out_of_band", "place_limit_order", **order(play, stepped), limit_price=0.03)


def no_liquidity(play: Play) -> None:
    row = stock(play)
    rich(play, row.last.currency)
    offered = sum(o.quantity for o in resting_orders(play.session, row.id, "sell"))
    play.ok("place_market_order", **order(play, row, quantity=offered))
    play.fails("no_liquidity", "place_market_order", **order(play, row))


def self_match(play: Play) -> None:
    row = stock(play, held=True)
    play.ok("place_limit_order", **order(play, row, side="sell"), limit_price=price(row))
    play.fails("self_match", "place_market_order", **order(play, row))


def stop_on_wrong_side(play: Play) -> None:
    row = stock(play)
    play.fails("stop_on_wrong_side", "place_stop_order", **order(play, row), stop_price=price(row, -5))


def order_not_open(play: Play) -> None:
    placed = play.ok("place_market_order", **order(play, stock(play)))
    play.fails("order_not_open", "cancel_stock_order", stock_order_id=placed["id"])


def already_watched(play: Play) -> None:
    play.fails("already_watched", "change_watch_list", action="add", symbol=play.rows(WatchedStock)[0].id)


def not_watched(play: Play) -> None:
    seen = {row.id for row in play.rows(WatchedStock)}
    other = next(row.id for row in play.rows(Stock) if row.id not in seen)
    play.ok("change_watch_list", action="add", symbol=other)
    play.ok("change_watch_list", action="remove", symbol=other)
    play.fails("not_watched", "change_watch_list", action="remove", symbol=other)


def watch_list_full(play: Play) -> None:
    seen = {row.id for row in play.rows(WatchedStock)}
    others = [row.id for row in play.rows(Stock) if row.id not in seen]
    for symbol in others[: 12 - len(seen)]:
        play.ok("change_watch_list", action="add", symbol=symbol)
    play.fails("watch_list_full", "change_watch_list", action="add", symbol=others[12])


FAULTS: dict[str, Callable[[Play], None]] = {
    name: scenario for name, scenario in globals().items() if name in set(Fault)
}


@pytest.mark.parametrize("fault", sorted(Fault))
def test_fault_is_reached(fault: str) -> None:
    FAULTS[fault](Play("trading"))


def totals(play: Play) -> tuple[Counter[str], Counter[str]]:
    """All shares by symbol and all cash by currency, makers' included."""
    shares: Counter[str] = Counter()
    cash: Counter[str] = Counter()
    for row in play.rows(Position):
        shares[row.symbol] += row.shares
    for row in play.rows(CashBalance):
        cash[row.amount.currency] += row.amount.minor
    return shares, cash


@pytest.mark.parametrize("seed", range(3))
def test_matches_keep_every_share_and_every_penny(seed: int) -> None:
    play, dice = Play("trading", seed), Dice(seed, "orders")
    before = totals(play)
    stocks = [row for row in play.rows(Stock) if trading_status(play.session, row) == "open"]
    pids = sorted(own_ids(play))
    traded = 0
    for _ in range(150):
        row = dice.choice(stocks)
        arguments = {
            "portfolio_id": dice.choice(pids),
            "symbol": row.id,
            "side": dice.choice(("buy", "sell")),
            "quantity": row.lot * dice.integer(1, 60),
        }
        tool, extra = dice.choice(
            (
                ("place_market_order", {}),
                ("place_limit_order", {"limit_price": price(row, dice.integer(-6, 6))}),
                ("place_limit_order", {"limit_price": price(row, dice.integer(-6, 6)), "time_in_force": "ioc"}),
                ("place_stop_order", {"stop_price": price(row, dice.integer(-9, 9))}),
            )
        )
        outcome = play.server.call(play.session, tool, {**arguments, **extra})
        assert outcome.ok or outcome.error_code in set(Fault), outcome.text
        traded += outcome.ok
        for holding in play.rows(Position):
            assert holding.shares > 0
        for balance in play.rows(CashBalance):
            assert balance.amount.minor >= 0
    assert traded > 20
    assert totals(play) == before
    for row in stocks:
        bids, asks = (resting_orders(play.session, row.id, side) for side in ("buy", "sell"))
        prices = [side[0].price.minor for side in (bids, asks) if side and side[0].price]
        assert prices == sorted(set(prices)), "a crossed book should have traded"


def test_the_best_and_then_the_oldest_order_trades_first() -> None:
    play = Play("trading")
    row = stock(play)
    rich(play, row.last.currency)
    queue = resting_orders(play.session, row.id, "sell")
    assert queue == sorted(queue, key=lambda o: (o.price.minor if o.price else 0, o.placed_at, o.id))
    quantity = queue[0].quantity + row.lot
    result = play.ok("place_market_order", **order(play, row, quantity=quantity))
    assert result["status"] == "filled"
    after = {o.id: o.filled for o in play.rows(StockOrder)}
    assert after[queue[0].id] == queue[0].quantity and after[queue[1].id] == row.lot
    trades = [trade for trade in play.rows(StockTrade) if trade.symbol == row.id][-2:]
    assert [t.price for t in trades] == [queue[0].price, queue[1].price]


def test_a_limit_order_fills_in_part_and_rests_until_cancelled() -> None:
    play = Play("trading")
    row = stock(play)
    rich(play, row.last.currency)
    pid = portfolio(play).id
    best = resting_orders(play.session, row.id, "sell")[0]
    assert best.price is not None
    quantity = best.quantity + 3 * row.lot
    arguments = order(play, row, quantity=quantity)
    result = play.ok("place_limit_order", **arguments, limit_price=best.price.minor / 100, time_in_force="gtc")
    filled = sum(o.quantity for o in play.rows(StockOrder) if o.symbol == row.id and o.side == "sell"
                 and o.price == best.price and o.filled)  # fmt: skip
    assert (result["status"], result["filled"]) == ("partly_filled", filled)
    power = buying_power(play.session, pid, row.last.currency)
    cancelled = play.ok("cancel_stock_order", stock_order_id=result["id"])
    assert (cancelled["status"], cancelled["filled"]) == ("partly_filled_rest_cancelled", filled)
    released = buying_power(play.session, pid, row.last.currency) - power
    assert released == best.price * (quantity - filled)


def test_an_ioc_order_never_rests() -> None:
    play = Play("trading")
    row = stock(play)
    result = play.ok("place_limit_order", **order(play, row), limit_price=price(row, -20), time_in_force="ioc")
    assert (result["status"], result["filled"]) == ("cancelled", 0)


def test_what_the_book_cannot_fill_is_cancelled_and_shown_as_that() -> None:
    play = Play("trading")
    row = stock(play)
    rich(play, row.last.currency)
    offered = sum(o.quantity for o in resting_orders(play.session, row.id, "sell"))
    result = play.ok("place_market_order", **order(play, row, quantity=offered + row.lot))
    assert (result["status"], result["filled"]) == ("partly_filled_rest_cancelled", offered)
    listed = play.ok("list_stock_orders", status="partly_filled_rest_cancelled")["items"]
    assert result["id"] in {item["id"] for item in listed}


LISTS: dict[str, tuple[str, ...]] = {
    "search_stocks": (),
    "list_positions": ("portfolio_id",),
    "list_stock_trades": ("portfolio_id",),
    "list_stock_orders": (),
    "list_corporate_events": (),
}


@pytest.mark.parametrize("tool", LISTS)
def test_the_next_page_can_be_asked_for(tool: str) -> None:
    play = Play("trading")
    arguments = {name: portfolio(play).id for name in LISTS[tool]}
    whole = play.ok(tool, **arguments, limit=50)["items"]
    assert play.ok(tool, **arguments, limit=2)["next_offset"] == 2
    assert play.ok(tool, **arguments, limit=2, offset=2)["items"] == whole[2:4] != []


def test_a_day_order_lapses_at_the_close_and_frees_its_cash() -> None:
    play = Play("trading")
    row = stock(play)
    pid = portfolio(play).id
    before = buying_power(play.session, pid, row.last.currency)
    result = play.ok("place_limit_order", **order(play, row), limit_price=price(row, -20))
    assert buying_power(play.session, pid, row.last.currency) < before
    play.wait(hours=8)
    items = play.ok("list_stock_orders", query=row.id, portfolio_id=pid)["items"]
    assert next(item for item in items if item["id"] == result["id"])["status"] == "expired"
    assert buying_power(play.session, pid, row.last.currency) >= before


def test_a_stop_sells_once_a_trade_reaches_it() -> None:
    play = Play("trading")
    row = stock(play, held=True)
    bids = resting_orders(play.session, row.id, "buy")
    deep = bids[-1].price
    assert deep is not None
    stop = play.ok("place_stop_order", **order(play, row, side="sell"), stop_price=deep.minor / 100)
    assert stop["status"] == "open"
    pid = portfolio(play).id
    other = next(p for p in own_ids(play) if p != pid)
    shares = sum(o.quantity for o in bids[:-1]) + row.lot
    play.session.table(Position).put(Position(f"{other}/{row.id}", other, row.id, shares, row.last * shares))
    play.session.commit("", {})
    play.ok("place_market_order", **order(play, row, side="sell", quantity=shares, portfolio_id=other))
    done = next(o for o in play.rows(StockOrder) if o.id == stop["id"])
    assert done.filled == done.quantity
    assert play.ok("get_stock_quote", symbol=row.id)["last"] == str(deep)


def test_makers_are_not_the_investors_business() -> None:
    play = Play("trading")
    maker = next(row for row in play.rows(Portfolio) if not row.own)
    play.fails("not_found", "list_positions", portfolio_id=maker.id)
    foreign = next(row for row in play.rows(StockOrder) if row.portfolio_id == maker.id)
    play.fails("not_found", "cancel_stock_order", stock_order_id=foreign.id)


@pytest.mark.parametrize("seed", range(5))
def test_no_seed_spends_or_sells_what_is_not_there(seed: int) -> None:
    play = Play("trading", seed)
    for balance in play.rows(CashBalance):
        assert buying_power(play.session, balance.portfolio_id, balance.amount.currency).minor >= 0
    for holding in play.rows(Position):
        assert free_shares(play.session, holding.portfolio_id, holding.symbol) >= 0
    stocks = {row.id for row in play.rows(Stock)}
    assert {row.symbol for row in play.rows(StockOrder)} <= stocks
