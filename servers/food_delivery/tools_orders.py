"""Tools for orders that have been placed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Annotated

from pydantic import Field

from servers.food_delivery.model import (
    Fault,
    FoodOrder,
    FoodOrderId,
    FoodOrderLine,
    FoodOrderLineId,
    OrderStatus,
    WhichCart,
)
from servers.food_delivery.rules import (
    address_of,
    check_delivered,
    delivered_at,
    dish_of,
    order_of,
    order_status,
    picked_up_at,
    restaurant_of,
    subtotal_of,
)
from servers.food_delivery.server import server
from servers.food_delivery.tools_cart import add_portions, start_cart
from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.types import Amount, Money

REFUND_WINDOW = timedelta(hours=24)
RATING_WINDOW = timedelta(days=14)
TIP_WINDOW = timedelta(hours=2)


@dataclass(frozen=True, slots=True)
class OrderItem:
    """An order in a list; `on` is the day of delivery, the title names restaurant and day."""

    id: FoodOrderId
    title: str
    restaurant: str
    on: date
    status: OrderStatus
    address: str


@dataclass(frozen=True, slots=True)
class LineItem:
    """Portions of one dish in an order; the price is for all of them."""

    id: FoodOrderLineId
    dish: str
    restaurant: str
    quantity: int
    choice: str | None
    price: Money
    refunded: bool | None


@dataclass(frozen=True, slots=True)
class OrderDetails:
    """An order with its dishes."""

    id: FoodOrderId
    status: OrderStatus
    dishes: list[LineItem]
    total: Money
    tip: Money | None
    stars: int | None


@dataclass(frozen=True, slots=True)
class Tracking:
    """Where an order is; times are UTC."""

    id: FoodOrderId
    status: OrderStatus
    courier: str | None
    arrives_at: datetime | None
    minutes_left: int | None


@dataclass(frozen=True, slots=True)
class OrderCancelled:
    """What a cancelled order gives back."""

    id: FoodOrderId
    status: OrderStatus
    refund: Money


@dataclass(frozen=True, slots=True)
class TipReceipt:
    """A tip for an order's courier."""

    id: FoodOrderId
    tip: Money


@dataclass(frozen=True, slots=True)
class DishRefund:
    """Money back for a dish that didn't come."""

    id: FoodOrderLineId
    dish: str
    refund: Money


@dataclass(frozen=True, slots=True)
class OrderRating:
    """The stars of an order."""

    id: FoodOrderId
    stars: int


@dataclass(frozen=True, slots=True)
class Reordered:
    """What an earlier order put into the cart, and what it could not."""

    restaurant: str
    added: list[str]
    sold_out: list[str] | None
    subtotal: Money | None


@server.tool(read_only=True)
def list_food_orders(
    session: Session,
    query: Query = "",
    status: OrderStatus | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[OrderItem]:
    """List food orders with their ids and status, latest placed first; search by restaurant.

    Args:
        query: words of the restaurant, the address or the day.
        status: only orders in this state.
        limit: most orders to return.
        offset: how many to skip.
    """
    items = []
    for row in sorted(session.table(FoodOrder).all(), key=lambda row: (-row.placed_at.timestamp(), row.id)):
        state, label = order_status(session, row), address_of(session, row.address_id).label
        if status is None or state == status:
            name, on = restaurant_of(session, row.restaurant_id).name, row.starts_at.date()
            items.append(OrderItem(row.id, f"{name} {on}", name, on, state, label))
    return paginate(search(items, query, lambda item: f"{item.restaurant} {item.address} {item.on}"), limit, offset)


@server.tool(read_only=True)
def get_food_order(session: Session, food_order_id: FoodOrderId) -> OrderDetails:
    """Show one order's dishes with their ids, the total, the tip and the rating.

    Args:
        food_order_id: the order, from list_food_orders.
    """
    order = order_of(session, food_order_id)
    name = restaurant_of(session, order.restaurant_id).name
    lines = [
        LineItem(
            id=row.id,
            dish=dish_of(session, row.dish_id).name,
            restaurant=name,
            quantity=row.quantity,
            choice=row.choice or None,
            price=row.price * row.quantity,
            refunded=row.refunded or None,
        )
        for row in session.table(FoodOrderLine).where(order_id=order.id)
    ]
    lines.sort(key=lambda line: (line.dish, line.id))
    tip = order.tip if order.tip.minor else None
    return OrderDetails(order.id, order_status(session, order), lines, order.total, tip, order.stars or None)


@server.tool(read_only=True)
def track_food_order(session: Session, food_order_id: FoodOrderId) -> Tracking:
    """Track an order: its stage, the courier once it is picked up, and when it arrives.

    Args:
        food_order_id: the order, from list_food_orders.
    """
    order = order_of(session, food_order_id)
    status = order_status(session, order)
    if status == "cancelled":
        return Tracking(order.id, status, None, None, None)
    arrives = delivered_at(order)
    left = -(-int((arrives - session.now).total_seconds()) // 60)
    courier = order.courier if session.now >= picked_up_at(order) else None
    return Tracking(order.id, status, courier, arrives, left if left > 0 else None)


@server.tool(destructive=True)
def cancel_food_order(session: Session, food_order_id: FoodOrderId) -> OrderCancelled:
    """Cancel an order for a full refund before the kitchen starts cooking.

    Args:
        food_order_id: the order, from list_food_orders.

    Raises:
        order_cancelled: it is cancelled already.
        already_cooking: the kitchen has begun, or the food is on its way or there.
    """
    order = order_of(session, food_order_id)
    status = order_status(session, order)
    if status == "cancelled":
        raise ToolError(Fault.ORDER_CANCELLED, "The order is cancelled already and has been refunded in full.")
    if status not in ("scheduled", "placed", "accepted"):
        raise ToolError(
            Fault.ALREADY_COOKING,
            f"The order is {status} and can't be cancelled; refund_missing_dish helps if a dish doesn't come.",
        )
    session.table(FoodOrder).put(replace(order, cancelled=True))
    return OrderCancelled(order.id, "cancelled", order.total + order.tip)


@server.tool()
def tip_courier(session: Session, food_order_id: FoodOrderId, amount: Amount) -> TipReceipt:
    """Tip an order's courier, once, until two hours after delivery.

    Args:
        food_order_id: the order, from list_food_orders.
        amount: how much, in the order's currency.

    Raises:
        order_cancelled: no courier rode.
        already_tipped: a tip has been given.
        tip_closed: the delivery was more than two hours ago.
        tip_too_large: the tip is more than the order.
    """
    order = order_of(session, food_order_id)
    if order.cancelled:
        raise ToolError(Fault.ORDER_CANCELLED, "The order was cancelled, so there is no courier to tip.")
    if order.tip.minor:
        raise ToolError(Fault.ALREADY_TIPPED, f"The courier has a tip of {order.tip} for this order already.")
    closes = delivered_at(order) + TIP_WINDOW
    if session.now > closes:
        raise ToolError(Fault.TIP_CLOSED, f"Tips for this order were taken until {closes:%Y-%m-%d %H:%M} UTC.")
    tip = Money.of(amount, order.total.currency)
    if tip > order.total:
        raise ToolError(Fault.TIP_TOO_LARGE, f"A tip is at most the order's total of {order.total}.")
    session.table(FoodOrder).put(replace(order, tip=tip))
    return TipReceipt(order.id, tip)


@server.tool()
def refund_missing_dish(session: Session, food_order_line_id: FoodOrderLineId) -> DishRefund:
    """Get money back for a dish that was missing from a delivered order, within 24 hours.

    Args:
        food_order_line_id: the dish in the order, from get_food_order.

    Raises:
        order_cancelled: the order was cancelled.
        not_delivered: the order hasn't arrived.
        already_refunded: the dish has been refunded.
        refund_window_closed: it was delivered more than 24 hours ago.
    """
    line = session.table(FoodOrderLine).require(food_order_line_id, "get_food_order shows the valid ids.")
    order = order_of(session, line.order_id)
    check_delivered(session, order)
    name = dish_of(session, line.dish_id).name
    if line.refunded:
        raise ToolError(Fault.ALREADY_REFUNDED, f"{name} of this order has been refunded already.")
    closes = delivered_at(order) + REFUND_WINDOW
    if session.now > closes:
        raise ToolError(
            Fault.REFUND_WINDOW_CLOSED, f"Missing dishes could be reported until {closes:%Y-%m-%d %H:%M} UTC."
        )
    session.table(FoodOrderLine).put(replace(line, refunded=True))
    paid = line.price * line.quantity
    dishes = session.table(FoodOrderLine).where(order_id=order.id)
    full = sum((row.price * row.quantity for row in dishes), Money(0, paid.currency))
    return DishRefund(line.id, name, paid - order.discount.share(paid.minor, full.minor))


@server.tool()
def rate_food_order(
    session: Session, food_order_id: FoodOrderId, stars: Annotated[int, Field(ge=1, le=5)]
) -> OrderRating:
    """Rate a delivered order with one to five stars, once, within 14 days.

    Args:
        food_order_id: the order, from list_food_orders.
        stars: from 1, bad, to 5, excellent.

    Raises:
        order_cancelled: the order was cancelled.
        not_delivered: the order hasn't arrived.
        already_rated: it has stars.
        rating_closed: it was delivered more than 14 days ago.
    """
    order = order_of(session, food_order_id)
    check_delivered(session, order)
    if order.stars:
        raise ToolError(Fault.ALREADY_RATED, f"The order has {order.stars} stars already; ratings can't be changed.")
    closes = delivered_at(order) + RATING_WINDOW
    if session.now > closes:
        raise ToolError(Fault.RATING_CLOSED, f"The order could be rated until {closes:%Y-%m-%d}.")
    session.table(FoodOrder).put(replace(order, stars=stars))
    return OrderRating(order.id, stars)


@server.tool()
def reorder_food(session: Session, food_order_id: FoodOrderId, cart: WhichCart = "current") -> Reordered:
    """Put the dishes of an earlier order into the cart again; place_food_order then orders them.

    Sold-out dishes are left out. A new cart throws away what the current one holds.

    Args:
        food_order_id: the earlier order, from list_food_orders.
        cart: add to the current cart or start a new one.

    Raises:
        nothing_to_reorder: every dish is sold out.
        other_restaurant_in_cart: the cart holds another restaurant's dishes.
        too_many_portions: the cart would hold more than 20.
    """
    order = order_of(session, food_order_id)
    restaurant = restaurant_of(session, order.restaurant_id)
    added, missing = [], []
    start_cart(session, restaurant, cart)
    for line in session.table(FoodOrderLine).where(order_id=order.id):
        dish = dish_of(session, line.dish_id)
        if dish.sold_out:
            missing.append(dish.name)
            continue
        add_portions(session, dish.id, line.choice, line.quantity)
        added.append(f"{line.quantity} {dish.name}")
    if not added:
        raise ToolError(
            Fault.NOTHING_TO_REORDER, f"All of it is sold out; list_menu_dishes shows what {restaurant.name} has."
        )
    return Reordered(restaurant.name, added, missing or None, subtotal_of(session))
