"""Food delivery: each of its error codes is reached, orders move on with time, and refunds fit what was paid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from servers.food_delivery.model import (
    CartDish,
    DeliveryAddress,
    Dish,
    Fault,
    FoodOrder,
    FoodOrderLine,
    Restaurant,
)
from servers.food_delivery.rules import cart_restaurant, delivered_at, order_status
from servers.food_delivery.seed import is_open
from tests.servers.play import Play


def restaurant(play: Play, **wanted: object) -> Restaurant:
    """An open restaurant with an address in reach, or one that differs in the wanted columns."""
    reach = {row.zone for row in play.rows(DeliveryAddress)}
    fixed = {"paused": False, **wanted}
    opened = fixed.pop("open", True)
    return next(
        row
        for row in play.rows(Restaurant)
        if is_open(row, play.session.now) == opened
        and reach & set(row.zones)
        and all(getattr(row, name) == value for name, value in fixed.items())
    )


def dish(play: Play, of: Restaurant, choices: bool = False, sold_out: bool = False) -> Dish:
    rows = [row for row in play.rows(Dish) if row.restaurant_id == of.id and row.sold_out == sold_out]
    return next(row for row in rows if bool(row.choices) == choices)


def address(play: Play, of: Restaurant, inside: bool = True) -> str:
    return next(str(row.id) for row in play.rows(DeliveryAddress) if (row.zone in of.zones) == inside)


def fill(play: Play, of: Restaurant, quantity: int = 10) -> str:
    play.ok("add_dish_to_cart", dish_id=dish(play, of).id, quantity=quantity, cart="new")
    return address(play, of)


def placed(play: Play, **changes: object) -> str:
    target = fill(play, restaurant(play))
    return str(play.ok("place_food_order", delivery_address_id=target, **changes)["id"])


def in_state(play: Play, status: str) -> FoodOrder:
    return next(row for row in play.rows(FoodOrder) if order_status(play.session, row) == status)


def line_of(play: Play, order_id: str) -> str:
    rows = [row for row in play.rows(FoodOrderLine) if row.order_id == order_id]
    return next(str(row.id) for row in rows if not row.refunded)


def arrived(play: Play) -> str:
    order = placed(play)
    play.wait(hours=2)
    return order


def dish_sold_out(play: Play) -> None:
    row = next(row for row in play.rows(Dish) if row.sold_out)
    play.fails("dish_sold_out", "add_dish_to_cart", dish_id=row.id, cart="new")


def choice_required(play: Play) -> None:
    row = next(row for row in play.rows(Dish) if row.choices and not row.sold_out)
    assert row.choices[0] in play.fails("choice_required", "add_dish_to_cart", dish_id=row.id, cart="new")
    play.ok("add_dish_to_cart", dish_id=row.id, choice=row.choices[0], cart="new")


def unknown_choice(play: Play) -> None:
    row = next(row for row in play.rows(Dish) if row.choices and not row.sold_out)
    play.fails("unknown_choice", "add_dish_to_cart", dish_id=row.id, choice="gigantic", cart="new")


def other_restaurant_in_cart(play: Play) -> None:
    present = cart_restaurant(play.session)
    other = next(row for row in play.rows(Dish) if present and row.restaurant_id != present.id and not row.sold_out)
    arguments = {"dish_id": other.id, **({"choice": other.choices[0]} if other.choices else {})}
    play.fails("other_restaurant_in_cart", "add_dish_to_cart", **arguments)
    play.ok("add_dish_to_cart", **arguments, cart="new")


def too_many_portions(play: Play) -> None:
    of = restaurant(play)
    fill(play, of, 15)
    play.fails("too_many_portions", "add_dish_to_cart", dish_id=dish(play, of).id, quantity=6)


def cart_empty(play: Play) -> None:
    play.ok("empty_food_cart")
    play.fails("cart_empty", "place_food_order", delivery_address_id=play.rows(DeliveryAddress)[0].id)


def restaurant_closed(play: Play) -> None:
    of = restaurant(play, open=False)
    target = fill(play, of)
    message = play.fails("restaurant_closed", "place_food_order", delivery_address_id=target)
    later = message.split("deliver_at from ")[1].removesuffix(" UTC on.")
    order = play.ok("place_food_order", delivery_address_id=target, deliver_at=later)
    assert order["status"] == "scheduled" and order["arrives_at"] == later.replace(" ", "T") + ":00Z"


def restaurant_paused(play: Play) -> None:
    of = next(row for row in play.rows(Restaurant) if row.paused)
    fill_any = dish(play, of)
    play.ok("add_dish_to_cart", dish_id=fill_any.id, quantity=5, cart="new")
    play.fails("restaurant_paused", "place_food_order", delivery_address_id=play.rows(DeliveryAddress)[0].id)


def outside_delivery_zone(play: Play) -> None:
    of = restaurant(play)
    fill(play, of)
    play.fails("outside_delivery_zone", "place_food_order", delivery_address_id=address(play, of, inside=False))


def below_minimum(play: Play) -> None:
    of = next(
        row
        for row in play.rows(Restaurant)
        if is_open(row, play.session.now) and not row.paused and dish(play, row).price < row.minimum
        and any(place.zone in row.zones for place in play.rows(DeliveryAddress))
    )  # fmt: skip
    play.fails("below_minimum", "place_food_order", delivery_address_id=fill(play, of, 1))


def promo_unknown(play: Play) -> None:
    target = fill(play, restaurant(play))
    play.fails("promo_unknown", "place_food_order", delivery_address_id=target, promo_code="FREELUNCH")


def promo_expired(play: Play) -> None:
    target = fill(play, restaurant(play))
    play.fails("promo_expired", "place_food_order", delivery_address_id=target, promo_code="FROST30")


def promo_not_applicable(play: Play) -> None:
    target = fill(play, restaurant(play))
    message = play.fails("promo_not_applicable", "place_food_order", delivery_address_id=target, promo_code="LUNCH15")
    assert "11:00" in message
    of = restaurant(play)
    play.ok("place_food_order", delivery_address_id=target)
    fill(play, of)
    play.fails("promo_not_applicable", "place_food_order", delivery_address_id=target, promo_code="WELCOME25")


def schedule_not_allowed(play: Play) -> None:
    target = fill(play, restaurant(play))
    for moment in ("2026-03-02T09:10:00Z", "2026-04-02T12:00:00Z"):
        play.fails("schedule_not_allowed", "place_food_order", delivery_address_id=target, deliver_at=moment)


def already_cooking(play: Play) -> None:
    order = placed(play)
    play.wait(minutes=7)
    play.fails("already_cooking", "cancel_food_order", food_order_id=order)
    assert play.ok("track_food_order", food_order_id=order)["status"] == "cooking"


def order_cancelled(play: Play) -> None:
    order = placed(play)
    play.ok("cancel_food_order", food_order_id=order)
    play.fails("order_cancelled", "cancel_food_order", food_order_id=order)
    play.fails("order_cancelled", "tip_courier", food_order_id=order, amount=2)


def not_delivered(play: Play) -> None:
    play.fails("not_delivered", "rate_food_order", food_order_id=placed(play), stars=5)


def refund_window_closed(play: Play) -> None:
    order = placed(play)
    play.wait(hours=27)
    play.fails("refund_window_closed", "refund_missing_dish", food_order_line_id=line_of(play, order))


def already_refunded(play: Play) -> None:
    line = line_of(play, arrived(play))
    play.ok("refund_missing_dish", food_order_line_id=line)
    play.fails("already_refunded", "refund_missing_dish", food_order_line_id=line)


def rating_closed(play: Play) -> None:
    limit = play.session.now - timedelta(days=15)
    old = next(row for row in play.rows(FoodOrder) if delivered_at(row) < limit and not (row.cancelled or row.stars))
    play.fails("rating_closed", "rate_food_order", food_order_id=old.id, stars=4)


def already_rated(play: Play) -> None:
    order = arrived(play)
    play.ok("rate_food_order", food_order_id=order, stars=4)
    play.fails("already_rated", "rate_food_order", food_order_id=order, stars=5)


def tip_closed(play: Play) -> None:
    order = placed(play)
    play.wait(hours=4)
    play.fails("tip_closed", "tip_courier", food_order_id=order, amount=2)


def already_tipped(play: Play) -> None:
    order = placed(play)
    play.ok("tip_courier", food_order_id=order, amount=2.5)
    play.fails("already_tipped", "tip_courier", food_order_id=order, amount=1)


def tip_too_large(play: Play) -> None:
    play.fails("tip_too_large", "tip_courier", food_order_id=placed(play), amount=5000)


def nothing_to_reorder(play: Play) -> None:
    order = placed(play)
    (ordered,) = [row.dish_id for row in play.rows(FoodOrderLine) if row.order_id == order]
    table = play.session.table(Dish)
    table.put(replace(table.require(ordered, ""), sold_out=True))
    play.session.commit("", {})
    play.fails("nothing_to_reorder", "reorder_food", food_order_id=order, cart="new")


FAULTS: dict[str, Callable[[Play], None]] = {
    name: scenario for name, scenario in globals().items() if name in set(Fault)
}


@pytest.mark.parametrize("fault", sorted(Fault))
def test_fault_is_reached(fault: str) -> None:
    FAULTS[fault](Play("food_delivery"))


def test_an_order_moves_on_by_itself_and_never_back() -> None:
    play = Play("food_delivery")
    order = placed(play)
    stages = ["scheduled", "placed", "accepted", "cooking", "picked_up", "delivered"]
    seen = []
    for _ in range(24):
        result = play.ok("track_food_order", food_order_id=order)
        seen.append(result["status"])
        assert ("courier" in result) == (result["status"] in ("picked_up", "delivered"))
        play.wait(minutes=5)
    assert seen == sorted(seen, key=stages.index)
    assert {"placed", "cooking", "delivered"} <= set(seen)


def test_refunding_every_dish_gives_back_what_the_dishes_cost() -> None:
    play = Play("food_delivery")
    of = restaurant(play)
    target = fill(play, of, 6)
    order = play.ok("place_food_order", delivery_address_id=target, promo_code="TASTY10")
    play.wait(hours=2)
    back = play.ok("refund_missing_dish", food_order_line_id=line_of(play, order["id"]))["refund"]
    row = next(row for row in play.rows(FoodOrder) if row.id == order["id"])
    assert back == str(row.total - of.fee)


def test_placing_empties_the_cart_and_reordering_fills_it_again() -> None:
    play = Play("food_delivery")
    order = placed(play)
    assert play.ok("get_food_cart")["items"] == []
    (line,) = [row for row in play.rows(FoodOrderLine) if row.order_id == order]
    play.ok("reorder_food", food_order_id=order)
    (again,) = play.rows(CartDish)
    assert (again.dish_id, again.quantity) == (line.dish_id, line.quantity)


@pytest.mark.parametrize("seed", range(4))
def test_seed_is_consistent(seed: int) -> None:
    play = Play("food_delivery", seed)
    dishes = {row.id: row for row in play.rows(Dish)}
    kitchens = {row.id: row for row in play.rows(Restaurant)}
    orders = {row.id: row for row in play.rows(FoodOrder)}
    assert len({row.name for row in kitchens.values()}) == len(kitchens)
    for line in play.rows(FoodOrderLine):
        assert dishes[line.dish_id].restaurant_id == orders[line.order_id].restaurant_id
    for order in orders.values():
        lines = [row.price * row.quantity for row in play.rows(FoodOrderLine) if row.order_id == order.id]
        assert order.total == sum(lines, kitchens[order.restaurant_id].fee)
    states = {order_status(play.session, order) for order in orders.values()}
    assert states >= {"scheduled", "placed", "accepted", "cooking", "delivered"}


def test_a_night_kitchen_is_open_after_midnight() -> None:
    play = Play("food_delivery")
    of = next(row for row in play.rows(Restaurant) if row.closes < row.opens)
    midnight = play.session.now.replace(hour=0) + timedelta(days=1)
    for offset in range(7):
        day = midnight + timedelta(days=offset)
        assert is_open(of, day + timedelta(hours=1)) == ((day.weekday() - 1) % 7 != of.closed_on)
        assert not is_open(of, day + timedelta(hours=12))


def test_an_order_is_found_by_its_title() -> None:
    play = Play("food_delivery")
    page = play.ok("list_food_orders", limit=3)
    assert page["next_offset"] == 3
    for item in page["items"] + play.ok("list_food_orders", limit=3, offset=3)["items"]:
        assert item["id"] in [found["id"] for found in play.ok("list_food_orders", query=item["title"])["items"]]


def test_a_dish_taken_out_of_the_cart_is_gone() -> None:
    play = Play("food_delivery")
    row = play.rows(CartDish)[0]
    play.ok("change_cart_dish", cart_dish_id=row.id, quantity=0)
    play.fails("not_found", "change_cart_dish", cart_dish_id=row.id, quantity=0)
    assert not play.server.tools["change_cart_dish"].idempotent
