"""Offers and counter-offers, and the deals that come of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Annotated

from pydantic import Field

from servers.kernel.errors import KernelFault, ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.store import shown
from servers.kernel.types import Amount, Money
from servers.marketplace.model import (
    DealId,
    Fault,
    Listing,
    ListingId,
    Offer,
    OfferDecision,
    OfferDirection,
    OfferId,
    OfferState,
    Rating,
    Role,
    Sale,
)
from servers.marketplace.rules import (
    DELIVERY_TIME,
    OFFER_LIFE,
    Sold,
    deal_id_of,
    foreign_listing,
    listing_of,
    me,
    money,
    offer_state,
    sale_of,
)
from servers.marketplace.server import server
from servers.marketplace.views import DealView, OfferAnswered, OfferView, RatingView

OFFER_LIMIT = 3
REPLY_TIME = timedelta(hours=8)
RATING_WINDOW = timedelta(days=60)


@server.tool()
def make_listing_offer(session: Session, listing_id: ListingId, amount: Amount) -> OfferView:
    """Offer the seller of a fixed-price listing less than the price; they answer within hours.

    Args:
        listing_id: the listing, from search_marketplace_listings.
        amount: the offered price in the listing's currency.

    Raises:
        listing_closed: it is sold or has ended.
        own_listing: it is the member's own.
        offers_not_accepted: the seller wants the price, or it is an auction.
        offer_pending: the member's last offer is still open.
        offer_limit_reached: three offers were made.
        offer_not_below_price: the price is no more than that.
        offer_too_low: it is under a tenth of the price.
    """
    listing = foreign_listing(session, listing_id)
    if not listing.takes_offers:
        way = "buy_listing_now" if listing.kind == "fixed" else "place_auction_bid"
        raise ToolError(Fault.OFFERS_NOT_ACCEPTED, f"{listing.title} takes no offers; {way} fits.")
    made = session.table(Offer).where(listing_id=listing.id, buyer=me(session))
    for earlier in made:
        state, price = offer_state(session, earlier)
        if state in ("pending", "countered"):
            raise ToolError(
                Fault.OFFER_PENDING,
                f"Offer {earlier.id} is {state} at {price}; settle it or wait for its answer first.",
            )
    if len(made) >= OFFER_LIMIT:
        raise ToolError(Fault.OFFER_LIMIT_REACHED, f"{OFFER_LIMIT} offers were made already; buy_listing_now is left.")
    total = money(amount, listing.price.currency)
    if total >= listing.price:
        raise ToolError(Fault.OFFER_NOT_BELOW_PRICE, f"It costs {listing.price}; offer less or use buy_listing_now.")
    if total * 10 < listing.price:
        raise ToolError(Fault.OFFER_TOO_LOW, f"It costs {listing.price}; offer at least {listing.price.share(1, 10)}.")
    offer = Offer(
        id=session.new_id("MOFR"),
        listing_id=listing.id,
        buyer=me(session),
        amount=total,
        made_at=session.now,
        reply_at=session.now + REPLY_TIME,
        limit=listing.price.share(8, 10),
        answer="",
        counter=None,
        answered_at=None,
    )
    return _view(session, session.table(Offer).add(offer))


@server.tool(read_only=True)
def list_listing_offers(
    session: Session,
    query: Query = "",
    direction: OfferDirection | None = None,
    status: OfferState | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[OfferView]:
    """List offers that the member sent or received, with ids, status and counter-offers. Newest first.

    Args:
        query: words of the listing's title, or the amount.
        direction: only offers sent by the member, or only received ones.
        status: only offers in this status.
        limit: most offers to return.
        offset: how many to skip.
    """
    rows = search(session.table(Offer).all(), query, lambda offer: _offer_text(session, offer))
    rows.sort(key=lambda offer: (-offer.made_at.timestamp(), offer.id))
    views = [_view(session, row) for row in rows]
    views = [v for v in views if direction in (None, v.direction) and status in (None, v.status)]
    return paginate(views, limit, offset)


@server.tool()
def answer_listing_offer(
    session: Session, offer_id: OfferId, decision: OfferDecision, counter_amount: Amount | None = None
) -> OfferAnswered:
    """Accept, decline or counter an offer on an own listing, or settle a seller's counter-offer.

    Args:
        offer_id: the offer, from list_listing_offers.
        decision: accept sells or buys at once; counter names another price.
        counter_amount: the other price in the listing's currency; only with counter.

    Raises:
        offer_expired: nobody answered it in time.
        offer_settled: it was accepted or declined.
        offer_awaits_other_side: the other member has to answer.
        counter_amount_mismatch: counter needs an amount, the other decisions take none.
        counter_out_of_range: the amount is not between the offer and the price.
    """
    offer = session.table(Offer).require(offer_id, "list_listing_offers shows the valid ids.")
    listing = listing_of(session, offer.listing_id)
    state, price = offer_state(session, offer)
    _check_answerable(session, listing, offer, state)
    if (decision == "counter") != (counter_amount is not None):
        raise ToolError(
            Fault.COUNTER_AMOUNT_MISMATCH, "decision counter needs counter_amount; accept and decline take none."
        )
    if counter_amount is not None:
        return _counter(session, listing, offer, money(counter_amount, price.currency))
    answer: OfferState = "accepted" if decision == "accept" else "declined"
    counter = price if state == "countered" else None
    session.table(Offer).put(replace(offer, answer=answer, counter=counter, answered_at=session.now))
    if answer == "declined":
        return OfferAnswered(offer.id, answer, price)
    session.table(Sale).add(Sale(session.new_id("MSAL"), listing.id, offer.id, offer.buyer, price, session.now))
    return OfferAnswered(offer.id, answer, price, deal_id_of(listing))


@server.tool(read_only=True)
def list_marketplace_deals(
    session: Session,
    query: Query = "",
    role: Role | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[DealView]:
    """List what the member bought or sold, with ids, partners and status. Newest first.

    Args:
        query: words of the title or the partner's user name.
        role: only deals in which the member was this.
        limit: most deals to return.
        offset: how many to skip.
    """
    deals = [(row, sold) for row in session.table(Listing).all() if (sold := _own_sale(session, row)) is not None]
    deals.sort(key=lambda deal: (-deal[1].at.timestamp(), deal[0].id))
    views = [_deal_view(session, listing, sold) for listing, sold in deals]
    views = search(views, query, lambda view: f"{view.title} {view.partner}")
    return paginate([view for view in views if role in (None, view.role)], limit, offset)


@server.tool()
def rate_marketplace_deal(
    session: Session,
    deal_id: DealId,
    stars: Annotated[int, Field(ge=1, le=5)],
    comment: Annotated[str, Field(max_length=200)] = "",
) -> RatingView:
    """Rate the other side of a completed deal, once and within 60 days.

    Args:
        deal_id: the deal, from list_marketplace_deals.
        stars: one to five.
        comment: a few words in the member's own.

    Raises:
        deal_not_completed: the goods are still on their way.
        already_rated: the member rated it.
        rating_window_closed: it was completed more than 60 days ago.
    """
    listing, sold = _deal_of(session, deal_id)
    completed = sold.at + DELIVERY_TIME
    if session.now < completed:
        raise ToolError(Fault.DEAL_NOT_COMPLETED, f"The goods are on their way; rate it from {completed:%Y-%m-%d} on.")
    if session.table(Rating).where(listing_id=listing.id, author=me(session)):
        raise ToolError(Fault.ALREADY_RATED, f"The member rated the deal over {listing.title} already.")
    if session.now > completed + RATING_WINDOW:
        last = completed + RATING_WINDOW
        raise ToolError(Fault.RATING_WINDOW_CLOSED, f"The deal could be rated until {last:%Y-%m-%d}.")
    session.table(Rating).add(Rating(session.new_id("MRTG"), listing.id, me(session), stars, comment))
    partner = _partner(session, listing, sold)
    return RatingView(partner, stars, _average(session, partner))


def _view(session: Session, offer: Offer) -> OfferView:
    listing = listing_of(session, offer.listing_id)
    state, price = offer_state(session, offer)
    direction: OfferDirection = "sent" if offer.buyer == me(session) else "received"
    counter = price if price != offer.amount else None
    return OfferView(offer.id, listing.title, direction, offer.amount, state, counter)


def _offer_text(session: Session, offer: Offer) -> str:
    return f"{listing_of(session, offer.listing_id).title} {offer.amount}"


def _check_answerable(session: Session, listing: Listing, offer: Offer, state: OfferState) -> None:
    if state == "expired":
        raise ToolError(
            Fault.OFFER_EXPIRED,
            f"The offer of {offer.amount} for {listing.title} ended after {OFFER_LIFE.days * 24} hours.",
        )
    if state in ("accepted", "declined"):
        raise ToolError(Fault.OFFER_SETTLED, f"The offer of {offer.amount} for {listing.title} is {state} already.")
    own_turn = (offer.buyer == me(session)) == (state == "countered")
    if not own_turn:
        raise ToolError(
            Fault.OFFER_AWAITS_OTHER_SIDE, f"The other member has to answer the offer for {listing.title}; wait for it."
        )


def _counter(session: Session, listing: Listing, offer: Offer, counter: Money) -> OfferAnswered:
    if offer.buyer == me(session):
        raise ToolError(
            Fault.OFFER_AWAITS_OTHER_SIDE,
            "A seller's counter-offer can be accepted or declined; declining frees make_listing_offer.",
        )
    if not offer.amount < counter < listing.price:
        raise ToolError(
            Fault.COUNTER_OUT_OF_RANGE, f"A counter-offer lies between {offer.amount} and the price of {listing.price}."
        )
    session.table(Offer).put(replace(offer, answer="countered", counter=counter, answered_at=session.now))
    return OfferAnswered(offer.id, "countered", counter)


def _own_sale(session: Session, listing: Listing) -> Sold | None:
    sold = sale_of(session, listing)
    return sold if sold is not None and me(session) in (listing.seller, sold.buyer) else None


def _deal_of(session: Session, deal_id: str) -> tuple[Listing, Sold]:
    listing = session.table(Listing).get(deal_id.replace("MDEA", "MLST"))
    sold = _own_sale(session, listing) if listing is not None and deal_id_of(listing) == deal_id else None
    if listing is None or sold is None:
        raise ToolError(
            KernelFault.NOT_FOUND, f"There is no deal {shown(deal_id)}. list_marketplace_deals shows the valid ids."
        )
    return listing, sold


def _partner(session: Session, listing: Listing, sold: Sold) -> str:
    return sold.buyer if listing.seller == me(session) else listing.seller


def _deal_view(session: Session, listing: Listing, sold: Sold) -> DealView:
    role: Role = "seller" if listing.seller == me(session) else "buyer"
    rated = session.table(Rating).where(listing_id=listing.id, author=me(session))
    status = "rated" if rated else "completed" if session.now >= sold.at + DELIVERY_TIME else "on its way"
    return DealView(deal_id_of(listing), listing.title, role, _partner(session, listing, sold), sold.price, status)


def _average(session: Session, member: str) -> float:
    """Average of the stars that others gave a member."""
    stars = []
    for rating in session.table(Rating).all():
        listing = listing_of(session, rating.listing_id)
        sold = sale_of(session, listing)
        if sold is not None and rating.author != member and member in (listing.seller, sold.buyer):
            stars.append(rating.stars)
    return round(sum(stars) / len(stars), 1)
