"""Records and error codes of the marketplace."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from servers.kernel.store import Record
from servers.kernel.types import Entity, Hidden, Money

ListingId: TypeAlias = Annotated[str, Entity("marketplace_listing")]
OfferId: TypeAlias = Annotated[str, Entity("listing_offer")]
DealId: TypeAlias = Annotated[str, Entity("marketplace_deal")]

ListingCategory: TypeAlias = Literal["cameras", "bikes", "furniture", "instruments", "games", "watches"]
Condition: TypeAlias = Literal["new", "good", "worn"]
ListingKind: TypeAlias = Literal["auction", "fixed"]
ListingState: TypeAlias = Literal["open", "sold", "ended"]
Scope: TypeAlias = Literal["all", "watching", "bidding", "selling"]
Currency: TypeAlias = Literal["USD", "EUR", "GBP", "CHF"]
OfferDirection: TypeAlias = Literal["sent", "received"]
OfferState: TypeAlias = Literal["pending", "countered", "accepted", "declined", "expired"]
OfferDecision: TypeAlias = Literal["accept", "decline", "counter"]
Role: TypeAlias = Literal["buyer", "seller"]
Standing: TypeAlias = Literal["leading", "outbid"]


class Fault(StrEnum):
    """What the marketplace refuses, beyond bad arguments and unknown ids."""

    OWN_LISTING = "own_listing"
    NOT_OWN_LISTING = "not_own_listing"
    LISTING_CLOSED = "listing_closed"
    NOT_AN_AUCTION = "not_an_auction"
    BID_TOO_LOW = "bid_too_low"
    BUY_NOW_NOT_AVAILABLE = "buy_now_not_available"
    OFFERS_NOT_ACCEPTED = "offers_not_accepted"
    OFFER_PENDING = "offer_pending"
    OFFER_UNANSWERED = "offer_unanswered"
    OFFER_NOT_BELOW_PRICE = "offer_not_below_price"
    OFFER_TOO_LOW = "offer_too_low"
    OFFER_LIMIT_REACHED = "offer_limit_reached"
    OFFER_EXPIRED = "offer_expired"
    OFFER_SETTLED = "offer_settled"
    OFFER_AWAITS_OTHER_SIDE = "offer_awaits_other_side"
    COUNTER_AMOUNT_MISMATCH = "counter_amount_mismatch"
    COUNTER_OUT_OF_RANGE = "counter_out_of_range"
    DUPLICATE_LISTING = "duplicate_listing"
    LISTING_LIMIT_REACHED = "listing_limit_reached"
    LISTING_HAS_BIDS = "listing_has_bids"
    NOTHING_TO_CHANGE = "nothing_to_change"
    DEAL_NOT_COMPLETED = "deal_not_completed"
    ALREADY_RATED = "already_rated"
    RATING_WINDOW_CLOSED = "rating_window_closed"
    CONTACT_DETAILS_NOT_ALLOWED = "contact_details_not_allowed"
    TOO_MANY_UNANSWERED = "too_many_unanswered"
    WATCH_LIST_FULL = "watch_list_full"


@dataclass(frozen=True, slots=True)
class Listing(Record):
    """One thing for sale. `price` is the fixed price or where an auction starts; `ended` means taken down early."""

    id: ListingId
    title: str
    category: ListingCategory
    condition: Condition
    kind: ListingKind
    seller: str
    price: Money
    buy_now: Money | None
    reserve: Annotated[Money | None, Hidden]
    takes_offers: bool
    ends_at: datetime
    ended: bool


@dataclass(frozen=True, slots=True)
class Bid(Record):
    """The most that somebody pays; rivals' bids count from `placed_at` on."""

    id: str
    listing_id: ListingId
    bidder: str
    most: Annotated[Money, Hidden]
    placed_at: datetime


@dataclass(frozen=True, slots=True)
class Offer(Record):
    """A buyer's price. `limit` is what the other member settles for, and they answer at `reply_at`."""

    id: OfferId
    listing_id: ListingId
    buyer: str
    amount: Money
    made_at: datetime
    reply_at: datetime
    limit: Annotated[Money, Hidden]
    answer: str
    counter: Money | None
    answered_at: datetime | None


@dataclass(frozen=True, slots=True)
class Sale(Record):
    """A sale by a member's own act; those that time brings about are computed."""

    id: str
    listing_id: ListingId
    offer_id: str
    buyer: str
    price: Money
    at: datetime


@dataclass(frozen=True, slots=True)
class Rating(Record):
    """One side's stars for the other after a deal."""

    id: str
    listing_id: ListingId
    author: str
    stars: int
    comment: str


@dataclass(frozen=True, slots=True)
class Message(Record):
    """A question to a seller, who answers at `answered_at`."""

    id: str
    listing_id: ListingId
    text: str
    sent_at: datetime
    answered_at: datetime


@dataclass(frozen=True, slots=True)
class Watch(Record):
    """A listing on the member's watch list; its id is the listing's."""

    id: str
    since: datetime
