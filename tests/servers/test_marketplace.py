"""The marketplace: each of its error codes is reached, and a thing is sold only once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from servers.marketplace.model import Bid, Fault, Listing, Offer, Sale, Watch
from servers.marketplace.rules import auction_at, increment, listing_state, me, offer_state, sale_of
from tests.servers.play import Play

NEW = {"title": "Silver Trumpet", "category": "instruments", "condition": "good", "kind": "fixed", "price": 120}


def listing(play: Play, own: bool = False, kind: str = "fixed", bids: bool = False, **columns: object) -> Listing:
    """The open listing of this kind that closes last."""
    member, fitting = me(play.session), []
    for row in play.rows(Listing):
        count = auction_at(play.session, row, play.session.now).bids
        named = all(getattr(row, name) == value for name, value in columns.items())
        alike = (row.seller == member, row.kind, count > 0) == (own, kind, bids)
        if alike and named and listing_state(play.session, row) == "open":
            fitting.append(row)
    return max(fitting, key=lambda row: row.ends_at)


def untouched(play: Play) -> Listing:
    """An open listing of somebody else that takes offers and got none from the member."""
    mine = {row.listing_id for row in play.rows(Offer) if row.buyer == me(play.session)}
    fitting = [
        row
        for row in play.rows(Listing)
        if row.takes_offers and row.seller != me(play.session) and row.id not in mine
        if listing_state(play.session, row) == "open"
    ]
    return max(fitting, key=lambda row: row.ends_at)


def closed(play: Play) -> Listing:
    return next(row for row in play.rows(Listing) if listing_state(play.session, row) != "open")


def offer(play: Play, direction: str, status: str) -> Any:
    return play.ok("list_listing_offers", direction=direction, status=status, limit=50)["items"][0]


def own_listing(play: Play) -> None:
    play.fails("own_listing", "buy_listing_now", listing_id=listing(play, own=True).id)
    auction = listing(play, own=True, kind="auction", bids=True)
    play.fails("own_listing", "place_auction_bid", listing_id=auction.id, max_amount=500)


def not_own_listing(play: Play) -> None:
    play.fails("not_own_listing", "end_marketplace_listing", listing_id=listing(play).id)


def listing_closed(play: Play) -> None:
    play.fails("listing_closed", "buy_listing_now", listing_id=closed(play).id)
    soon = min((row for row in play.rows(Listing) if row.ends_at > play.session.now), key=lambda row: row.ends_at)
    play.wait(seconds=(soon.ends_at - play.session.now).total_seconds())
    play.fails("listing_closed", "watch_marketplace_listing", listing_id=soon.id)


def not_an_auction(play: Play) -> None:
    play.fails("not_an_auction", "place_auction_bid", listing_id=listing(play).id, max_amount=500)


def bid_too_low(play: Play) -> None:
    auction = listing(play, kind="auction", bids=True)
    play.fails("bid_too_low", "place_auction_bid", listing_id=auction.id, max_amount=1)
    play.ok("place_auction_bid", listing_id=auction.id, max_amount=900)
    assert "910" in play.fails("bid_too_low", "place_auction_bid", listing_id=auction.id, max_amount=905)


def buy_now_not_available(play: Play) -> None:
    auction = listing(play, kind="auction", bids=True)
    play.fails("buy_now_not_available", "buy_listing_now", listing_id=auction.id)


def offers_not_accepted(play: Play) -> None:
    auction = listing(play, kind="auction", bids=True)
    play.fails("offers_not_accepted", "make_listing_offer", listing_id=auction.id, amount=50)


def offer_pending(play: Play) -> None:
    arguments = {"listing_id": untouched(play).id, "amount": 80}
    play.ok("make_listing_offer", **arguments)
    play.fails("offer_pending", "make_listing_offer", **arguments)


def offer_not_below_price(play: Play) -> None:
    target = untouched(play)
    price = target.price.minor / 100
    play.fails("offer_not_below_price", "make_listing_offer", listing_id=target.id, amount=price)


def offer_too_low(play: Play) -> None:
    play.fails("offer_too_low", "make_listing_offer", listing_id=untouched(play).id, amount=2)


def offer_limit_reached(play: Play) -> None:
    arguments = {"listing_id": untouched(play).id, "amount": 40}
    for _ in range(3):
        assert play.ok("make_listing_offer", **arguments)["status"] == "pending"
        play.wait(hours=9)
    play.fails("offer_limit_reached", "make_listing_offer", **arguments)


def offer_expired(play: Play) -> None:
    late = offer(play, "received", "pending")["id"]
    play.wait(hours=49)
    play.fails("offer_expired", "answer_listing_offer", offer_id=late, decision="decline")


def offer_settled(play: Play) -> None:
    arguments = {"offer_id": offer(play, "received", "pending")["id"], "decision": "decline"}
    play.ok("answer_listing_offer", **arguments)
    play.fails("offer_settled", "answer_listing_offer", **arguments)


def offer_awaits_other_side(play: Play) -> None:
    made = play.ok("make_listing_offer", listing_id=untouched(play).id, amount=80)
    play.fails("offer_awaits_other_side", "answer_listing_offer", offer_id=made["id"], decision="accept")


def counter_amount_mismatch(play: Play) -> None:
    received = offer(play, "received", "pending")["id"]
    play.fails("counter_amount_mismatch", "answer_listing_offer", offer_id=received, decision="counter")


def counter_out_of_range(play: Play) -> None:
    arguments = {"offer_id": offer(play, "received", "pending")["id"], "decision": "counter"}
    play.fails("counter_out_of_range", "answer_listing_offer", **arguments, counter_amount=900)


def duplicate_listing(play: Play) -> None:
    play.ok("create_marketplace_listing", **NEW)
    play.fails("duplicate_listing", "create_marketplace_listing", **{**NEW, "title": "silver trumpet"})


def listing_limit_reached(play: Play) -> None:
    open_now = play.ok("search_marketplace_listings", scope="selling")["total"]
    for number in range(20 - open_now):
        play.ok("create_marketplace_listing", **{**NEW, "title": f"Trumpet {number}"})
    play.fails("listing_limit_reached", "create_marketplace_listing", **NEW)


def listing_has_bids(play: Play) -> None:
    auction = listing(play, own=True, kind="auction", bids=True)
    play.fails("listing_has_bids", "edit_marketplace_listing", listing_id=auction.id, price=5)
    play.fails("listing_has_bids", "end_marketplace_listing", listing_id=auction.id)


def offer_unanswered(play: Play) -> None:
    own = {row.id for row in play.rows(Listing) if row.seller == me(play.session)}
    waiting = [o for o in play.rows(Offer) if o.listing_id in own and offer_state(play.session, o)[0] == "pending"]
    arguments = {"listing_id": waiting[0].listing_id, "price": 5}
    play.fails("offer_unanswered", "edit_marketplace_listing", **arguments)
    for offer in waiting:
        if offer.listing_id == arguments["listing_id"]:
            play.ok("answer_listing_offer", offer_id=offer.id, decision="decline")
    play.ok("edit_marketplace_listing", **arguments)


def nothing_to_change(play: Play) -> None:
    play.fails("nothing_to_change", "edit_marketplace_listing", listing_id=listing(play, own=True).id)


def deal_not_completed(play: Play) -> None:
    deal = play.ok("buy_listing_now", listing_id=listing(play).id)["deal_id"]
    play.fails("deal_not_completed", "rate_marketplace_deal", deal_id=deal, stars=5)
    play.wait(days=5)
    play.ok("rate_marketplace_deal", deal_id=deal, stars=5)


def already_rated(play: Play) -> None:
    shown = play.ok("list_marketplace_deals", limit=50)["items"]
    rated = next(deal["id"] for deal in shown if deal["status"] == "rated")
    play.fails("already_rated", "rate_marketplace_deal", deal_id=rated, stars=1)


def rating_window_closed(play: Play) -> None:
    shown = play.ok("list_marketplace_deals", limit=50, offset=30)["items"]
    old = [deal["id"] for deal in shown if deal["status"] == "completed"][-1]
    play.fails("rating_window_closed", "rate_marketplace_deal", deal_id=old, stars=4)


def contact_details_not_allowed(play: Play) -> None:
    arguments = {"listing_id": listing(play).id, "text": "Call me at +1 555 010 0199"}
    play.fails("contact_details_not_allowed", "message_listing_seller", **arguments)


def too_many_unanswered(play: Play) -> None:
    arguments = {"listing_id": listing(play).id, "text": "How old is it?"}
    for _ in range(2):
        play.ok("message_listing_seller", **arguments)
    play.fails("too_many_unanswered", "message_listing_seller", **arguments)
    play.wait(hours=6)
    play.ok("message_listing_seller", **arguments)


def watch_list_full(play: Play) -> None:
    rows = [row for row in play.rows(Listing) if row.seller != me(play.session)]
    watching = {row.id for row in play.rows(Watch)}
    rows = [row for row in rows if row.id not in watching and listing_state(play.session, row) == "open"]
    watched = 0
    while watched < 15:
        watched = play.ok("watch_marketplace_listing", listing_id=rows.pop().id)["watched"]
    play.fails("watch_list_full", "watch_marketplace_listing", listing_id=rows[0].id)


FAULTS: dict[str, Callable[[Play], None]] = {
    name: scenario for name, scenario in globals().items() if name in set(Fault)
}


@pytest.mark.parametrize("fault", sorted(Fault))
def test_fault_is_reached(fault: str) -> None:
    FAULTS[fault](Play("marketplace"))


def test_a_leader_pays_one_step_above_the_second_highest() -> None:
    play = Play("marketplace")
    auction = listing(play, kind="auction", bids=True, reserve=None)
    before = auction_at(play.session, auction, play.session.now)
    bid = play.ok("place_auction_bid", listing_id=auction.id, max_amount=900)
    assert bid["standing"] == "leading"
    assert bid["price"] == str(before.leader_most + increment(before.leader_most))
    shown = play.ok("search_marketplace_listings", scope="bidding", limit=50)["items"]
    assert next(row["standing"] for row in shown if row["id"] == auction.id) == "leading"


def test_a_rival_outbids_by_the_clock() -> None:
    play = Play("marketplace")
    late = [row for row in play.rows(Bid) if row.placed_at > play.session.now]
    rival, auction = max(
        ((row, next(x for x in play.rows(Listing) if x.id == row.listing_id)) for row in late),
        key=lambda pair: pair[0].most.minor - auction_at(play.session, pair[1], play.session.now).least.minor,
    )
    least = auction_at(play.session, auction, play.session.now).leader_most
    if auction.seller != me(play.session) and rival.most > least + increment(least) * 2:
        play.ok("place_auction_bid", listing_id=auction.id, max_amount=(least + increment(least)).minor / 100)
    play.wait(seconds=(rival.placed_at - play.session.now).total_seconds())
    assert auction_at(play.session, auction, play.session.now).leader == rival.bidder


def test_an_auction_won_becomes_a_deal() -> None:
    play = Play("marketplace")
    auction = listing(play, kind="auction", bids=True)
    play.ok("place_auction_bid", listing_id=auction.id, max_amount=5000)
    play.wait(seconds=(auction.ends_at - play.session.now + timedelta(minutes=1)).total_seconds())
    deals = play.ok("list_marketplace_deals", query=auction.title)["items"]
    assert [(deal["role"], deal["status"]) for deal in deals] == [("buyer", "on its way")]


def test_a_counter_offer_is_answered_by_the_clock() -> None:
    play = Play("marketplace")
    waiting = [row["id"] for row in play.ok("list_listing_offers", status="pending", limit=50)["items"]]
    received = next(row for row in play.rows(Offer) if row.id in waiting and row.buyer != me(play.session))
    middle = (received.amount.minor // 100) + 1
    arguments = {"offer_id": received.id, "decision": "counter", "counter_amount": middle}
    assert play.ok("answer_listing_offer", **arguments)["status"] == "countered"
    play.wait(hours=7)
    row = next(row for row in play.rows(Offer) if row.id == received.id)
    assert offer_state(play.session, row)[0] == ("accepted" if middle * 100 <= received.limit.minor else "declined")


def test_nothing_is_sold_twice() -> None:
    play = Play("marketplace")
    received = offer(play, "received", "pending")["id"]
    accepted = next(row for row in play.rows(Offer) if row.id == received)
    play.ok("answer_listing_offer", offer_id=received, decision="accept")
    others = [row for row in play.rows(Offer) if row.listing_id == accepted.listing_id and row.id != received]
    assert all(offer_state(play.session, row)[0] in ("declined", "expired") for row in others)
    play.fails("listing_closed", "edit_marketplace_listing", listing_id=accepted.listing_id, price=5)
    play.wait(days=12)
    for row in play.rows(Listing):
        assert len([sale for sale in play.rows(Sale) if sale.listing_id == row.id]) <= 1
        sold = sale_of(play.session, row)
        winners = [o.id for o in play.rows(Offer) if o.listing_id == row.id]
        winners = [key for key in winners if offer_state(play.session, _offer(play, key))[0] == "accepted"]
        assert winners == ([sold.offer_id] if sold and sold.offer_id else [])


def test_an_offer_agreed_on_after_the_end_makes_no_deal() -> None:
    play = Play("marketplace")
    own = {row.id: row for row in play.rows(Listing) if row.seller == me(play.session)}
    received = next(
        row
        for row in play.rows(Offer)
        if row.listing_id in own and row.amount < row.limit and offer_state(play.session, row)[0] == "pending"
    )
    target = own[received.listing_id]
    for other in play.rows(Offer):
        if other.listing_id == target.id and offer_state(play.session, other)[0] == "pending":
            answer = {"decision": "decline"}
            if other.id == received.id:
                answer = {"decision": "counter", "counter_amount": received.limit.minor // 100}
            play.ok("answer_listing_offer", offer_id=other.id, **answer)
    assert "wait" in play.fails("offer_unanswered", "edit_marketplace_listing", listing_id=target.id, price=5)
    play.ok("end_marketplace_listing", listing_id=target.id)
    play.wait(hours=7)
    assert offer_state(play.session, _offer(play, received.id))[0] == "expired"
    assert play.ok("list_marketplace_deals", query=target.title)["total"] == 0


def test_a_buy_now_price_is_shown_until_somebody_bids() -> None:
    play = Play("marketplace")
    quick = [row for row in play.rows(Listing) if row.buy_now is not None]
    assert all(row.reserve is None or row.reserve < row.buy_now for row in quick)
    auction = next(row for row in quick if row.seller != me(play.session))
    search = {"query": auction.title, "limit": 1}
    assert play.ok("search_marketplace_listings", **search)["items"][0]["buy_now"] == str(auction.buy_now)
    play.ok("place_auction_bid", listing_id=auction.id, max_amount=auction.price.minor / 100)
    assert "buy_now" not in play.ok("search_marketplace_listings", **search)["items"][0]
    play.fails("buy_now_not_available", "buy_listing_now", listing_id=auction.id)


def _offer(play: Play, key: str) -> Offer:
    return next(row for row in play.rows(Offer) if row.id == key)
