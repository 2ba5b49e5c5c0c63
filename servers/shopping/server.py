"""The shop's server object, which the tool modules register with."""

from __future__ import annotations

from collections.abc import Iterator

from servers.kernel.server import Known, ToolServer
from servers.kernel.session import Session
from servers.shopping.model import (
    Address,
    CartLine,
    Coupon,
    Fault,
    GiftCard,
    Hold,
    Order,
    OrderLine,
    PaymentMethod,
    Product,
    Review,
    ShippingOption,
    Variant,
    Wallet,
    Wish,
)
from servers.shopping.seed import build


def knows(session: Session) -> Iterator[Known]:
    """The customer knows the security code of each card and holds the gift cards."""
    for method in session.table(PaymentMethod).all():
        yield Known("cvv", method.cvv, method.id)
    for card in session.table(GiftCard).all():
        yield Known("gift_card_code", card.code)


server = ToolServer(
    "shopping",
    "Catalogue, cart, orders, returns and rewards of an online shop's customer",
    records=(
        Product,
        Variant,
        Hold,
        Review,
        CartLine,
        Wallet,
        Coupon,
        Address,
        ShippingOption,
        PaymentMethod,
        Order,
        OrderLine,
        Wish,
        GiftCard,
    ),
    seed=build,
    faults=Fault,
    knows=knows,
)
