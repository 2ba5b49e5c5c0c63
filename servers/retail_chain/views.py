"""What the chain's tools show."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from servers.kernel.types import Money
from servers.retail_chain.model import ItemId, ReservationId, ReservationStatus, StoreId


@dataclass(frozen=True, slots=True)
class StoreView:
    """A shop in a list; `hours` are local, `closed` says why it isn't open today."""

    id: StoreId
    name: str
    open_now: bool
    hours: str
    closed: str | None = None


@dataclass(frozen=True, slots=True)
class StockView:
    """An item in one shop; `incoming` pieces are on their way."""

    item_id: ItemId
    name: str
    available: int
    price: Money
    incoming: int | None = None
    promo_until: date | None = None


@dataclass(frozen=True, slots=True)
class StoreShare:
    """A shop's free pieces of an item."""

    store_id: StoreId
    store: str
    available: int


@dataclass(frozen=True, slots=True)
class ItemInStores:
    """An item with all its free pieces and the shops that have most of them."""

    item_id: ItemId
    name: str
    total: int
    best_stores: list[StoreShare]


@dataclass(frozen=True, slots=True)
class InboundView:
    """Goods that were sent to a shop."""

    shipment_id: str
    quantity: int
    arrives_at: datetime
    left_at_source: int | None = None


@dataclass(frozen=True, slots=True)
class ReservationView:
    """A click-and-collect reservation."""

    id: ReservationId
    customer: str
    item: str
    quantity: int
    store: str
    status: ReservationStatus


@dataclass(frozen=True, slots=True)
class ReservationMade:
    """A new reservation; the customer gets the pickup code by text message."""

    id: ReservationId
    to_pay: Money
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class HandedOver:
    """Goods that a customer took home."""

    reservation_id: ReservationId
    paid: Money
    return_until: date


@dataclass(frozen=True, slots=True)
class PriceChange:
    """What an item costs now, and until when if it is a promotion."""

    name: str
    store: str
    old_price: Money
    new_price: Money
    until: date | None = None


@dataclass(frozen=True, slots=True)
class CountView:
    """A stock count; `difference` is counted less expected."""

    name: str
    store: str
    expected: int
    counted: int
    difference: int


@dataclass(frozen=True, slots=True)
class ReturnAccepted:
    """Goods that came back."""

    reservation_id: ReservationId
    store: str
    refund: Money
    restocked: bool
