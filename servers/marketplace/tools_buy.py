"""Finding, watching, bidding, buying, and asking the seller."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from pydantic import Field

from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.types import Amount
from servers.marketplace.model import (
    Bid,
    Fault,
    Listing,
    ListingCategory,
    ListingId,
    Message,
    Sale,
    Scope,
    Standing,
    Watch,
)
from servers.marketplace.rules import (
    auction_at,
    deal_id_of,
    foreign_listing,
    increment,
    listing_of,
    listing_state,
    me,
    money,
)
from servers.marketplace.server import server
from servers.marketplace.views import BidView, ListingView, MessageView, Purchase, WatchView

WATCH_LIMIT = 15
UNANSWERED_LIMIT = 2
ANSWER_TIME = timedelta(hours=6)
_CONTACT = re.compile(r"@|https?:|www\.|\+?\d[\d ()-]{7,}\d", re.ASCII)


@server.tool(read_only=True)
def search_marketplace_listings(
    session: Session,
    query: Query = "",
    category: ListingCategory | None = None,
    scope: Scope = "all",
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[ListingView]:
    """Search open marketplace listings, or what the member is watching, bidding on or selling.

    Use it first whenever a request names a thing for sale. Ordered by closing time.

    Args:
        query: words of the title.
        category: only listings of this category.
        scope: all, or those that the member is watching, bidding on or selling.
        limit: most listings to return.
        offset: how many to skip.
    """
    rows = search(session.table(Listing).all(), query, lambda listing: listing.title)
    rows = [row for row in rows if category is None or row.category == category]
    rows = [row for row in rows if listing_state(session, row) == "open" and _in_scope(session, row, scope)]
    rows.sort(key=lambda row: (row.ends_at, row.id))
    page = paginate(rows, limit, offset)
    return Page([_view(session, row) for row in page.items], page.total, page.next_offset)


@server.tool(idempotent=True)
def watch_marketplace_listing(session: Session, listing_id: ListingId, watching: bool = True) -> WatchView:
    """Put a listing on the watch list, or take it off with watching false.

    Args:
        listing_id: the listing, from search_marketplace_listings.
        watching: whether it shall be watched.

    Raises:
        listing_closed: it is sold or has ended.
        own_listing: members don't watch their own.
        watch_list_full: fifteen listings are watched.
    """
    listing = foreign_listing(session, listing_id) if watching else listing_of(session, listing_id)
    table = session.table(Watch)
    if watching and table.get(listing.id) is None:
        if _watched(session) >= WATCH_LIMIT:
            raise ToolError(
                Fault.WATCH_LIST_FULL, f"{WATCH_LIMIT} listings are watched already; take one off with watching=false."
            )
        table.add(Watch(listing.id, session.now))
    elif not watching:
        table.remove(listing.id)
    return WatchView(listing.id, watching, _watched(session))


@server.tool()
def place_auction_bid(session: Session, listing_id: ListingId, max_amount: Amount) -> BidView:
    """Bid in an auction up to an amount; the marketplace bids step by step and no more than needed.

    Args:
        listing_id: the auction, from search_marketplace_listings.
        max_amount: the most that the member pays, in the listing's currency.

    Raises:
        listing_closed: it is sold or has ended.
        own_listing: members don't bid on their own.
        not_an_auction: it has a fixed price.
        bid_too_low: a bid must be a step above the highest.
    """
    listing = foreign_listing(session, listing_id)
    if listing.kind != "auction":
        raise ToolError(
            Fault.NOT_AN_AUCTION, f"{listing.title} costs {listing.price}; buy_listing_now or make_listing_offer fits."
        )
    most = money(max_amount, listing.price.currency)
    before, member = auction_at(session, listing, session.now), me(session)
    least = before.leader_most + increment(before.leader_most) if before.leader == member else before.least
    if most < least:
        raise ToolError(Fault.BID_TOO_LOW, f"The next bid must be at least {least}; bid more or watch the listing.")
    session.table(Bid).add(Bid(session.new_id("MBID"), listing.id, member, most, session.now))
    after = auction_at(session, listing, session.now)
    met = listing.reserve is None or after.leader_most >= listing.reserve
    standing: Standing = "leading" if after.leader == member else "outbid"
    return BidView(listing.id, standing, after.price, met, listing.ends_at)


@server.tool()
def buy_listing_now(session: Session, listing_id: ListingId) -> Purchase:
    """Buy a fixed-price listing, or an auction with a buy-now price and no bids, at once.

    Args:
        listing_id: the listing, from search_marketplace_listings.

    Raises:
        listing_closed: it is sold or has ended.
        own_listing: members don't buy their own.
        buy_now_not_available: the auction has bids or no such price.
    """
    listing = foreign_listing(session, listing_id)
    price = listing.price if listing.kind == "fixed" else listing.buy_now
    bids = auction_at(session, listing, session.now).bids if listing.kind == "auction" else 0
    if price is None or bids:
        why = f"has bids ({bids})" if bids else "has no buy-now price"
        raise ToolError(Fault.BUY_NOW_NOT_AVAILABLE, f"{listing.title} {why}; place_auction_bid is the way to get it.")
    session.table(Sale).add(Sale(session.new_id("MSAL"), listing.id, "", me(session), price, session.now))
    return Purchase(deal_id_of(listing), listing.title, price)


@server.tool()
def message_listing_seller(
    session: Session, listing_id: ListingId, text: Annotated[str, Field(min_length=5, max_length=300)]
) -> MessageView:
    """Ask the seller of a listing something.

    Args:
        listing_id: the listing, from search_marketplace_listings.
        text: the question in the member's words, without contact details.

    Raises:
        listing_closed: it is sold or has ended.
        own_listing: it is the member's own.
        contact_details_not_allowed: the text holds an address, a link or a phone number.
        too_many_unanswered: two questions about it wait for an answer.
    """
    listing = foreign_listing(session, listing_id)
    if _CONTACT.search(text):
        raise ToolError(
            Fault.CONTACT_DETAILS_NOT_ALLOWED, "Leave out e-mail addresses, links and phone numbers, and send it again."
        )
    asked = session.table(Message).where(listing_id=listing.id)
    waiting = [row.answered_at for row in asked if row.answered_at > session.now]
    if len(waiting) >= UNANSWERED_LIMIT:
        due = min(waiting)
        raise ToolError(
            Fault.TOO_MANY_UNANSWERED,
            f"{len(waiting)} questions to {listing.seller} are unanswered; wait until {due:%Y-%m-%d %H:%M} UTC.",
        )
    row = Message(session.new_id("MMSG"), listing.id, text, session.now, session.now + ANSWER_TIME)
    session.table(Message).add(row)
    return MessageView(row.id, listing.seller, len(waiting) + 1)


def _watched(session: Session) -> int:
    """How many open listings the member watches; closed ones don't count."""
    rows = session.table(Watch).all()
    return sum(listing_state(session, listing_of(session, row.id)) == "open" for row in rows)


def _in_scope(session: Session, listing: Listing, scope: Scope) -> bool:
    if scope == "watching":
        return session.table(Watch).get(listing.id) is not None
    if scope == "bidding":
        return bool(session.table(Bid).where(listing_id=listing.id, bidder=me(session)))
    return scope == "all" or listing.seller == me(session)


def _view(session: Session, listing: Listing) -> ListingView:
    if listing.kind == "fixed":
        return ListingView(listing.id, listing.title, listing.kind, listing.price, listing.ends_at)
    auction = auction_at(session, listing, session.now)
    standing: Standing | None = None
    if session.table(Bid).where(listing_id=listing.id, bidder=me(session)):
        standing = "leading" if auction.leader == me(session) else "outbid"
    buy_now = None if auction.bids else listing.buy_now
    return ListingView(listing.id, listing.title, listing.kind, auction.least, listing.ends_at, standing, buy_now)
