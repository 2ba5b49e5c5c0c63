"""The shop: each of its error codes is reached, and neither goods nor money appear or vanish."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from servers.shopping.model import (
    Address,
    CartLine,
    Coupon,
    Fault,
    GiftCard,
    Order,
    OrderLine,
    PaymentMethod,
    Product,
    ShippingOption,
    Variant,
    Wallet,
    Wish,
)
from tests.servers.play import Play

NEW_ADDRESS = {
    "label": "Workshop",
    "street": "12 Mill Lane",
    "city": "Berlin",
    "postcode": "10245",
    "country": "Germany",
}


def named(play: Play, kind: type, column: str, value: str) -> Any:
    return next(row for row in play.rows(kind) if getattr(row, column) == value)


def variant(play: Play, currency: str = "USD", least: int = 1) -> Variant:
    """Something that the cart doesn't hold yet, with at least so many pieces free."""
    taken = {line.variant_id for line in play.rows(CartLine)}
    for row in play.rows(Variant):
        if row.price.currency == currency and row.id not in taken:
            shown = play.ok("get_product", product_id=row.product_id)
            if next(v["available"] for v in shown["variants"] if v["id"] == row.id) >= least:
                return row
    raise AssertionError("no such variant")


def checkout(play: Play, method: str = "Family Amex", **changes: object) -> dict[str, object]:
    card = named(play, PaymentMethod, "label", method)
    return {
        "address_id": named(play, Address, "label", "Home").id,
        "shipping_option_id": named(play, ShippingOption, "name", "Standard").id,
        "payment_method_id": card.id,
        "cvv": card.cvv,
        **changes,
    }


def order(play: Play, status: str) -> Order:
    shown = play.ok("list_shop_orders", status=status, limit=50)["items"]
    return named(play, Order, "id", shown[0]["id"])


def line(play: Play, status: str, final_sale: bool = False, days: int = 30) -> OrderLine:
    """A line of an order that stands so, not returned or reviewed, and delivered at most so many days ago."""
    shown = {item["id"] for item in play.ok("list_shop_orders", status=status, limit=50)["items"]}
    for row in play.rows(OrderLine):
        product = named(play, Product, "id", named(play, Variant, "id", row.variant_id).product_id)
        age = play.session.now - named(play, Order, "id", row.order_id).arrives_at
        fresh = not row.returned and not row.reviewed and product.final_sale == final_sale
        if row.order_id in shown and fresh and (age.days < 30) == (days <= 30):
            return row
    raise AssertionError("no such line")


def empty_cart(play: Play) -> None:
    for row in play.rows(CartLine):
        play.ok("set_shopping_cart_quantity", cart_line_id=row.id, quantity=0)


def out_of_stock(play: Play) -> None:
    gone = next(row for row in play.rows(Variant) if row.stock == 0 and row.price.currency == "USD")
    assert "Only 0" in play.fails("out_of_stock", "add_to_shopping_cart", variant_id=gone.id)


def quantity_limit_exceeded(play: Play) -> None:
    play.fails("quantity_limit_exceeded", "add_to_shopping_cart", variant_id=variant(play).id, quantity=11)


def cart_currency_mismatch(play: Play) -> None:
    euro = variant(play, "EUR")
    play.fails("cart_currency_mismatch", "add_to_shopping_cart", variant_id=euro.id)
    empty_cart(play)
    play.ok("add_to_shopping_cart", variant_id=euro.id)


def cart_empty(play: Play) -> None:
    empty_cart(play)
    play.fails("cart_empty", "checkout_shopping_cart", **checkout(play))
    play.fails("cart_empty", "apply_shop_coupon", coupon_code="WELCOME15")
    assert play.ok("view_shopping_cart") == {"lines": []}


def hold_expired(play: Play) -> None:
    play.wait(minutes=65)
    assert "set_shopping_cart_quantity" in play.fails("hold_expired", "checkout_shopping_cart", **checkout(play))
    for row in play.rows(CartLine):
        play.ok("set_shopping_cart_quantity", cart_line_id=row.id, quantity=row.quantity)
    play.ok("checkout_shopping_cart", **checkout(play))


def coupon_expired(play: Play) -> None:
    play.fails("coupon_expired", "apply_shop_coupon", coupon_code="WINTER30")


def coupon_used(play: Play) -> None:
    play.fails("coupon_used", "apply_shop_coupon", coupon_code="HELLO5")
    play.ok("apply_shop_coupon", coupon_code="WELCOME15")
    play.ok("checkout_shopping_cart", **checkout(play))
    play.ok("add_to_shopping_cart", variant_id=variant(play).id)
    play.fails("coupon_used", "apply_shop_coupon", coupon_code="WELCOME15")


def coupon_minimum_not_met(play: Play) -> None:
    play.fails("coupon_minimum_not_met", "apply_shop_coupon", coupon_code="BIGCART25")


def coupon_not_applicable(play: Play) -> None:
    play.fails("coupon_not_applicable", "apply_shop_coupon", coupon_code="EURO12")


def coupon_already_applied(play: Play) -> None:
    play.ok("apply_shop_coupon", coupon_code="WELCOME15")
    play.fails("coupon_already_applied", "apply_shop_coupon", coupon_code="SPRING10")
    play.ok("apply_shop_coupon", coupon_code="SPRING10", replace_current=True)
    assert play.ok("view_shopping_cart")["coupon"] == "SPRING10"


def address_not_served(play: Play) -> None:
    play.fails("address_not_served", "add_shipping_address", **{**NEW_ADDRESS, "country": "Japan"})


def address_label_taken(play: Play) -> None:
    play.fails("address_label_taken", "add_shipping_address", **{**NEW_ADDRESS, "label": "home"})


def invalid_postcode(play: Play) -> None:
    play.fails("invalid_postcode", "add_shipping_address", **{**NEW_ADDRESS, "postcode": "1024"})


def shipping_not_available(play: Play) -> None:
    cabin = named(play, Address, "label", "Cabin").id
    express = named(play, ShippingOption, "name", "Next Day").id
    arguments = checkout(play, address_id=cabin, shipping_option_id=express)
    play.fails("shipping_not_available", "checkout_shopping_cart", **arguments)


def payment_method_expired(play: Play) -> None:
    play.fails("payment_method_expired", "checkout_shopping_cart", **checkout(play, "Old Visa"))


def payment_declined(play: Play) -> None:
    play.fails("payment_declined", "checkout_shopping_cart", **checkout(play, "Prepaid Visa"))


def wrong_cvv(play: Play) -> None:
    play.fails("wrong_cvv", "checkout_shopping_cart", **checkout(play, cvv="000"))


def order_already_shipped(play: Play) -> None:
    play.fails("order_already_shipped", "cancel_shop_order", order_id=order(play, "delivered").id)
    waiting = order(play, "processing")
    play.wait(hours=24)
    play.fails("order_already_shipped", "cancel_shop_order", order_id=waiting.id)


def order_cancelled(play: Play) -> None:
    play.fails("order_cancelled", "cancel_shop_order", order_id=order(play, "cancelled").id)


def not_delivered_yet(play: Play) -> None:
    waiting = line(play, "processing")
    play.fails("not_delivered_yet", "return_ordered_item", order_line_id=waiting.id, reason="unwanted")
    play.wait(days=7)
    play.ok("return_ordered_item", order_line_id=waiting.id, reason="unwanted")


def return_window_closed(play: Play) -> None:
    old = line(play, "delivered", days=99)
    play.fails("return_window_closed", "return_ordered_item", order_line_id=old.id, reason="faulty")


def final_sale(play: Play) -> None:
    sold = line(play, "processing", final_sale=True)
    play.wait(days=7)
    play.fails("final_sale", "return_ordered_item", order_line_id=sold.id, reason="unwanted")
    play.ok("return_ordered_item", order_line_id=sold.id, reason="damaged")


def already_returned(play: Play) -> None:
    sold = line(play, "delivered")
    arguments = {"order_line_id": sold.id, "reason": "unsuitable", "quantity": sold.quantity}
    play.ok("return_ordered_item", **arguments)
    play.fails("already_returned", "return_ordered_item", **arguments)


def already_reviewed(play: Play) -> None:
    arguments = {"order_line_id": line(play, "delivered").id, "stars": 4, "text": "Good value."}
    play.ok("review_ordered_item", **arguments)
    play.fails("already_reviewed", "review_ordered_item", **arguments)


def already_on_wish_list(play: Play) -> None:
    play.fails("already_on_wish_list", "add_to_wish_list", product_id=play.rows(Wish)[0].product_id)


def alert_not_below_price(play: Play) -> None:
    play.fails("alert_not_below_price", "set_price_alert", wish_id=play.rows(Wish)[0].id, target_price=9000)


def gift_card_unknown(play: Play) -> None:
    play.fails("gift_card_unknown", "redeem_gift_card", gift_card_code="GIFT-0000-0000")


def gift_card_used(play: Play) -> None:
    used = next(card for card in play.rows(GiftCard) if card.redeemed)
    play.fails("gift_card_used", "redeem_gift_card", gift_card_code=used.code)


def gift_card_expired(play: Play) -> None:
    today = play.session.now.date()
    old = next(card for card in play.rows(GiftCard) if card.valid_until < today)
    play.fails("gift_card_expired", "redeem_gift_card", gift_card_code=old.code)


def not_enough_points(play: Play) -> None:
    play.fails("not_enough_points", "redeem_loyalty_points", points=90_000)


FAULTS: dict[str, Callable[[Play], None]] = {
    name: scenario for name, scenario in globals().items() if name in set(Fault)
}


@pytest.mark.parametrize("fault", sorted(Fault))
def test_fault_is_reached(fault: str) -> None:
    FAULTS[fault](Play("shopping"))


def test_an_order_is_worth_its_lines_and_shipping() -> None:
    play = Play("shopping")
    play.ok("apply_shop_coupon", coupon_code="LOYAL20")
    cart = play.ok("view_shopping_cart")
    receipt = play.ok("checkout_shopping_cart", **checkout(play))
    bought = [row for row in play.rows(OrderLine) if row.order_id == receipt["order_id"]]
    made = named(play, Order, "id", receipt["order_id"])
    assert made.total.minor == sum(row.price.minor * row.quantity for row in bought) + 490
    assert cart["total"] == f"{(made.total.minor - 490) / 100:.2f} USD"
    assert named(play, Coupon, "id", "LOYAL20").used and not play.rows(CartLine)


def test_cancelling_gives_back_stock_credit_and_points() -> None:
    play = Play("shopping")
    stock = {row.id: row.stock for row in play.rows(Variant)}
    wallet = play.rows(Wallet)[0]
    receipt = play.ok("checkout_shopping_cart", **checkout(play, use_credit=True))
    assert {row.id: row.stock for row in play.rows(Variant)} != stock
    play.ok("cancel_shop_order", order_id=receipt["order_id"])
    assert {row.id: row.stock for row in play.rows(Variant)} == stock
    after = play.rows(Wallet)[0]
    assert set(after.credit) == set(wallet.credit) and after.points == wallet.points


def test_a_reservation_keeps_pieces_from_being_added_twice() -> None:
    play = Play("shopping")
    wanted = variant(play, least=2)
    shown = play.ok("get_product", product_id=wanted.product_id)
    before = next(v["available"] for v in shown["variants"] if v["id"] == wanted.id)
    play.ok("add_to_shopping_cart", variant_id=wanted.id, quantity=2)
    play.ok("set_shopping_cart_quantity", cart_line_id=play.rows(CartLine)[-1].id, quantity=1)
    shown = play.ok("get_product", product_id=wanted.product_id)
    assert next(v["available"] for v in shown["variants"] if v["id"] == wanted.id) == before - 1


def test_orders_move_on_by_the_clock() -> None:
    play = Play("shopping")
    receipt = play.ok("checkout_shopping_cart", **checkout(play))
    seen = []
    for _ in range(8):
        seen.append(play.ok("get_shop_order", order_id=receipt["order_id"])["status"])
        play.wait(days=1)
    assert list(dict.fromkeys(seen)) == ["processing", "shipped", "delivered"]


def test_points_that_a_cancelled_order_earned_go_back_even_when_spent() -> None:
    play = Play("shopping")
    before = play.rows(Wallet)[0].points
    receipt = play.ok("checkout_shopping_cart", **checkout(play))
    spent = (before + receipt["points_earned"]) // 100 * 100
    play.ok("redeem_loyalty_points", points=spent)
    cancelled = play.ok("cancel_shop_order", order_id=receipt["order_id"])
    assert cancelled["points_left"] == play.rows(Wallet)[0].points == before - spent
    assert "at most 0" in play.fails("not_enough_points", "redeem_loyalty_points", points=100)


def test_a_coupon_is_used_up_only_by_goods_that_it_covers() -> None:
    play = Play("shopping")
    outdoor = {row.id for row in play.rows(Product) if row.category == "outdoor"}
    wanted = [row for row in play.rows(Variant) if row.product_id in outdoor and row.price.currency == "USD"]
    play.ok("add_to_shopping_cart", variant_id=max(wanted, key=lambda row: row.stock).id)
    play.ok("apply_shop_coupon", coupon_code="CAMPING8")
    for row in play.rows(CartLine):
        if named(play, Variant, "id", row.variant_id).product_id in outdoor:
            play.ok("set_shopping_cart_quantity", cart_line_id=row.id, quantity=0)
    assert "coupon" not in play.ok("view_shopping_cart")
    play.ok("checkout_shopping_cart", **checkout(play))
    assert not named(play, Coupon, "id", "CAMPING8").used
