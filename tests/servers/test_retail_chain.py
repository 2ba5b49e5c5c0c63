"""The chain: each of its error codes is reached, and no piece appears or vanishes on the way."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from servers.retail_chain.model import Fault, Inbound, Item, Reservation, Stock, Store
from servers.retail_chain.rules import available, incoming, on_hand, promoted, status_of
from servers.retail_chain.seed import stock_id
from tests.servers.play import Play


def store(play: Play, name: str) -> Store:
    return next(row for row in play.rows(Store) if row.name == name)


def stock(play: Play, name: str = "Berlin North", discontinued_wanted: bool = False) -> Stock:
    """A plain row of a shop: some pieces, no promotion, nothing on its way, never counted, still made."""
    shop = store(play, name)
    discontinued = {row.id for row in play.rows(Item) if row.discontinued}
    for row in play.rows(Stock):
        if row.store_id != shop.id or (row.item_id in discontinued) != discontinued_wanted:
            continue
        plain = not promoted(play.session, row) and not incoming(play.session, row) and row.counted_at is None
        if discontinued_wanted or (plain and available(play.session, row) >= 4):
            return row
    raise AssertionError("no such stock")


def here(row: Stock) -> dict[str, object]:
    return {"store_id": row.store_id, "item_id": row.item_id}


def moved(play: Play, row: Stock, target: str = "Berlin Central", quantity: int = 2) -> dict[str, object]:
    return {
        "item_id": row.item_id,
        "from_store_id": row.store_id,
        "to_store_id": store(play, target).id,
        "quantity": quantity,
    }


def reservation(play: Play, status: str, currency: str = "EUR", returnable: bool = True) -> Reservation:
    able = {row.id for row in play.rows(Item) if row.returnable == returnable}
    shops = {row.id for row in play.rows(Store) if row.currency == currency and row.works_until is None}
    fitting = [row for row in play.rows(Reservation) if status_of(play.session, row) == status]
    return max(
        (row for row in fitting if row.store_id in shops and row.item_id in able), key=lambda row: row.reserved_at
    )


def collected(play: Play) -> Reservation:
    return reservation(play, "collected")


def store_shut(play: Play) -> None:
    waiting = reservation(play, "ready")
    play.wait(hours=13)
    arguments = {"reservation_id": waiting.id, "pickup_code": waiting.pickup_code}
    assert "local time" in play.fails("store_shut", "hand_over_reservation", **arguments)
    play.wait(hours=11)
    play.ok("hand_over_reservation", **arguments)


def store_closed_for_works(play: Play) -> None:
    row = stock(play, "Madrid Station")
    play.fails("store_closed_for_works", "reserve_click_and_collect", **here(row), customer_name="Agnes Holm")
    play.wait(days=18)
    play.ok("reserve_click_and_collect", **here(row), customer_name="Agnes Holm")


def same_store(play: Play) -> None:
    play.fails("same_store", "transfer_store_stock", **moved(play, stock(play), "Berlin North"))


def no_transfer_route(play: Play) -> None:
    play.fails("no_transfer_route", "transfer_store_stock", **moved(play, stock(play), "Tokyo Station"))


def insufficient_stock(play: Play) -> None:
    play.fails("insufficient_stock", "transfer_store_stock", **moved(play, stock(play), quantity=50))
    waiting = reservation(play, "ready")
    arguments = {"store_id": waiting.store_id, "item_id": waiting.item_id, "counted": 0, "confirmed": True}
    play.ok("record_stock_count", **arguments)
    code = {"reservation_id": waiting.id, "pickup_code": waiting.pickup_code}
    play.fails("insufficient_stock", "hand_over_reservation", **code)


def item_discontinued(play: Play) -> None:
    row = stock(play, discontinued_wanted=True)
    play.fails("item_discontinued", "order_store_replenishment", **here(row), cases=1)


def replenishment_open(play: Play) -> None:
    row = stock(play)
    play.ok("order_store_replenishment", **here(row), cases=1)
    play.fails("replenishment_open", "order_store_replenishment", **here(row), cases=1)


def storage_full(play: Play) -> None:
    play.fails("storage_full", "order_store_replenishment", **here(stock(play)), cases=20)


def duplicate_reservation(play: Play) -> None:
    arguments = {**here(stock(play)), "customer_name": "Agnes Holm"}
    until = play.ok("reserve_click_and_collect", **arguments)["expires_at"]
    message = play.fails("duplicate_reservation", "reserve_click_and_collect", **arguments)
    assert until[:16].replace("T", " ") in message


def reservation_expired(play: Play) -> None:
    old = reservation(play, "expired")
    play.fails("reservation_expired", "hand_over_reservation", reservation_id=old.id, pickup_code=old.pickup_code)


def already_collected(play: Play) -> None:
    gone = collected(play)
    play.fails("already_collected", "hand_over_reservation", reservation_id=gone.id, pickup_code=gone.pickup_code)


def wrong_pickup_code(play: Play) -> None:
    waiting = reservation(play, "ready")
    wrong = f"{(int(waiting.pickup_code) + 1) % 10_000:04d}"
    play.fails("wrong_pickup_code", "hand_over_reservation", reservation_id=waiting.id, pickup_code=wrong)


def not_collected(play: Play) -> None:
    waiting = reservation(play, "ready")
    play.fails("not_collected", "accept_store_return", reservation_id=waiting.id, condition="sealed")


def not_returnable(play: Play) -> None:
    paint = reservation(play, "collected", returnable=False)
    play.fails("not_returnable", "accept_store_return", reservation_id=paint.id, condition="opened")
    play.ok("accept_store_return", reservation_id=paint.id, condition="damaged")


def already_returned(play: Play) -> None:
    arguments = {"reservation_id": collected(play).id, "condition": "sealed", "quantity": collected(play).quantity}
    play.ok("accept_store_return", **arguments)
    play.fails("already_returned", "accept_store_return", **arguments)


def return_window_closed(play: Play) -> None:
    taken = collected(play)
    play.wait(days=31)
    play.fails("return_window_closed", "accept_store_return", reservation_id=taken.id, condition="sealed")


def return_in_other_currency(play: Play) -> None:
    arguments = {"reservation_id": collected(play).id, "condition": "sealed"}
    london = store(play, "London North").id
    play.fails("return_in_other_currency", "accept_store_return", **arguments, store_id=london)


def invalid_amount(play: Play) -> None:
    row = stock(play, "Tokyo Station")
    play.fails("invalid_amount", "change_store_price", **here(row), new_price=row.price.minor - 0.5)


def price_out_of_range(play: Play) -> None:
    play.fails("price_out_of_range", "change_store_price", **here(stock(play)), new_price=9000)


def price_unchanged(play: Play) -> None:
    row = stock(play)
    play.fails("price_unchanged", "change_store_price", **here(row), new_price=row.price.minor / 100)


def promotion_running(play: Play) -> None:
    row = stock(play)
    price = row.price.share(1, 2).minor / 100
    play.ok("change_store_price", **here(row), new_price=price, until="2026-03-04")
    play.fails("promotion_running", "change_store_price", **here(row), new_price=price)
    play.wait(days=3)
    shown = play.ok("list_store_stock", store_id=row.store_id, limit=50)["items"]
    assert next(item["price"] for item in shown if item["item_id"] == row.item_id) == str(row.price)


def date_not_allowed(play: Play) -> None:
    row = stock(play)
    price = row.price.share(1, 2).minor / 100
    play.fails("date_not_allowed", "change_store_price", **here(row), new_price=price, until="2026-03-01")


def counted_recently(play: Play) -> None:
    row = stock(play)
    play.ok("record_stock_count", **here(row), counted=row.base, confirmed=True)
    play.fails("counted_recently", "record_stock_count", **here(row), counted=1, confirmed=True)
    play.wait(hours=12)
    play.ok("record_stock_count", **here(row), counted=1, confirmed=True)


def count_needs_confirmation(play: Play) -> None:
    play.fails("count_needs_confirmation", "record_stock_count", **here(stock(play)), counted=400)


FAULTS: dict[str, Callable[[Play], None]] = {
    name: scenario for name, scenario in globals().items() if name in set(Fault)
}


@pytest.mark.parametrize("fault", sorted(Fault))
def test_fault_is_reached(fault: str) -> None:
    FAULTS[fault](Play("retail_chain"))


def pieces(play: Play, item_id: str) -> int:
    """All pieces of an item, in the shops and on the road."""
    rows = [row for row in play.rows(Stock) if row.item_id == item_id]
    return sum(on_hand(play.session, row) + incoming(play.session, row) for row in rows)


def test_a_transfer_keeps_the_sum_and_arrives_in_a_day() -> None:
    play = Play("retail_chain")
    row = stock(play)
    total = pieces(play, row.item_id)
    target = stock_id(store(play, "Berlin Central").id, row.item_id)
    before = on_hand(play.session, play.session.table(Stock).require(target, ""))
    play.ok("transfer_store_stock", **moved(play, row))
    assert pieces(play, row.item_id) == total
    assert on_hand(play.session, play.session.table(Stock).require(target, "")) == before
    play.wait(hours=24)
    assert pieces(play, row.item_id) == total
    assert on_hand(play.session, play.session.table(Stock).require(target, "")) >= before + 2


def test_a_reservation_holds_pieces_until_it_expires() -> None:
    play = Play("retail_chain")
    row = stock(play)
    free = available(play.session, row)
    play.ok("reserve_click_and_collect", **here(row), customer_name="Agnes Holm", quantity=3)
    assert available(play.session, row) == free - 3
    play.wait(hours=49)
    assert available(play.session, row) >= free


def test_a_collection_and_its_return_cancel_out() -> None:
    play = Play("retail_chain")
    row = stock(play, "Lisbon Central")
    held = on_hand(play.session, row)
    made = play.ok("reserve_click_and_collect", **here(row), customer_name="Agnes Holm", quantity=2)
    code = play.rows(Reservation)[-1].pickup_code
    paid = play.ok("hand_over_reservation", reservation_id=made["id"], pickup_code=code)["paid"]
    assert paid == made["to_pay"]
    back = play.ok("accept_store_return", reservation_id=made["id"], condition="sealed", quantity=2)
    assert back["refund"] == paid
    assert on_hand(play.session, play.session.table(Stock).require(row.id, "")) == held


def test_a_late_order_takes_a_day_longer() -> None:
    play = Play("retail_chain")
    row = stock(play)
    play.ok("order_store_replenishment", **here(row), cases=1)
    early = play.rows(Inbound)[-1]
    play.wait(hours=8)
    other = stock(play, "Paris Station")
    play.ok("order_store_replenishment", **here(other), cases=1)
    late = play.rows(Inbound)[-1]
    assert ((early.arrives_at - early.sent_at).days, (late.arrives_at - late.sent_at).days) == (3, 4)


@pytest.mark.parametrize(("name", "hours", "runs"), [("Tokyo Station", 7, False), ("New York Harbour", 16, True)])
def test_a_promotion_ends_by_the_clock_of_its_shop(name: str, hours: int, runs: bool) -> None:
    play = Play("retail_chain")
    row = stock(play, name)
    cheaper = float(str(row.price.share(8, 10)).split()[0])
    play.ok("change_store_price", **here(row), new_price=cheaper, until="2026-03-02")
    assert promoted(play.session, play.session.table(Stock).require(row.id, ""))
    play.wait(hours=hours)
    assert promoted(play.session, play.session.table(Stock).require(row.id, "")) == runs
