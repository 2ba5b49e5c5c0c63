"""Past orders: status, cancellation, returns and reviews."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Annotated

from pydantic import Field

from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.types import Money
from servers.shared.people import user
from servers.shopping.model import (
    Fault,
    Order,
    OrderId,
    OrderLine,
    OrderLineId,
    OrderStatus,
    RefundTarget,
    ReturnReason,
    Review,
    Variant,
    Wallet,
)
from servers.shopping.rules import (
    RETURN_WINDOW,
    add_credit,
    delivered_line,
    order_of,
    product_of,
    rating_of,
    status_of,
    variant_of,
    wallet_of,
)
from servers.shopping.server import server
from servers.shopping.views import (
    Cancellation,
    OrderDetails,
    OrderItem,
    OrderLineView,
    OrderSummary,
    ReturnView,
    ReviewView,
)

REFUND_TIME = timedelta(days=5)


@server.tool(read_only=True)
def list_shop_orders(
    session: Session,
    query: Query = "",
    status: OrderStatus | None = None,
    limit: Limit = 3,
    offset: Offset = 0,
) -> Page[OrderSummary]:
    """List the customer's shop orders with ids, items, totals and status, newest first.

    Use it first whenever a request names something that was bought.

    Args:
        query: words of a product in the order, the day it was placed, or its total.
        status: only orders in this status.
        limit: most orders to return.
        offset: how many to skip.
    """
    rows = search(session.table(Order).all(), query, lambda order: _text(session, order))
    rows = [row for row in rows if status is None or status_of(session, row) == status]
    rows.sort(key=lambda row: (-row.placed_at.timestamp(), row.id))
    page = paginate(rows, limit, offset)
    return Page([_summary(session, row) for row in page.items], page.total, page.next_offset)


@server.tool(read_only=True)
def get_shop_order(session: Session, order_id: OrderId) -> OrderDetails:
    """Show one shop order: status, arrival, and its lines with their ids and refunds.

    Args:
        order_id: the order, from list_shop_orders.
    """
    order = order_of(session, order_id)
    lines = sorted(session.table(OrderLine).where(order_id=order_id), key=lambda line: (line.name, line.id))
    return OrderDetails(
        id=order.id,
        status=status_of(session, order),
        placed_on=order.placed_at.date(),
        arrives_on=order.arrives_at.date(),
        address=order.address,
        paid_with=order.paid_with,
        total=order.total,
        lines=[OrderLineView(row.id, row.name, row.quantity, row.price, _refund(session, row)) for row in lines],
    )


@server.tool(destructive=True)
def cancel_shop_order(session: Session, order_id: OrderId) -> Cancellation:
    """Cancel a shop order that has not left the warehouse; refund it and take its loyalty points back.

    Args:
        order_id: the order, from list_shop_orders.

    Raises:
        order_already_shipped: it left; return_ordered_item helps after delivery.
        order_cancelled: it was cancelled before.
    """
    order = order_of(session, order_id)
    status = status_of(session, order)
    if status == "cancelled":
        raise ToolError(Fault.ORDER_CANCELLED, f"Order {order.id} was cancelled already.")
    if status != "processing":
        raise ToolError(
            Fault.ORDER_ALREADY_SHIPPED,
            f"It left on {order.ships_at:%Y-%m-%d} and is {status}; return_ordered_item works once it is delivered.",
        )
    for line in session.table(OrderLine).where(order_id=order_id):
        variant = variant_of(session, line.variant_id)
        session.table(Variant).put(replace(variant, stock=variant.stock + line.quantity))
    add_credit(session, order.credit_used)
    wallet = wallet_of(session)
    points = wallet.points - order.points
    session.table(Wallet).put(replace(wallet, points=points))
    session.table(Order).put(replace(order, cancelled=True))
    return Cancellation(order.id, "cancelled", order.total - order.credit_used, order.credit_used, points)


@server.tool()
def return_ordered_item(
    session: Session,
    order_line_id: OrderLineId,
    reason: ReturnReason,
    quantity: Annotated[int, Field(ge=1, le=20)] = 1,
    refund_to: RefundTarget = "card",
) -> ReturnView:
    """Return a delivered item within 30 days and get its price back.

    Args:
        order_line_id: the item, from list_shop_orders.
        reason: why it goes back.
        quantity: how many pieces.
        refund_to: the card, within five days, or store credit, at once.

    Raises:
        not_delivered_yet: it has not arrived.
        order_cancelled: it was never sent.
        return_window_closed: it arrived more than 30 days ago.
        final_sale: it comes back only when damaged or faulty.
        already_returned: fewer pieces are left to return.
    """
    line, order = delivered_line(session, order_line_id)
    if session.now > order.arrives_at + RETURN_WINDOW:
        last = order.arrives_at + RETURN_WINDOW
        raise ToolError(Fault.RETURN_WINDOW_CLOSED, f"{line.name} could be returned until {last:%Y-%m-%d}.")
    left = line.quantity - line.returned
    if quantity > left:
        raise ToolError(
            Fault.ALREADY_RETURNED,
            f"{line.returned} of {line.quantity} of {line.name} went back already, so {left} can be returned.",
        )
    product = product_of(session, variant_of(session, line.variant_id).product_id)
    if product.final_sale and reason not in ("damaged", "faulty"):
        raise ToolError(Fault.FINAL_SALE, f"{product.name} is a final sale; it goes back only if damaged or faulty.")
    refund = line.price * quantity
    due = session.now
    if refund_to == "credit":
        add_credit(session, refund)
    else:
        due = session.now + REFUND_TIME
    session.table(OrderLine).put(replace(line, returned=line.returned + quantity, refund_due=due))
    return ReturnView(line.id, quantity, refund, refund_to, due.date())


@server.tool()
def review_ordered_item(
    session: Session,
    order_line_id: OrderLineId,
    stars: Annotated[int, Field(ge=1, le=5)],
    text: Annotated[str, Field(min_length=5, max_length=300)],
) -> ReviewView:
    """Publish the customer's review of an item that they bought and received.

    Args:
        order_line_id: the item, from list_shop_orders.
        stars: one to five.
        text: the review in the customer's words.

    Raises:
        not_delivered_yet: it has not arrived.
        order_cancelled: it was never sent.
        already_reviewed: they reviewed it before.
    """
    line, _ = delivered_line(session, order_line_id)
    if line.reviewed:
        raise ToolError(Fault.ALREADY_REVIEWED, f"{line.name} has the customer's review already; one each is allowed.")
    product_id = variant_of(session, line.variant_id).product_id
    author = user(session.world.seed).name
    session.table(Review).add(Review(session.new_id("SREV"), product_id, author, stars, text, session.now))
    session.table(OrderLine).put(replace(line, reviewed=True))
    return ReviewView(product_of(session, product_id).name, stars, rating_of(session, product_id) or float(stars))


def _summary(session: Session, order: Order) -> OrderSummary:
    lines = sorted(session.table(OrderLine).where(order_id=order.id), key=lambda line: (line.name, line.id))
    items = [OrderItem(line.id, line.name) for line in lines]
    return OrderSummary(order.id, order.placed_at.date(), order.total, status_of(session, order), items)


def _text(session: Session, order: Order) -> str:
    names = " ".join(line.name for line in session.table(OrderLine).where(order_id=order.id))
    return f"{names} {order.placed_at:%Y-%m-%d} {order.total}"


def _refund(session: Session, line: OrderLine) -> str | None:
    if not line.returned or line.refund_due is None:
        return None
    money: Money = line.price * line.returned
    return f"{money} refunded" if line.refund_due <= session.now else f"{money} due {line.refund_due:%Y-%m-%d}"
