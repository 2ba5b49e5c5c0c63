"""The marketplace's initial world: open and closed listings, bids, offers and deals around one member."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from servers.kernel.dice import Dice
from servers.kernel.server import SeedBuilder
from servers.kernel.session import EPOCH
from servers.kernel.store import Record
from servers.kernel.types import Money
from servers.marketplace.model import (
    Bid,
    Condition,
    Currency,
    Listing,
    ListingCategory,
    ListingKind,
    Message,
    Offer,
    Rating,
    Sale,
    Watch,
)
from servers.shared.people import people

_GOODS: dict[ListingCategory, tuple[str, ...]] = {
    "cameras": ("Rangefinder Camera", "Film Camera", "Zoom Lens", "Camera Tripod"),
    "bikes": ("Road Bike", "Folding Bike", "Cargo Trailer", "Mountain Bike"),
    "furniture": ("Oak Desk", "Reading Chair", "Bookshelf", "Side Table"),
    "instruments": ("Acoustic Guitar", "Violin", "Digital Piano", "Accordion"),
    "games": ("Chess Set", "Retro Console", "Arcade Stick", "Board Game Lot"),
    "watches": ("Diver Watch", "Pocket Watch", "Chronograph", "Dress Watch"),
}
_STYLES = ("1970s", "Compact", "Walnut", "Blue", "Restored", "Swiss", "Limited", "Classic", "Black", "Hand-made")
_CURRENCIES: tuple[Currency, ...] = ("USD", "EUR", "GBP", "CHF")
_COMMENTS = ("Quick and friendly.", "As described.", "Well packed.", "Slow to answer.")
HOUR = timedelta(hours=1)


def build(make: SeedBuilder) -> Iterator[Record]:
    """Write open listings with their bids and offers, then finished deals."""
    dice = make.dice
    me, *others = [person.username for person in people(make.seed, 40)]
    titles = _titles(dice)
    mine = [_listing(make, dice, titles, me, "fixed" if n < 11 else "auction") for n in range(16)]
    theirs = [_listing(make, dice, titles, dice.choice(others), "fixed" if n < 18 else "auction") for n in range(32)]
    yield from mine
    yield from theirs
    for listing in (*mine[13:], *theirs[18:]):
        if listing.buy_now is None:
            yield from _bids(make, dice, listing, others)
    for listing in dice.sample([row for row in theirs if row.kind == "auction" and row.buy_now is None], 5):
        most = listing.price + Money(dice.integer(5, 60) * 100, listing.price.currency)
        yield Bid(make.new_id("MBID"), listing.id, me, most, EPOCH - dice.integer(1, 40) * HOUR)
    yield from _offers(make, dice, me, others, mine[:11], theirs[:18])
    for listing in dice.sample(theirs, 11):
        yield Watch(listing.id, EPOCH - timedelta(minutes=dice.integer(30, 9000)))
    for listing in dice.sample(theirs, 8):
        yield _message(make, dice, listing)
    for number in range(64):
        yield from _finished(make, dice, titles, me, others, number)


def _titles(dice: Dice) -> list[tuple[ListingCategory, str]]:
    made = [
        (category, f"{style} {thing}") for category, things in _GOODS.items() for thing in things for style in _STYLES
    ]
    return dice.shuffled(made)


def _listing(
    make: SeedBuilder, dice: Dice, titles: list[tuple[ListingCategory, str]], seller: str, kind: ListingKind
) -> Listing:
    category, title = titles.pop()
    currency = dice.weighted(_CURRENCIES, (5, 3, 1, 1))
    low, high = (180, 290) if kind == "fixed" else (10, 140)
    price = Money(dice.integer(low, high) * 100, currency)
    quick = kind == "auction" and dice.chance(0.3)
    condition: Condition = dice.choice(("new", "good", "worn"))
    buy_now = price.share(dice.integer(16, 25), 10) if quick else None
    reserve = price.share(dice.integer(12, 20), 10) if kind == "auction" and dice.chance(0.4) else None
    if buy_now is not None and reserve is not None:
        reserve = min(reserve, buy_now.share(9, 10))
    return Listing(
        id=make.new_id("MLST"),
        title=title,
        category=category,
        condition=condition,
        kind=kind,
        seller=seller,
        price=price,
        buy_now=buy_now,
        reserve=reserve,
        takes_offers=kind == "fixed" and dice.chance(0.9),
        ends_at=EPOCH + timedelta(minutes=dice.integer(180, 13_000)),
        ended=False,
    )


def _bids(make: SeedBuilder, dice: Dice, listing: Listing, others: Sequence[str]) -> Iterator[Bid]:
    """Past bids, and sometimes one that a rival places later."""
    rivals = [name for name in others if name != listing.seller]
    most = listing.price
    count = dice.integer(1, 4)
    for step, rival in enumerate(dice.sample(rivals, count)):
        most = most + Money(dice.integer(1, 20) * 100, listing.price.currency)
        yield Bid(make.new_id("MBID"), listing.id, rival, most, EPOCH - (count - step) * 3 * HOUR)
    if dice.chance(0.5):
        most = most + Money(dice.integer(10, 120) * 100, listing.price.currency)
        late = EPOCH + (listing.ends_at - EPOCH) * dice.integer(2, 9) / 10
        yield Bid(make.new_id("MBID"), listing.id, dice.choice(rivals), most, late.replace(microsecond=0))


def _offers(
    make: SeedBuilder, dice: Dice, me: str, others: Sequence[str], mine: Sequence[Listing], theirs: Sequence[Listing]
) -> Iterator[Offer]:
    for listing in mine:
        for buyer in dice.sample(others, dice.integer(1, 2)):
            age = dice.integer(1, 40) if dice.chance(0.8) else dice.integer(50, 90)
            yield _offer(make, dice, listing, buyer, EPOCH - age * HOUR, (5, 8))
    for listing in dice.sample([row for row in theirs if row.takes_offers], 6):
        yield _offer(make, dice, listing, me, EPOCH - dice.integer(1, 60) * HOUR, (3, 8))


def _offer(
    make: SeedBuilder, dice: Dice, listing: Listing, buyer: str, made_at: datetime, limits: tuple[int, int]
) -> Offer:
    price = listing.price
    return Offer(
        id=make.new_id("MOFR"),
        listing_id=listing.id,
        buyer=buyer,
        amount=Money(dice.integer(60, 110) * 100, price.currency),
        made_at=made_at,
        reply_at=made_at + dice.integer(4, 20) * HOUR,
        limit=Money(price.share(dice.integer(*limits), 10).minor // 100 * 100, price.currency),
        answer="",
        counter=None,
        answered_at=None,
    )


def _message(make: SeedBuilder, dice: Dice, listing: Listing) -> Message:
    sent = EPOCH - dice.integer(3, 90) * HOUR
    answered = sent + (dice.integer(1, 9) if dice.chance(0.5) else 100) * HOUR
    text = dice.choice(("Is it still for sale?", "Do you ship abroad?", "Any scratches?", "Is the box there too?"))
    return Message(make.new_id("MMSG"), listing.id, text, sent, answered)


def _finished(
    make: SeedBuilder,
    dice: Dice,
    titles: list[tuple[ListingCategory, str]],
    me: str,
    others: Sequence[str],
    number: int,
) -> Iterator[Record]:
    """A closed listing; most were sold, the member being the buyer or the seller."""
    other = dice.choice(others)
    seller, buyer = (me, other) if number % 2 else (other, me)
    base = _listing(make, dice, titles, seller, "fixed")
    days = dice.integer(1, 3) if number < 6 else dice.integer(6, 50) if number < 48 else dice.integer(70, 120)
    closed = EPOCH - timedelta(days=days, minutes=dice.integer(0, 600))
    yield Listing(
        base.id,
        base.title,
        base.category,
        base.condition,
        base.kind,
        seller,
        base.price,
        None,
        None,
        base.takes_offers,
        closed,
        ended=number % 8 == 7,
    )
    if number % 8 == 7:
        return
    yield Sale(make.new_id("MSAL"), base.id, "", buyer, base.price, closed - HOUR)
    for author in (me, other):
        if number >= 6 and dice.chance(0.35):
            yield Rating(make.new_id("MRTG"), base.id, author, dice.integer(3, 5), dice.choice(_COMMENTS))
