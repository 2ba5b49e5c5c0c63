"""Store credit: gift cards and loyalty points."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from servers.kernel.errors import ToolError
from servers.kernel.session import Session
from servers.kernel.types import Money, Sensitive
from servers.shopping.model import Fault, GiftCard, Wallet
from servers.shopping.rules import POINTS_PER_UNIT, add_credit, wallet_of
from servers.shopping.server import server
from servers.shopping.views import CreditChange, WalletView


@server.tool(read_only=True)
def get_shop_wallet(session: Session) -> WalletView:
    """Show the customer's store credit in each currency and their loyalty points."""
    wallet = wallet_of(session)
    return WalletView([money for money in wallet.credit if money.minor], wallet.points)


@server.tool()
def redeem_gift_card(
    session: Session, gift_card_code: Annotated[str, Sensitive(), Field(pattern=r"^GIFT-\d{4}-\d{4}$")]
) -> CreditChange:
    """Turn a gift card's code, as the customer said it, into store credit.

    Args:
        gift_card_code: the code printed on the card.

    Raises:
        gift_card_unknown: no card has this code.
        gift_card_used: it was redeemed before.
        gift_card_expired: its last day has passed.
    """
    cards = session.table(GiftCard).where(code=gift_card_code)
    if not cards:
        raise ToolError(Fault.GIFT_CARD_UNKNOWN, "No gift card has this code; ask the customer to read it out again.")
    card = cards[0]
    if card.redeemed:
        raise ToolError(Fault.GIFT_CARD_USED, "This gift card was redeemed before; get_shop_wallet shows the credit.")
    if card.valid_until < session.now.date():
        raise ToolError(Fault.GIFT_CARD_EXPIRED, f"This gift card ended on {card.valid_until} and pays nothing.")
    session.table(GiftCard).put(replace(card, redeemed=True))
    return CreditChange(card.amount, add_credit(session, card.amount))


@server.tool()
def redeem_loyalty_points(
    session: Session, points: Annotated[int, Field(ge=100, le=100_000, multiple_of=100)]
) -> CreditChange:
    """Turn loyalty points into store credit; 100 points are 1 USD.

    Args:
        points: how many, in hundreds.

    Raises:
        not_enough_points: the customer has fewer.
    """
    wallet = wallet_of(session)
    if points > wallet.points:
        most = max(0, wallet.points // POINTS_PER_UNIT * POINTS_PER_UNIT)
        raise ToolError(Fault.NOT_ENOUGH_POINTS, f"The customer has {wallet.points} points; at most {most} can go.")
    session.table(Wallet).put(replace(wallet, points=wallet.points - points))
    added = Money.of(points // POINTS_PER_UNIT, "USD")
    return CreditChange(added, add_credit(session, added), wallet.points - points)
