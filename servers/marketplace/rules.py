"""The marketplace's rules: who leads an auction, where an offer stands, what is sold to whom."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from servers.kernel.errors import ToolError
from servers.kernel.session import Session
from servers.kernel.types import Money
from servers.marketplace.model import Bid, Fault, Listing, ListingState, Offer, OfferState, Sale
from servers.shared.people import user

OFFER_LIFE = timedelta(hours=48)
COUNTER_REPLY = timedelta(hours=6)
DELIVERY_TIME = timedelta(days=5)
_STEPS = ((50, 1), (200, 5))
"""Up to this price (major units) a bid must be higher by this much; above the last one by 10."""


@dataclass(frozen=True, slots=True)
class Auction:
    """An auction at one moment: what the leader would pay, and the least bid that is accepted next."""

    leader: str
    price: Money
    least: Money
    leader_most: Money
    bids: int


@dataclass(frozen=True, slots=True)
class Sold:
    """How a listing was sold."""

    buyer: str
    price: Money
    at: datetime
    offer_id: str


def me(session: Session) -> str:
    """The member whom the agent serves."""
    return user(session.world.seed).username


def listing_of(session: Session, listing_id: str) -> Listing:
    """The listing, or an error that says how to find one."""
    return session.table(Listing).require(listing_id, "search_marketplace_listings shows the valid ids.")


def increment(price: Money) -> Money:
    """How much higher the next bid must be."""
    step = next((step for top, step in _STEPS if price.minor < top * 100), 10)
    return Money(step * 100, price.currency)


def auction_at(session: Session, listing: Listing, at: datetime) -> Auction:
    """Fold the bids up to a moment: each bidder pays just one step above the second highest."""
    zero = Money(0, listing.price.currency)
    state = Auction("", listing.price, listing.price, zero, 0)
    placed = [bid for bid in session.table(Bid).where(listing_id=listing.id) if bid.placed_at <= at]
    for bid in sorted(placed, key=lambda bid: (bid.placed_at, bid.id)):
        state = _after(state, bid, listing)
    if listing.reserve is not None and state.leader_most >= listing.reserve > state.price:
        reserve = listing.reserve
        return Auction(state.leader, reserve, reserve + increment(reserve), state.leader_most, state.bids)
    return state


def _after(state: Auction, bid: Bid, listing: Listing) -> Auction:
    if bid.bidder == state.leader:
        return Auction(state.leader, state.price, state.least, max(bid.most, state.leader_most), state.bids + 1)
    if bid.most < state.least:
        return state
    if not state.leader:
        price, leader, most = listing.price, bid.bidder, bid.most
    elif bid.most > state.leader_most:
        price, leader, most = min(bid.most, state.leader_most + increment(state.leader_most)), bid.bidder, bid.most
    else:
        price, leader, most = min(state.leader_most, bid.most + increment(bid.most)), state.leader, state.leader_most
    return Auction(leader, price, price + increment(price), most, state.bids + 1)


def raw_offer_state(session: Session, listing: Listing, offer: Offer) -> tuple[OfferState, datetime, Money]:
    """An offer by itself: its state, since when, and the price on the table."""
    if offer.answer == "accepted":
        return "accepted", offer.answered_at or offer.made_at, offer.counter or offer.amount
    if offer.answer == "declined":
        return "declined", offer.answered_at or offer.made_at, offer.amount
    if offer.answer == "countered" and offer.counter is not None and offer.answered_at is not None:
        reply = offer.answered_at + COUNTER_REPLY
        if session.now < reply:
            return "countered", offer.answered_at, offer.counter
        return ("accepted" if offer.counter <= offer.limit else "declined"), reply, offer.counter
    if listing.seller == me(session) or session.now < offer.reply_at:
        lapsed = offer.made_at + OFFER_LIFE
        return ("pending", offer.made_at, offer.amount) if session.now < lapsed else ("expired", lapsed, offer.amount)
    if offer.amount >= offer.limit:
        return "accepted", offer.reply_at, offer.amount
    if offer.amount < offer.limit.share(7, 10):
        return "declined", offer.reply_at, offer.amount
    lapsed = offer.reply_at + OFFER_LIFE
    return ("countered", offer.reply_at, offer.limit) if session.now < lapsed else ("expired", lapsed, offer.limit)


def offer_state(session: Session, offer: Offer) -> tuple[OfferState, Money]:
    """Where an offer stands now and the price on the table, seeing that a thing is sold only once."""
    listing = listing_of(session, offer.listing_id)
    state, _, price = raw_offer_state(session, listing, offer)
    sold = sale_of(session, listing)
    if sold is not None and sold.offer_id != offer.id and state in ("pending", "countered", "accepted"):
        return "declined", price
    if sold is None and state in ("pending", "countered", "accepted") and listing_state(session, listing) != "open":
        return "expired", price
    return state, price


def sale_of(session: Session, listing: Listing) -> Sold | None:
    """How the listing was sold, by a member's act or by the clock, or None."""
    for sale in session.table(Sale).where(listing_id=listing.id):
        return Sold(sale.buyer, sale.price, sale.at, sale.offer_id)
    if listing.ended:
        return None
    agreed = []
    for offer in session.table(Offer).where(listing_id=listing.id):
        state, since, price = raw_offer_state(session, listing, offer)
        if state == "accepted" and since < listing.ends_at:
            agreed.append((since, offer.id, Sold(offer.buyer, price, since, offer.id)))
    if agreed:
        return min(agreed, key=lambda item: item[:2])[2]
    if listing.kind == "auction" and session.now >= listing.ends_at:
        final = auction_at(session, listing, listing.ends_at)
        if final.leader and (listing.reserve is None or final.leader_most >= listing.reserve):
            return Sold(final.leader, final.price, listing.ends_at, "")
    return None


def listing_state(session: Session, listing: Listing) -> ListingState:
    """Whether the listing can still be bought."""
    if sale_of(session, listing) is not None:
        return "sold"
    return "ended" if listing.ended or session.now >= listing.ends_at else "open"


def open_listing(session: Session, listing_id: str) -> Listing:
    """A listing that can still be bought, or the reason why not."""
    listing = listing_of(session, listing_id)
    state = listing_state(session, listing)
    if state != "open":
        raise ToolError(
            Fault.LISTING_CLOSED, f"{listing.title} is {state}; search_marketplace_listings shows what is still open."
        )
    return listing


def foreign_listing(session: Session, listing_id: str) -> Listing:
    """An open listing of somebody else."""
    listing = open_listing(session, listing_id)
    if listing.seller == me(session):
        raise ToolError(Fault.OWN_LISTING, f"{listing.title} is the member's own listing; choose somebody else's.")
    return listing


def own_listing(session: Session, listing_id: str) -> Listing:
    """An open listing of the member without bids, so that it may change."""
    listing = listing_of(session, listing_id)
    if listing.seller != me(session):
        raise ToolError(
            Fault.NOT_OWN_LISTING,
            f"{listing.title} belongs to {listing.seller}; scope selling shows the member's listings.",
        )
    open_listing(session, listing_id)
    bids = auction_at(session, listing, session.now).bids if listing.kind == "auction" else 0
    if bids:
        raise ToolError(
            Fault.LISTING_HAS_BIDS,
            f"{listing.title} has bids ({bids}) and runs as it is until {listing.ends_at:%Y-%m-%d}.",
        )
    return listing


def money(amount: Decimal, currency: str) -> Money:
    """An amount in one of the marketplace's currencies, all of which have cents."""
    return Money.of(amount, currency)


def deal_id_of(listing: Listing) -> str:
    """The deal of a listing, which is sold once, bears its number."""
    return listing.id.replace("MLST", "MDEA")
