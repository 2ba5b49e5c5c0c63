"""The shop's rules: what is in stock, what a cart costs, where an order stands."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from servers.kernel.errors import ToolError
from servers.kernel.session import Session
from servers.kernel.types import Money
from servers.shopping.model import (
    Address,
    CartLine,
    Coupon,
    Fault,
    Hold,
    Order,
    OrderLine,
    OrderStatus,
    Product,
    Review,
    Variant,
    Wallet,
)
from servers.shopping.seed import WALLET_ID

HOLD_TIME = timedelta(minutes=60)
HANDLING = timedelta(hours=24)
RETURN_WINDOW = timedelta(days=30)
POINTS_PER_UNIT = 100
"""Loyalty points that make one major unit of store credit."""


def product_of(session: Session, product_id: str) -> Product:
    """The product, or an error that says how to find one."""
    return session.table(Product).require(product_id, "search_products shows the valid product ids.")


def variant_of(session: Session, variant_id: str) -> Variant:
    """The variant, or an error that says how to find one."""
    return session.table(Variant).require(variant_id, "get_product shows a product's variant ids.")


def address_of(session: Session, address_id: str) -> Address:
    """The address, or an error that says how to find one."""
    return session.table(Address).require(address_id, "list_shipping_addresses shows the valid ids.")


def order_of(session: Session, order_id: str) -> Order:
    """The order, or an error that says how to find one."""
    return session.table(Order).require(order_id, "list_shop_orders shows the valid order ids.")


def wallet_of(session: Session) -> Wallet:
    """The customer's wallet."""
    return session.table(Wallet).require(WALLET_ID, "Every customer has one wallet.")


def price_of(session: Session, product_id: str) -> Money:
    """The product's lowest price."""
    return min(variant.price for variant in session.table(Variant).where(product_id=product_id))


def rating_of(session: Session, product_id: str) -> float | None:
    """Average stars with one decimal, or None without reviews."""
    stars = [review.stars for review in session.table(Review).where(product_id=product_id)]
    return round(sum(stars) / len(stars), 1) if stars else None


def available(session: Session, variant: Variant, besides: str = "") -> int:
    """Pieces that nobody's cart holds; the cart line `besides` doesn't count."""
    others = sum(h.quantity for h in session.table(Hold).where(variant_id=variant.id) if h.until > session.now)
    own = sum(
        line.quantity
        for line in session.table(CartLine).where(variant_id=variant.id)
        if line.held_until > session.now and line.id != besides
    )
    return max(0, variant.stock - others - own)


def check_stock(session: Session, variant: Variant, quantity: int, besides: str = "") -> None:
    """Refuse more pieces than are free or than one order may hold."""
    product = product_of(session, variant.product_id)
    lines = session.table(CartLine).where(variant_id=variant.id)
    total = quantity + sum(line.quantity for line in lines if line.id != besides)
    if total > product.max_per_order:
        raise ToolError(
            Fault.QUANTITY_LIMIT_EXCEEDED,
            f"An order may hold at most {product.max_per_order} of {variant.name}; this would make {total}.",
        )
    free = available(session, variant, besides)
    if quantity > free:
        raise ToolError(
            Fault.OUT_OF_STOCK,
            f"Only {free} of {variant.name} can be had now. Take fewer, or see get_product for other variants.",
        )


def cart_lines(session: Session) -> list[CartLine]:
    """The cart's lines; an empty cart is refused."""
    lines = session.table(CartLine).all()
    if not lines:
        raise ToolError(Fault.CART_EMPTY, "The cart is empty; add_to_shopping_cart comes first.")
    return lines


def check_holds(session: Session, lines: list[CartLine]) -> None:
    """Refuse to sell pieces whose reservation has run out."""
    for line in lines:
        if line.held_until <= session.now:
            variant = variant_of(session, line.variant_id)
            raise ToolError(
                Fault.HOLD_EXPIRED,
                f"The reservation of {variant.name} ran out; set_shopping_cart_quantity on {line.id} renews it.",
            )


def subtotal_of(session: Session, lines: list[CartLine], category: str = "") -> Money:
    """What the lines cost before discount, or only those of one category."""
    variants = [(variant_of(session, line.variant_id), line.quantity) for line in lines]
    total = Money(0, variants[0][0].price.currency)
    for variant, quantity in variants:
        if not category or product_of(session, variant.product_id).category == category:
            total = total + variant.price * quantity
    return total


def coupon_in_force(session: Session, lines: list[CartLine]) -> Coupon | None:
    """The applied coupon while the cart still earns it: it costs enough and holds something that is covered."""
    code = wallet_of(session).coupon_code
    coupon = session.table(Coupon).get(code) if code else None
    if coupon is None or not lines or coupon.valid_until < session.now.date():
        return None
    subtotal = subtotal_of(session, lines)
    earned = coupon.minimum.currency == subtotal.currency and subtotal >= coupon.minimum
    return coupon if earned and subtotal_of(session, lines, coupon.category).minor else None


def piece_price(session: Session, variant: Variant, coupon: Coupon | None) -> Money:
    """What one piece costs after the coupon, if the coupon covers it."""
    if coupon is None or coupon.category not in ("", product_of(session, variant.product_id).category):
        return variant.price
    return variant.price - variant.price.share(coupon.percent, 100)


def discount_of(session: Session, lines: list[CartLine]) -> Money:
    """What the applied coupon takes off."""
    coupon = coupon_in_force(session, lines)
    total = Money(0, variant_of(session, lines[0].variant_id).price.currency)
    for line in lines:
        variant = variant_of(session, line.variant_id)
        total = total + (variant.price - piece_price(session, variant, coupon)) * line.quantity
    return total


def status_of(session: Session, order: Order) -> OrderStatus:
    """Where an order stands now."""
    if order.cancelled:
        return "cancelled"
    if session.now < order.ships_at:
        return "processing"
    return "shipped" if session.now < order.arrives_at else "delivered"


def credit_in(wallet: Wallet, currency: str) -> Money:
    """The store credit in one currency."""
    return next((money for money in wallet.credit if money.currency == currency), Money(0, currency))


def add_credit(session: Session, amount: Money) -> Money:
    """Change the store credit and return what it is now."""
    wallet = wallet_of(session)
    new = credit_in(wallet, amount.currency) + amount
    others = tuple(money for money in wallet.credit if money.currency != amount.currency)
    session.table(Wallet).put(replace(wallet, credit=tuple(sorted((*others, new), key=lambda m: m.currency))))
    return new


def delivered_line(session: Session, order_line_id: str) -> tuple[OrderLine, Order]:
    """An order line that has arrived, with its order."""
    line = session.table(OrderLine).require(order_line_id, "list_shop_orders shows the ids of bought items.")
    order = order_of(session, line.order_id)
    status = status_of(session, order)
    if status == "cancelled":
        raise ToolError(Fault.ORDER_CANCELLED, f"Order {order.id} was cancelled, so {line.name} was never sent.")
    if status != "delivered":
        raise ToolError(
            Fault.NOT_DELIVERED_YET,
            f"{line.name} is {status} and arrives on {order.arrives_at:%Y-%m-%d}; wait till then.",
        )
    return line, order
