"""The shop's initial world: a catalogue, and one customer's cart, orders, wishes and wallet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from servers.kernel.dice import Dice
from servers.kernel.server import SeedBuilder
from servers.kernel.session import EPOCH
from servers.kernel.store import Record
from servers.kernel.types import Money
from servers.shared.people import people
from servers.shared.places import address
from servers.shopping.model import (
    Address,
    CartLine,
    Coupon,
    GiftCard,
    Hold,
    Order,
    OrderLine,
    PaymentMethod,
    Product,
    ProductCategory,
    Review,
    ShippingOption,
    Variant,
    Wallet,
    Wish,
)

WALLET_ID = "WALLET"
_GOODS: dict[ProductCategory, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "shoes": (
        ("Trail Shoe", "City Sneaker", "Ankle Boot", "Canvas Slip-On", "Running Shoe", "Leather Loafer"),
        ("size 38", "size 41", "size 44"),
    ),
    "clothing": (
        ("Rain Jacket", "Wool Sweater", "Linen Shirt", "Denim Jeans", "Fleece Vest", "Cotton Hoodie"),
        ("small", "medium", "large"),
    ),
    "kitchen": (
        ("Chef's Knife", "Cast Iron Pan", "Espresso Maker", "Mixing Bowl Set", "Electric Kettle", "Bread Tin"),
        ("steel", "black", "red"),
    ),
    "electronics": (
        ("Desk Lamp", "Wireless Earbuds", "Power Bank", "Mechanical Keyboard", "Webcam", "Smart Plug"),
        ("white", "graphite", "blue"),
    ),
    "outdoor": (
        ("Two-Person Tent", "Sleeping Bag", "Trekking Poles", "Camp Stove", "Dry Bag", "Headlamp"),
        ("green", "orange", "grey"),
    ),
    "books": (
        ("Sourdough at Home", "Alpine Walks", "History of Maps", "Quiet Garden", "Night Trains", "Learn Chess"),
        ("hardcover", "paperback"),
    ),
}
_PRICES: dict[ProductCategory, tuple[int, int]] = {
    "shoes": (45, 160),
    "clothing": (25, 140),
    "kitchen": (15, 95),
    "electronics": (18, 120),
    "outdoor": (20, 180),
    "books": (9, 38),
}
"""Lowest and highest price of each category, in major units."""
_BRANDS = ("Norrland", "Kestrel", "Oakline", "Maruko", "Fjell", "Bluewick", "Tandem", "Harrow")
_REMARKS = ("Does what it should.", "Better than expected.", "Arrived late but fine.", "Would buy again.", "Too small.")
_PLACES = (
    ("Home", "Chicago", "United States", "60614"),
    ("Office", "Chicago", "United States", "60601"),
    ("Parents", "Austin", "United States", "78704"),
    ("Lisbon flat", "Lisbon", "Portugal", "1200-109"),
    ("Berlin studio", "Berlin", "Germany", "10119"),
    ("Cabin", "Stockholm", "Sweden", "111 29"),
)
_OPTIONS = (
    ("Standard", ("United States", "United Kingdom", "Germany", "Portugal", "Sweden"), 490, 5),
    ("Express", ("United States", "United Kingdom", "Germany", "Portugal"), 1290, 2),
    ("Economy", ("United States", "Germany", "Portugal", "Sweden"), 250, 9),
    ("Next Day", ("United States",), 1990, 1),
)
_AGES = (1, 5, 10, 15, 20, 40, 70, 190, 230, 280, 340, 410, 470, 560, 640, 700, 900, 1100, 1400, 1900, 2600, 3300)
"""Hours since each order was placed; the youngest have not left the warehouse."""


def build(make: SeedBuilder) -> Iterator[Record]:
    """Write the catalogue first, then what the customer has."""
    dice = make.dice
    products: list[Product] = []
    variants: list[Variant] = []
    for category, (names, forms) in _GOODS.items():
        for name in names:
            products.append(_product(make, dice, category, name))
            variants.extend(_variants(make, dice, products[-1], forms))
    yield from products
    yield from variants
    yield from _reviews(make, dice, products)
    yield from _holds(make, dice, variants)
    yield from _customer(make, dice)
    yield from _cart(make, dice, variants)
    yield from _orders(make, dice, variants, products)
    for product in dice.sample(products, 14):
        price = next(v.price for v in variants if v.product_id == product.id)
        alert = price.share(dice.integer(5, 8), 10) if dice.chance(0.4) else None
        yield Wish(make.new_id("SWSH"), product.id, alert, (EPOCH - timedelta(days=dice.integer(2, 200))).date())


def _product(make: SeedBuilder, dice: Dice, category: ProductCategory, name: str) -> Product:
    brand = dice.choice(_BRANDS)
    return Product(
        id=make.new_id("SPRD"),
        name=name if category == "books" else f"{brand} {name}",
        brand=brand,
        category=category,
        final_sale=dice.chance(0.15),
        max_per_order=dice.choice((3, 5, 10)),
    )


def _variants(make: SeedBuilder, dice: Dice, product: Product, forms: Sequence[str]) -> Iterator[Variant]:
    currency = dice.weighted(("USD", "EUR", "GBP"), (7, 2, 1))
    base = dice.integer(*_PRICES[product.category])
    for form in forms:
        yield Variant(
            id=make.new_id("SVAR"),
            product_id=product.id,
            name=f"{product.name}, {form}",
            price=Money(base * 100 - dice.choice((1, 5, 50)), currency),
            stock=dice.weighted((0, 2, 6, 25), (2, 2, 3, 4)),
        )


def _reviews(make: SeedBuilder, dice: Dice, products: Sequence[Product]) -> Iterator[Review]:
    authors = people(make.seed, 40)[1:]
    for product in products:
        for age, person in enumerate(dice.sample(authors, dice.integer(0, 6)), start=1):
            stars = dice.weighted((1, 2, 3, 4, 5), (1, 1, 2, 4, 4))
            written = EPOCH - timedelta(days=17 * age)
            yield Review(make.new_id("SREV"), product.id, person.name, stars, dice.choice(_REMARKS), written)


def _holds(make: SeedBuilder, dice: Dice, variants: Sequence[Variant]) -> Iterator[Hold]:
    for variant in variants:
        if variant.stock and dice.chance(0.3):
            until = EPOCH + timedelta(minutes=dice.integer(-30, 55))
            yield Hold(make.new_id("SHLD"), variant.id, dice.integer(1, 2), until)


def _customer(make: SeedBuilder, dice: Dice) -> Iterator[Record]:
    for label, city, country, postcode in _PLACES:
        yield Address(make.new_id("SADR"), label, address(dice), city, country, postcode)
    for name, countries, cost, days in _OPTIONS:
        yield ShippingOption(make.new_id("SSHP"), name, countries, cost, days)
    for label, ceiling, expires in (
        ("Everyday Visa", 5000, date(2028, 5, 31)),
        ("Travel Mastercard", 2500, date(2027, 9, 30)),
        ("Family Amex", 8000, date(2029, 1, 31)),
        ("Prepaid Visa", 30, date(2027, 12, 31)),
        ("Old Visa", 3000, date(2025, 12, 31)),
    ):
        cvv, last = f"{dice.integer(100, 999)}", f"{dice.integer(0, 9999):04d}"
        yield PaymentMethod(make.new_id("SPAY"), label, last, expires, ceiling, cvv)
    credit = tuple(Money(dice.integer(0, 40) * 100, currency) for currency in ("USD", "EUR", "GBP"))
    yield Wallet(WALLET_ID, credit, dice.integer(700, 4200), "")
    yield from _coupons()
    for number in range(9):
        code = f"GIFT-{dice.integer(1000, 9999)}-{dice.integer(1000, 9999)}"
        amount = Money(dice.choice((10, 20, 25, 50, 75)) * 100, dice.weighted(("USD", "EUR", "GBP"), (4, 2, 1)))
        until = (EPOCH + timedelta(days=dice.integer(20, 400) if number != 7 else -12)).date()
        yield GiftCard(make.new_id("SGFT"), code, amount, until, number == 8)


def _coupons() -> Iterator[Coupon]:
    for code, percent, minimum, currency, category, until, used in (
        ("SPRING10", 10, 30, "USD", "", date(2026, 4, 30), False),
        ("WELCOME15", 15, 0, "USD", "", date(2026, 12, 31), False),
        ("LOYAL20", 20, 60, "USD", "", date(2026, 3, 31), False),
        ("BIGCART25", 25, 2000, "USD", "", date(2026, 3, 15), False),
        ("EURO12", 12, 40, "EUR", "", date(2026, 5, 31), False),
        ("BOOKWORM", 30, 10, "USD", "books", date(2026, 3, 20), False),
        ("CAMPING8", 8, 0, "USD", "outdoor", date(2026, 6, 30), False),
        ("WINTER30", 30, 50, "USD", "", date(2026, 2, 15), False),
        ("HELLO5", 5, 0, "USD", "", date(2026, 9, 30), True),
    ):
        yield Coupon(code, percent, Money(minimum * 100, currency), category, until, used)


def _cart(make: SeedBuilder, dice: Dice, variants: Sequence[Variant]) -> Iterator[CartLine]:
    fitting = [v for v in variants if v.stock >= 6 and v.price.currency == "USD"]
    for variant in dice.sample(fitting, 4):
        until = EPOCH + timedelta(minutes=dice.integer(35, 58))
        yield CartLine(make.new_id("SCRT"), variant.id, dice.integer(1, 2), until)


def _orders(
    make: SeedBuilder, dice: Dice, variants: Sequence[Variant], products: Sequence[Product]
) -> Iterator[Record]:
    bought = {currency: dice.shuffled([v for v in variants if v.price.currency == currency]) for currency in ("USD",)}
    bought["EUR"] = dice.shuffled([v for v in variants if v.price.currency != "USD"])
    for position, age in enumerate(_AGES):
        pool = bought["EUR" if position % 5 == 4 and bought["EUR"] else "USD"]
        first = pool.pop()
        chosen = [first]
        while pool and len(chosen) < 3 and pool[-1].price.currency == first.price.currency and dice.chance(0.5):
            chosen.append(pool.pop())
        yield from _order(make, dice, chosen, age, cancelled=position % 9 == 2)


def _order(make: SeedBuilder, dice: Dice, chosen: Sequence[Variant], age: int, cancelled: bool) -> Iterator[Record]:
    placed = EPOCH - timedelta(hours=age, minutes=dice.integer(0, 50))
    ships = placed + timedelta(hours=24)
    order_id = make.new_id("SORD")
    currency = chosen[0].price.currency
    total = Money(490, currency)
    arrives = ships + timedelta(days=dice.integer(2, 5))
    for variant in chosen:
        quantity = dice.weighted((1, 2), (3, 1))
        total = total + variant.price * quantity
        returned = quantity if dice.chance(0.1) and arrives < EPOCH and not cancelled else 0
        due = arrives + timedelta(days=9) if returned else None
        reviewed = arrives < EPOCH and dice.chance(0.2)
        yield OrderLine(
            make.new_id("SLIN"), order_id, variant.id, variant.name, quantity, variant.price, returned, due, reviewed
        )
    yield Order(
        id=order_id,
        placed_at=placed,
        ships_at=ships,
        arrives_at=arrives,
        total=total,
        credit_used=Money(0, currency),
        points=total.minor // 100,
        address=dice.choice(("Home", "Office", "Lisbon flat")),
        paid_with=dice.choice(("Everyday Visa", "Travel Mastercard")),
        cancelled=cancelled,
    )
