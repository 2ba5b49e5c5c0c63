"""Finding products, and the wish list."""

from __future__ import annotations

from dataclasses import replace

from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.types import Amount, Money
from servers.shopping.model import Fault, Product, ProductCategory, ProductId, Review, Variant, Wish, WishId
from servers.shopping.rules import available, price_of, product_of, rating_of
from servers.shopping.server import server
from servers.shopping.views import ProductDetails, ProductSummary, VariantView, WishView


@server.tool(read_only=True)
def search_products(
    session: Session,
    query: Query = "",
    category: ProductCategory | None = None,
    max_price: Amount | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[ProductSummary]:
    """Search the shop's products by name, category or price, and get their ids.

    Use it first whenever a request names a product. Ordered by name.

    Args:
        query: words of the product's name or brand.
        category: only products of this category.
        max_price: only products that cost at most this, in their own currency.
        limit: most products to return.
        offset: how many to skip.
    """
    rows = search(session.table(Product).all(), query, lambda product: f"{product.name} {product.brand}")
    priced = [(p, price_of(session, p.id)) for p in rows if category is None or p.category == category]
    if max_price is not None:
        priced = [(p, price) for p, price in priced if price.minor <= max_price * 100]
    priced.sort(key=lambda pair: (pair[0].name, pair[0].id))
    shown = paginate(priced, limit, offset)
    items = [ProductSummary(p.id, p.name, p.category, price, rating_of(session, p.id)) for p, price in shown.items]
    return Page(items, shown.total, shown.next_offset)


@server.tool(read_only=True)
def get_product(session: Session, product_id: ProductId) -> ProductDetails:
    """Show one product with its rating and its variants: ids, prices and pieces available.

    Call it before add_to_shopping_cart, which needs a variant id.

    Args:
        product_id: the product, from search_products.
    """
    product = product_of(session, product_id)
    reviews = session.table(Review).where(product_id=product_id)
    reviews.sort(key=lambda review: (review.written_at, review.id))
    variants = session.table(Variant).where(product_id=product_id)
    variants.sort(key=lambda variant: (variant.name, variant.id))
    return ProductDetails(
        id=product.id,
        name=product.name,
        rating=rating_of(session, product_id),
        reviews=len(reviews),
        latest_review=reviews[-1].text if reviews else None,
        final_sale=product.final_sale,
        max_per_order=product.max_per_order,
        variants=[VariantView(v.id, v.name, v.price, available(session, v)) for v in variants],
    )


@server.tool(read_only=True)
def list_wish_list(session: Session, query: Query = "", limit: Limit = 5, offset: Offset = 0) -> Page[WishView]:
    """List the customer's wish list with today's prices and price alerts. Newest first.

    Args:
        query: words of the product's name.
        limit: most wishes to return.
        offset: how many to skip.
    """
    rows = search(session.table(Wish).all(), query, lambda wish: product_of(session, wish.product_id).name)
    rows.sort(key=lambda wish: (-wish.added_on.toordinal(), wish.id))
    return paginate([_view(session, wish) for wish in rows], limit, offset)


@server.tool()
def add_to_wish_list(session: Session, product_id: ProductId) -> WishView:
    """Put a product on the wish list, to buy it later or to watch its price.

    Args:
        product_id: the product, from search_products.

    Raises:
        already_on_wish_list: it is there.
    """
    product = product_of(session, product_id)
    for wish in session.table(Wish).where(product_id=product_id):
        raise ToolError(
            Fault.ALREADY_ON_WISH_LIST,
            f"{product.name} is on the wish list since {wish.added_on} ({wish.id}); set_price_alert takes that id.",
        )
    wish = Wish(session.new_id("SWSH"), product_id, None, session.now.date())
    return _view(session, session.table(Wish).add(wish))


@server.tool(idempotent=True)
def set_price_alert(session: Session, wish_id: WishId, target_price: Amount) -> WishView:
    """Tell the customer when a product on the wish list gets as cheap as they want.

    Args:
        wish_id: the wish, from list_wish_list.
        target_price: the wanted price in the product's currency, below today's price.

    Raises:
        alert_not_below_price: it costs no more than that already.
    """
    wish = session.table(Wish).require(wish_id, "list_wish_list shows the valid ids.")
    price = price_of(session, wish.product_id)
    target = Money.of(target_price, price.currency)
    if target >= price:
        raise ToolError(Fault.ALERT_NOT_BELOW_PRICE, f"It costs {price} today; choose a lower price for the alert.")
    return _view(session, session.table(Wish).put(replace(wish, alert_at=target)))


def _view(session: Session, wish: Wish) -> WishView:
    price = price_of(session, wish.product_id)
    reached = wish.alert_at is not None and price <= wish.alert_at
    return WishView(wish.id, product_of(session, wish.product_id).name, price, wish.alert_at, reached)
