"""From the cart to an order: addresses, shipping, cards and checkout."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Annotated

from pydantic import Field

from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.types import Money, Sensitive
from servers.shopping.model import (
    Address,
    AddressId,
    CartLine,
    Coupon,
    Fault,
    Order,
    OrderLine,
    PaymentMethod,
    PaymentMethodId,
    ShippingOption,
    ShippingOptionId,
    Variant,
    Wallet,
)
from servers.shopping.rules import (
    HANDLING,
    add_credit,
    address_of,
    cart_lines,
    check_holds,
    coupon_in_force,
    credit_in,
    piece_price,
    subtotal_of,
    variant_of,
    wallet_of,
)
from servers.shopping.server import server
from servers.shopping.views import MethodView, OptionView, Receipt

POSTCODES = {
    "United States": (r"\d{5}", "five digits, as in 60614"),
    "United Kingdom": (r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}", "a code such as N1 9GU"),
    "Germany": (r"\d{5}", "five digits, as in 10119"),
    "Portugal": (r"\d{4}-\d{3}", "digits such as 1200-109"),
    "Sweden": (r"\d{3} ?\d{2}", "digits such as 111 29"),
}
"""Countries that the shop delivers to, with the form of their postcodes."""


@server.tool(read_only=True)
def list_shipping_addresses(session: Session, query: Query = "", limit: Limit = 5, offset: Offset = 0) -> Page[Address]:
    """List the saved shipping addresses with their ids. Ordered by label.

    Args:
        query: words of the label, street, city or country.
        limit: most addresses to return.
        offset: how many to skip.
    """
    rows = search(session.table(Address).all(), query, lambda a: f"{a.label} {a.street} {a.city} {a.country}")
    return paginate(sorted(rows, key=lambda row: (row.label, row.id)), limit, offset)


@server.tool()
def add_shipping_address(
    session: Session,
    label: Annotated[str, Field(min_length=2, max_length=30)],
    street: Annotated[str, Field(min_length=3, max_length=80)],
    city: Annotated[str, Field(min_length=2, max_length=60)],
    postcode: Annotated[str, Field(min_length=3, max_length=12)],
    country: Annotated[str, Field(min_length=2, max_length=40)],
) -> Address:
    """Save a new shipping address under a label such as Home.

    Args:
        label: what the customer calls it; each label is used once.
        street: house number and street.
        city: the city.
        postcode: the postcode in its country's form.
        country: the country's English name.

    Raises:
        address_not_served: the shop doesn't deliver there.
        address_label_taken: another address has the label.
        invalid_postcode: it is not in the country's form.
    """
    known = {name.casefold(): name for name in POSTCODES}
    served = known.get(country.strip().casefold())
    if served is None:
        raise ToolError(Fault.ADDRESS_NOT_SERVED, f"The shop delivers to {', '.join(POSTCODES)} only.")
    pattern, form = POSTCODES[served]
    if not re.fullmatch(pattern, postcode.strip().upper(), re.ASCII):
        raise ToolError(Fault.INVALID_POSTCODE, f"A postcode in {served} is {form}; ask for it again.")
    for other in session.table(Address).all():
        if other.label.casefold() == label.strip().casefold():
            raise ToolError(
                Fault.ADDRESS_LABEL_TAKEN,
                f"{other.label} is {other.street}, {other.city} already; choose another label.",
            )
    row = Address(session.new_id("SADR"), label.strip(), street.strip(), city.strip(), served, postcode.strip().upper())
    return session.table(Address).add(row)


@server.tool(read_only=True)
def list_shipping_options(session: Session, address_id: AddressId | None = None) -> Page[OptionView]:
    """List the ways to send the cart, all or for one address, with ids and costs. Cheapest first.

    Args:
        address_id: only what serves this address, from list_shipping_addresses.

    Raises:
        cart_empty: there is nothing to send.
    """
    country = address_of(session, address_id).country if address_id is not None else ""
    currency = subtotal_of(session, cart_lines(session)).currency
    rows = [option for option in session.table(ShippingOption).all() if not country or country in option.countries]
    rows.sort(key=lambda option: (option.cost, option.id))
    views = [
        OptionView(o.id, o.name, Money(o.cost, currency), (session.now + HANDLING + timedelta(days=o.days)).date())
        for o in rows
    ]
    return paginate(views, 10)


@server.tool(read_only=True)
def list_saved_payment_methods(session: Session) -> Page[MethodView]:
    """List the cards saved in the shop with their ids, last digits and expiry. Ordered by label."""
    rows = sorted(session.table(PaymentMethod).all(), key=lambda row: (row.label, row.id))
    return paginate([MethodView(row.id, row.label, row.last_four, row.expires) for row in rows], 10)


@server.tool()
def checkout_shopping_cart(
    session: Session,
    address_id: AddressId,
    shipping_option_id: ShippingOptionId,
    payment_method_id: PaymentMethodId,
    cvv: Annotated[str, Sensitive(), Field(pattern=r"^\d{3}$")],
    use_credit: bool = False,
) -> Receipt:
    """Buy what is in the cart. The customer must have given the card's security code.

    Args:
        address_id: where to send it, from list_shipping_addresses.
        shipping_option_id: how to send it, from list_shipping_options.
        payment_method_id: the card, from list_saved_payment_methods.
        cvv: the card's three-digit security code as the customer said it.
        use_credit: whether store credit pays first.

    Raises:
        cart_empty: there is nothing to buy.
        hold_expired: a line's reservation ran out.
        shipping_not_available: the option doesn't serve the address.
        payment_method_expired: the card's date has passed.
        wrong_cvv: the code is not the card's.
        payment_declined: the card doesn't pay that much.
    """
    address = address_of(session, address_id)
    option = session.table(ShippingOption).require(shipping_option_id, "list_shipping_options shows the valid ids.")
    method = session.table(PaymentMethod).require(payment_method_id, "list_saved_payment_methods shows the valid ids.")
    lines = cart_lines(session)
    check_holds(session, lines)
    if address.country not in option.countries:
        raise ToolError(
            Fault.SHIPPING_NOT_AVAILABLE,
            f"{option.name} doesn't serve {address.country}; list_shipping_options shows what does.",
        )
    total = _total(session, lines, option)
    credit = credit_in(wallet_of(session), total.currency) if use_credit else Money(0, total.currency)
    credit = min(credit, total)
    _check_card(session, method, cvv, total - credit)
    order = _write_order(session, lines, option, (address.label, method.label), total, credit)
    _settle(session, credit, order.points)
    return Receipt(order.id, total, total - credit, order.points, order.arrives_at.date())


def _total(session: Session, lines: list[CartLine], option: ShippingOption) -> Money:
    coupon = coupon_in_force(session, lines)
    total = Money(option.cost, subtotal_of(session, lines).currency)
    for line in lines:
        total = total + piece_price(session, variant_of(session, line.variant_id), coupon) * line.quantity
    return total


def _check_card(session: Session, method: PaymentMethod, cvv: str, charge: Money) -> None:
    if method.expires < session.now.date():
        raise ToolError(
            Fault.PAYMENT_METHOD_EXPIRED,
            f"{method.label} expired on {method.expires}; list_saved_payment_methods shows other cards.",
        )
    if cvv != method.cvv:
        raise ToolError(Fault.WRONG_CVV, f"The code is not that of {method.label}. Ask the customer for it.")
    if charge.minor > method.ceiling * 100:
        raise ToolError(Fault.PAYMENT_DECLINED, f"{method.label} declined {charge}; pay with another card or buy less.")


def _write_order(
    session: Session,
    lines: list[CartLine],
    option: ShippingOption,
    labels: tuple[str, str],
    total: Money,
    credit: Money,
) -> Order:
    coupon = coupon_in_force(session, lines)
    ships = session.now + HANDLING
    order_id = session.new_id("SORD")
    for line in lines:
        variant = variant_of(session, line.variant_id)
        price = piece_price(session, variant, coupon)
        row = OrderLine(
            session.new_id("SLIN"), order_id, variant.id, variant.name, line.quantity, price, 0, None, False
        )
        session.table(OrderLine).add(row)
        session.table(Variant).put(replace(variant, stock=variant.stock - line.quantity))
        session.table(CartLine).remove(line.id)
    if coupon is not None:
        session.table(Coupon).put(replace(coupon, used=True))
    arrives = ships + timedelta(days=option.days)
    order = Order(
        id=order_id,
        placed_at=session.now,
        ships_at=ships,
        arrives_at=arrives,
        total=total,
        credit_used=credit,
        points=total.minor // 100,
        address=labels[0],
        paid_with=labels[1],
        cancelled=False,
    )
    return session.table(Order).add(order)


def _settle(session: Session, credit: Money, earned: int) -> None:
    add_credit(session, credit * -1)
    wallet = wallet_of(session)
    session.table(Wallet).put(replace(wallet, points=wallet.points + earned, coupon_code=""))
