"""What the marketplace's tools show."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from servers.kernel.types import Money
from servers.marketplace.model import (
    DealId,
    ListingId,
    ListingKind,
    ListingState,
    OfferDirection,
    OfferId,
    OfferState,
    Role,
    Standing,
)


@dataclass(frozen=True, slots=True)
class ListingView:
    """A listing; `price` is the fixed price, or the least bid that an auction takes next.

    An auction may be had for `buy_now` while nobody has bid.
    """

    id: ListingId
    title: str
    kind: ListingKind
    price: Money
    ends_at: datetime
    standing: Standing | None = None
    buy_now: Money | None = None


@dataclass(frozen=True, slots=True)
class BidView:
    """The auction after a bid: `price` is what the leader would pay now."""

    listing_id: ListingId
    standing: Standing
    price: Money
    reserve_met: bool
    ends_at: datetime


@dataclass(frozen=True, slots=True)
class Purchase:
    """A finished sale."""

    deal_id: DealId
    title: str
    price: Money


@dataclass(frozen=True, slots=True)
class OfferView:
    """An offer; `counter` is the price that the other side named instead."""

    id: OfferId
    title: str
    direction: OfferDirection
    amount: Money
    status: OfferState
    counter: Money | None = None


@dataclass(frozen=True, slots=True)
class OfferAnswered:
    """An offer after the member's answer."""

    offer_id: OfferId
    status: OfferState
    price: Money
    deal_id: DealId | None = None


@dataclass(frozen=True, slots=True)
class ListingChange:
    """A listing after its seller did something."""

    id: ListingId
    title: str
    price: Money
    state: ListingState


@dataclass(frozen=True, slots=True)
class DealView:
    """A deal of the member; `partner` is the other side."""

    id: DealId
    title: str
    role: Role
    partner: str
    price: Money
    status: str


@dataclass(frozen=True, slots=True)
class RatingView:
    """A rating that was given."""

    partner: str
    stars: int
    partner_average: float


@dataclass(frozen=True, slots=True)
class MessageView:
    """A message on its way to a seller."""

    message_id: str
    seller: str
    unanswered: int


@dataclass(frozen=True, slots=True)
class WatchView:
    """Whether a listing is on the watch list, which holds `watched` listings."""

    listing_id: ListingId
    watching: bool
    watched: int
