"""The cart and its coupon."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from servers.kernel.errors import ToolError
from servers.kernel.page import Page, paginate
from servers.kernel.session import Session
from servers.shopping.model import CartLine, CartLineId, Coupon, CouponCode, CouponState, Fault, VariantId, Wallet
from servers.shopping.rules import (
    HOLD_TIME,
    cart_lines,
    check_stock,
    coupon_in_force,
    discount_of,
    product_of,
    subtotal_of,
    variant_of,
    wallet_of,
)
from servers.shopping.server import server
from servers.shopping.views import CartView, CouponApplied, CouponView, LineChange, LineView

Quantity = Annotated[int, Field(ge=1, le=20)]


@server.tool(read_only=True)
def view_shopping_cart(session: Session) -> CartView:
    """Show the cart: its lines with ids, how long they are reserved, the coupon and the total."""
    lines = sorted(session.table(CartLine).all(), key=lambda line: (variant_of(session, line.variant_id).name, line.id))
    views = []
    for line in lines:
        variant = variant_of(session, line.variant_id)
        views.append(LineView(line.id, variant.name, line.quantity, variant.price, line.held_until))
    if not lines:
        return CartView([], None, None, None)
    coupon, discount = coupon_in_force(session, lines), discount_of(session, lines)
    total = subtotal_of(session, lines) - discount
    return CartView(views, coupon.id if coupon else None, discount if coupon else None, total)


@server.tool()
def add_to_shopping_cart(session: Session, variant_id: VariantId, quantity: Quantity = 1) -> LineChange:
    """Put a product variant into the cart; it is reserved for 60 minutes.

    Args:
        variant_id: the variant, from get_product.
        quantity: how many pieces.

    Raises:
        out_of_stock: fewer pieces are free.
        quantity_limit_exceeded: an order may not hold so many.
        cart_currency_mismatch: the cart is in another currency.
    """
    variant = variant_of(session, variant_id)
    for line in session.table(CartLine).all()[:1]:
        currency = variant_of(session, line.variant_id).price.currency
        if currency != variant.price.currency:
            raise ToolError(
                Fault.CART_CURRENCY_MISMATCH,
                f"The cart is in {currency}, but {variant.name} costs {variant.price}; buy or empty the cart first.",
            )
    check_stock(session, variant, quantity)
    until = session.now + HOLD_TIME
    for line in session.table(CartLine).where(variant_id=variant_id):
        check_stock(session, variant, line.quantity + quantity, line.id)
        line = session.table(CartLine).put(replace(line, quantity=line.quantity + quantity, held_until=until))
        return LineChange(line.id, variant.name, line.quantity, until)
    line = session.table(CartLine).add(CartLine(session.new_id("SCRT"), variant_id, quantity, until))
    return LineChange(line.id, variant.name, quantity, until)


@server.tool()
def set_shopping_cart_quantity(
    session: Session, cart_line_id: CartLineId, quantity: Annotated[int, Field(ge=0, le=20)]
) -> LineChange:
    """Change how many of a cart line are wanted; 0 takes it out, the same number renews its reservation.

    Args:
        cart_line_id: the line, from view_shopping_cart.
        quantity: the new number of pieces.

    Raises:
        out_of_stock: fewer pieces are free.
        quantity_limit_exceeded: an order may not hold so many.
    """
    line = session.table(CartLine).require(cart_line_id, "view_shopping_cart shows the ids of the cart's lines.")
    variant = variant_of(session, line.variant_id)
    if quantity == 0:
        session.table(CartLine).remove(line.id)
        return LineChange(line.id, variant.name, 0)
    check_stock(session, variant, quantity, line.id)
    until = session.now + HOLD_TIME
    session.table(CartLine).put(replace(line, quantity=quantity, held_until=until))
    return LineChange(line.id, variant.name, quantity, until)


@server.tool(read_only=True)
def list_shop_coupons(session: Session, state: CouponState | None = None) -> Page[CouponView]:
    """List the customer's coupon codes with their minimum, last day and whether they can be used.

    Ordered by last day, then code.

    Args:
        state: only coupons in this state.
    """
    rows = sorted(session.table(Coupon).all(), key=lambda coupon: (coupon.valid_until, coupon.id))
    views = [
        CouponView(c.id, c.percent, c.minimum, c.valid_until, _state(session, c), c.category or None) for c in rows
    ]
    return paginate([view for view in views if state is None or view.state == state], 10)


@server.tool(idempotent=True)
def apply_shop_coupon(session: Session, coupon_code: CouponCode, replace_current: bool = False) -> CouponApplied:
    """Put a coupon on the cart. An order takes one coupon, and each coupon works once.

    Args:
        coupon_code: the code, as in list_shop_coupons.
        replace_current: whether another coupon on the cart may be taken off.

    Raises:
        cart_empty: there is nothing to take it off from.
        coupon_expired: its last day has passed.
        coupon_used: an earlier order used it.
        coupon_minimum_not_met: the cart costs too little.
        coupon_not_applicable: it is in another currency or for goods that are not in the cart.
        coupon_already_applied: the cart has another coupon.
    """
    coupon = session.table(Coupon).require(coupon_code, "list_shop_coupons shows the customer's codes.")
    lines, wallet = cart_lines(session), wallet_of(session)
    if _state(session, coupon) == "expired":
        raise ToolError(
            Fault.COUPON_EXPIRED, f"{coupon.id} ended on {coupon.valid_until}; list_shop_coupons shows others."
        )
    if coupon.used:
        raise ToolError(Fault.COUPON_USED, f"{coupon.id} was used in an earlier order; list_shop_coupons shows others.")
    _check_fit(session, coupon, lines)
    current = coupon_in_force(session, lines)
    if current is not None and current.id != coupon.id and not replace_current:
        raise ToolError(
            Fault.COUPON_ALREADY_APPLIED,
            f"The cart has {current.id}, and an order takes one coupon; replace_current=true swaps them.",
        )
    session.table(Wallet).put(replace(wallet, coupon_code=coupon.id))
    discount = discount_of(session, lines)
    return CouponApplied(coupon.id, discount, subtotal_of(session, lines) - discount)


def _check_fit(session: Session, coupon: Coupon, lines: list[CartLine]) -> None:
    subtotal = subtotal_of(session, lines)
    if subtotal.currency != coupon.minimum.currency:
        raise ToolError(
            Fault.COUPON_NOT_APPLICABLE,
            f"{coupon.id} is for carts in {coupon.minimum.currency}; this one is in {subtotal.currency}.",
        )
    if subtotal < coupon.minimum:
        raise ToolError(
            Fault.COUPON_MINIMUM_NOT_MET,
            f"{coupon.id} needs {coupon.minimum} and the cart costs {subtotal}; add goods or use another coupon.",
        )
    kinds = {product_of(session, variant_of(session, line.variant_id).product_id).category for line in lines}
    if coupon.category and coupon.category not in kinds:
        raise ToolError(
            Fault.COUPON_NOT_APPLICABLE,
            f"{coupon.id} is only for {coupon.category}, and the cart holds none; add some first.",
        )


def _state(session: Session, coupon: Coupon) -> CouponState:
    if coupon.used:
        return "used"
    return "expired" if coupon.valid_until < session.now.date() else "ready"
