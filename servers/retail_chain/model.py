"""Records and error codes of the retail chain."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from servers.kernel.store import Record
from servers.kernel.types import Entity, Hidden, Money

StoreId: TypeAlias = Annotated[str, Entity("chain_store")]
ItemId: TypeAlias = Annotated[str, Entity("stock_item")]
ReservationId: TypeAlias = Annotated[str, Entity("collect_reservation")]

Department: TypeAlias = Literal["tools", "garden", "lighting", "paint", "kitchen"]
ReservationStatus: TypeAlias = Literal["ready", "collected", "expired"]
ReturnCondition: TypeAlias = Literal["sealed", "opened", "damaged"]


class Fault(StrEnum):
    """What the chain refuses, beyond bad arguments and unknown ids."""

    STORE_SHUT = "store_shut"
    STORE_CLOSED_FOR_WORKS = "store_closed_for_works"
    SAME_STORE = "same_store"
    NO_TRANSFER_ROUTE = "no_transfer_route"
    INSUFFICIENT_STOCK = "insufficient_stock"
    ITEM_DISCONTINUED = "item_discontinued"
    REPLENISHMENT_OPEN = "replenishment_open"
    STORAGE_FULL = "storage_full"
    DUPLICATE_RESERVATION = "duplicate_reservation"
    RESERVATION_EXPIRED = "reservation_expired"
    ALREADY_COLLECTED = "already_collected"
    WRONG_PICKUP_CODE = "wrong_pickup_code"
    NOT_COLLECTED = "not_collected"
    NOT_RETURNABLE = "not_returnable"
    ALREADY_RETURNED = "already_returned"
    RETURN_WINDOW_CLOSED = "return_window_closed"
    RETURN_IN_OTHER_CURRENCY = "return_in_other_currency"
    INVALID_AMOUNT = "invalid_amount"
    PRICE_OUT_OF_RANGE = "price_out_of_range"
    PRICE_UNCHANGED = "price_unchanged"
    PROMOTION_RUNNING = "promotion_running"
    DATE_NOT_ALLOWED = "date_not_allowed"
    COUNTED_RECENTLY = "counted_recently"
    COUNT_NEEDS_CONFIRMATION = "count_needs_confirmation"


@dataclass(frozen=True, slots=True)
class Store(Record):
    """A shop with its local opening hours; `rest_day` is a weekday (Monday 0) or -1, works close it up to a day."""

    id: StoreId
    name: str
    city: str
    zone: str
    currency: str
    opens: time
    closes: time
    rest_day: int
    works_until: date | None


@dataclass(frozen=True, slots=True)
class Item(Record):
    """Something that the chain sells in every shop. A shop keeps at most `capacity` pieces."""

    id: ItemId
    name: str
    department: Department
    case_size: int
    capacity: int
    returnable: bool
    discontinued: bool


@dataclass(frozen=True, slots=True)
class Stock(Record):
    """An item in a shop. `base` leaves out what arrives by transfer or replenishment; promotions end by themselves."""

    id: str
    store_id: StoreId
    item_id: ItemId
    base: int
    price: Money
    promo_price: Money | None
    promo_until: date | None
    counted_at: datetime | None


@dataclass(frozen=True, slots=True)
class Inbound(Record):
    """Pieces on their way to a shop, from another one (`source`) or, if that is empty, from the supplier."""

    id: str
    store_id: StoreId
    item_id: ItemId
    source: str
    quantity: int
    sent_at: datetime
    arrives_at: datetime


@dataclass(frozen=True, slots=True)
class Reservation(Record):
    """Pieces set aside for a customer until `expires_at`, paid at collection."""

    id: ReservationId
    store_id: StoreId
    item_id: ItemId
    quantity: int
    customer: str
    price: Money
    reserved_at: datetime
    expires_at: datetime
    collected_at: datetime | None
    returned: int
    pickup_code: Annotated[str, Hidden]
