"""What a seller does: put up, change and take down listings."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Annotated

from pydantic import Field

from servers.kernel.errors import ToolError
from servers.kernel.session import Session
from servers.kernel.types import Amount
from servers.marketplace.model import (
    Condition,
    Currency,
    Fault,
    Listing,
    ListingCategory,
    ListingId,
    ListingKind,
    Offer,
)
from servers.marketplace.rules import COUNTER_REPLY, listing_state, me, money, offer_state, own_listing
from servers.marketplace.server import server
from servers.marketplace.views import ListingChange

LISTING_LIMIT = 20

Title = Annotated[str, Field(min_length=5, max_length=80)]


@server.tool()
def create_marketplace_listing(
    session: Session,
    title: Title,
    category: ListingCategory,
    condition: Condition,
    kind: ListingKind,
    price: Amount,
    currency: Currency = "USD",
    days: Annotated[int, Field(ge=1, le=30)] = 7,
) -> ListingChange:
    """Put something up for sale, as an auction or at a fixed price.

    Args:
        title: what it is.
        category: where it belongs.
        condition: new, good or worn.
        kind: auction or fixed price.
        price: the fixed price, or where the auction starts.
        currency: the currency of the price.
        days: how long it runs.

    Raises:
        duplicate_listing: the member has an open listing with this title.
        listing_limit_reached: the member has 20 open listings.
    """
    own = [row for row in session.table(Listing).where(seller=me(session)) if listing_state(session, row) == "open"]
    _check_title(own, title)
    if len(own) >= LISTING_LIMIT:
        raise ToolError(
            Fault.LISTING_LIMIT_REACHED, f"{LISTING_LIMIT} listings are open; end_marketplace_listing makes room."
        )
    row = Listing(
        id=session.new_id("MLST"),
        title=title.strip(),
        category=category,
        condition=condition,
        kind=kind,
        seller=me(session),
        price=money(price, currency),
        buy_now=None,
        reserve=None,
        takes_offers=kind == "fixed",
        ends_at=session.now + timedelta(days=days),
        ended=False,
    )
    return _change(session, session.table(Listing).add(row))


@server.tool(idempotent=True)
def edit_marketplace_listing(
    session: Session, listing_id: ListingId, title: Title | None = None, price: Amount | None = None
) -> ListingChange:
    """Change the title or the price of an own listing that has no bids.

    The price can change once every open offer is answered.

    Args:
        listing_id: the listing, from search_marketplace_listings with scope selling.
        title: the new title.
        price: the new price in the listing's currency.

    Raises:
        not_own_listing: somebody else sells it.
        listing_closed: it is sold or has ended.
        listing_has_bids: somebody has bid on it.
        offer_unanswered: the price can't change under an open offer.
        nothing_to_change: neither title nor price was given.
        duplicate_listing: another open listing of the member has the title.
    """
    listing = own_listing(session, listing_id)
    if title is None and price is None:
        raise ToolError(Fault.NOTHING_TO_CHANGE, "Give a new title, a new price, or both.")
    if title is not None:
        own = session.table(Listing).where(seller=me(session))
        _check_title([r for r in own if r.id != listing.id and listing_state(session, r) == "open"], title)
        listing = replace(listing, title=title.strip())
    if price is not None:
        _check_offers(session, listing)
        listing = replace(listing, price=money(price, listing.price.currency))
    return _change(session, session.table(Listing).put(listing))


@server.tool(destructive=True)
def end_marketplace_listing(session: Session, listing_id: ListingId) -> ListingChange:
    """Take an own listing without bids down before it closes.

    Args:
        listing_id: the listing, from search_marketplace_listings with scope selling.

    Raises:
        not_own_listing: somebody else sells it.
        listing_closed: it is sold or has ended.
        listing_has_bids: somebody has bid on it.
    """
    listing = own_listing(session, listing_id)
    return _change(session, session.table(Listing).put(replace(listing, ended=True)))


def _check_title(own: list[Listing], title: str) -> None:
    for other in own:
        if other.title.casefold() == title.strip().casefold():
            raise ToolError(
                Fault.DUPLICATE_LISTING,
                f"The member has an open listing {other.title} ({other.id}); edit_marketplace_listing changes it.",
            )


def _check_offers(session: Session, listing: Listing) -> None:
    states = [offer_state(session, o)[0] for o in session.table(Offer).where(listing_id=listing.id)]
    if "pending" in states:
        raise ToolError(
            Fault.OFFER_UNANSWERED,
            f"{listing.title} has open offers ({states.count('pending')}); answer_listing_offer comes first.",
        )
    if "countered" in states:
        raise ToolError(
            Fault.OFFER_UNANSWERED,
            f"A buyer has {COUNTER_REPLY.seconds // 3600} hours to answer the counter-offer on {listing.title}; wait.",
        )


def _change(session: Session, listing: Listing) -> ListingChange:
    return ListingChange(listing.id, listing.title, listing.price, listing_state(session, listing))
