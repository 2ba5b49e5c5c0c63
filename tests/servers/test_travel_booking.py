"""The travel desk: each of its error codes is reached, no seat is sold twice, and money follows the fare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from servers.travel_booking.model import (
    Departure,
    Fault,
    Flight,
    FlightBooking,
    Hotel,
    HotelStay,
    Itinerary,
    RoomNight,
    RoomType,
    Traveller,
)
from servers.travel_booking.rules import rooms_left, status_of
from servers.travel_booking.seed import seats, takeoff
from tests.servers.play import Play


def departure(play: Play, days: int = 10, state: str = "on_time") -> Departure:
    """The first departure at least so many days ahead with seats in both cabins and no own booking."""
    busy = {(row.flight_number, row.on) for row in play.rows(FlightBooking)}
    earliest = play.session.now.date() + timedelta(days=days)
    return next(
        row
        for row in sorted(play.rows(Departure), key=lambda row: (row.on, row.id))
        if row.on >= earliest
        and row.state == state
        and len(row.taken) < 42
        and sum(seat[0] in "12" and len(seat) == 2 for seat in row.taken) < 8
        and (row.flight_number, row.on) not in busy
    )


def flight(play: Play, number: str) -> Flight:
    return next(row for row in play.rows(Flight) if row.id == number)


def traveller(play: Play, valid: bool = True) -> Traveller:
    limit = play.session.now.date() + timedelta(days=150)
    return next(row for row in play.rows(Traveller) if (row.passport_expires > limit) == valid)


def hold(play: Play, row: Departure | None = None, **changes: object) -> dict[str, object]:
    row = row or departure(play)
    base = {"flight_number": row.flight_number, "on": str(row.on), "fare": "flex", "traveller_id": traveller(play).id}
    return {**base, **changes}


def held(play: Play, fare: str = "flex", row: Departure | None = None) -> str:
    return str(play.ok("hold_flight", **hold(play, row, fare=fare))["id"])


def confirmed(play: Play, fare: str = "flex", row: Departure | None = None) -> str:
    booking = held(play, fare, row)
    play.ok("confirm_flight_booking", flight_booking_id=booking, passport_number=traveller(play).passport_number)
    return booking


def booking(play: Play, booking_id: str) -> FlightBooking:
    return next(row for row in play.rows(FlightBooking) if row.id == booking_id)


def in_state(play: Play, status: str) -> str:
    return next(str(row.id) for row in play.rows(FlightBooking) if status_of(play.session, row) == status)


def unknown_city(play: Play) -> None:
    assert "Lisbon" in play.fails("unknown_city", "search_flights", destination="Atlantis", on="2026-03-10")


def route_not_served(play: Play) -> None:
    play.fails("route_not_served", "search_flights", destination="Rome", origin="rome", on="2026-03-10")


def travel_date_not_allowed(play: Play) -> None:
    play.fails("travel_date_not_allowed", "search_flights", destination="Rome", on="2026-03-01")
    play.fails("travel_date_not_allowed", "hold_flight", **hold(play, on="2026-06-01"))


def not_operating(play: Play) -> None:
    row = next(f for f in play.rows(Flight) if len(f.weekdays) < 7)
    first = play.session.now.date() + timedelta(days=3)
    days = [first + timedelta(days=n) for n in range(7)]
    off = next(day for day in days if day.weekday() not in row.weekdays)
    message = play.fails("not_operating", "hold_flight", **hold(play, flight_number=row.id, on=str(off)))
    play.ok("list_flight_fares", flight_number=row.id, on=message.split()[-1].rstrip("."))


def flight_cancelled(play: Play) -> None:
    play.fails("flight_cancelled", "hold_flight", **hold(play, departure(play, 8, "cancelled")))


def flight_departed(play: Play) -> None:
    play.fails("flight_departed", "cancel_flight_booking", flight_booking_id=in_state(play, "flown"))
    row = next(d for d in play.rows(Departure) if d.on == play.session.now.date() and d.state == "on_time")
    hours = max(0, flight(play, row.flight_number).departs.hour - play.session.now.hour)
    play.wait(hours=hours)
    play.fails("flight_departed", "hold_flight", **hold(play, row))


def fare_sold_out(play: Play) -> None:
    full = set(seats("economy"))
    row = next(
        d for d in play.rows(Departure) if d.on.day in range(12, 20) and d.state == "on_time" and full <= set(d.taken)
    )
    play.fails("fare_sold_out", "hold_flight", **hold(play, row))


def advance_purchase_required(play: Play) -> None:
    row = departure(play, 3)
    message = play.fails("advance_purchase_required", "hold_flight", **hold(play, row, fare="light"))
    assert "standard, flex, business" in message
    play.ok("hold_flight", **hold(play, row, fare="standard"))


def traveller_already_booked(play: Play) -> None:
    arguments = hold(play)
    play.ok("hold_flight", **arguments)
    play.fails("traveller_already_booked", "hold_flight", **arguments)


def hold_expired(play: Play) -> None:
    number = traveller(play).passport_number
    late = held(play, "light")
    play.wait(minutes=20)
    play.fails("hold_expired", "confirm_flight_booking", flight_booking_id=late, passport_number=number)


def not_held(play: Play) -> None:
    done = confirmed(play)
    number = traveller(play).passport_number
    play.fails("not_held", "confirm_flight_booking", flight_booking_id=done, passport_number=number)


def passport_mismatch(play: Play) -> None:
    play.fails("passport_mismatch", "confirm_flight_booking", flight_booking_id=held(play), passport_number="A00000000")


def passport_expires_too_soon(play: Play) -> None:
    old = traveller(play, valid=False)
    row = play.ok("hold_flight", **hold(play, departure(play, 25), traveller_id=old.id))
    arguments = {"flight_booking_id": row["id"], "passport_number": old.passport_number}
    play.fails("passport_expires_too_soon", "confirm_flight_booking", **arguments)


def voucher_refused(play: Play) -> None:
    arguments = {"flight_booking_id": held(play), "passport_number": traveller(play).passport_number}
    for code in ("NOSUCH", "WINTER20", "LUCKY30"):
        play.fails("voucher_refused", "confirm_flight_booking", **arguments, voucher_code=code)
    price = booking(play, str(arguments["flight_booking_id"])).price
    paid = play.ok("confirm_flight_booking", **arguments, voucher_code="spring50")["paid"]
    assert paid != str(price)
    again = play.ok("hold_flight", **hold(play, departure(play, 14)))["id"]
    arguments["flight_booking_id"] = again
    play.fails("voucher_refused", "confirm_flight_booking", **arguments, voucher_code="SPRING50")


def not_enough_miles(play: Play) -> None:
    person = traveller(play)
    arguments = {"flight_booking_id": held(play), "passport_number": person.passport_number}
    play.fails("not_enough_miles", "confirm_flight_booking", **arguments, miles=person.miles + 1)
    spent = play.ok("confirm_flight_booking", **arguments, miles=min(500, person.miles))
    assert spent["miles_left"] == person.miles - min(500, person.miles)


def booking_not_confirmed(play: Play) -> None:
    play.fails("booking_not_confirmed", "add_checked_bags", flight_booking_id=held(play), bags=1)


def not_changeable(play: Play) -> None:
    play.fails("not_changeable", "change_flight_date", flight_booking_id=confirmed(play, "light"), on="2026-03-20")


def same_date(play: Play) -> None:
    done = confirmed(play)
    play.fails("same_date", "change_flight_date", flight_booking_id=done, on=str(booking(play, done).on))


def already_cancelled(play: Play) -> None:
    play.fails("already_cancelled", "cancel_flight_booking", flight_booking_id=in_state(play, "cancelled"))
    play.fails("already_cancelled", "cancel_flight_booking", flight_booking_id=in_state(play, "hold_expired"))
    stay = next(row for row in play.rows(HotelStay) if row.cancelled)
    play.fails("already_cancelled", "cancel_hotel_stay", hotel_stay_id=stay.id)


def seat_not_included(play: Play) -> None:
    play.fails("seat_not_included", "choose_flight_seat", flight_booking_id=confirmed(play, "light"), seat="5A")


def no_such_seat(play: Play) -> None:
    play.fails("no_such_seat", "choose_flight_seat", flight_booking_id=confirmed(play), seat="1A")
    play.fails("no_such_seat", "choose_flight_seat", flight_booking_id=confirmed(play, "business"), seat="9A")


def seat_taken(play: Play) -> None:
    row = departure(play)
    done = confirmed(play, row=row)
    taken = next(seat for seat in row.taken if seat in seats("economy"))
    message = play.fails("seat_taken", "choose_flight_seat", flight_booking_id=done, seat=taken)
    play.ok("choose_flight_seat", flight_booking_id=done, seat=message.split(" are ")[1].split(",")[0])


def check_in_not_open(play: Play) -> None:
    done = confirmed(play)
    play.fails("check_in_not_open", "check_in_for_flight", flight_booking_id=done)
    row = booking(play, done)
    play.wait(seconds=(takeoff(flight(play, row.flight_number), row.on) - play.session.now).total_seconds() - 80_000)
    assert play.ok("check_in_for_flight", flight_booking_id=done)["miles_earned"] > 0
    play.fails("booking_not_confirmed", "check_in_for_flight", flight_booking_id=done)


def check_in_closed(play: Play) -> None:
    done = confirmed(play, row=departure(play, 2))
    row = booking(play, done)
    play.wait(seconds=(takeoff(flight(play, row.flight_number), row.on) - play.session.now).total_seconds() - 2400)
    play.fails("check_in_closed", "check_in_for_flight", flight_booking_id=done)


def bag_limit(play: Play) -> None:
    done = confirmed(play)
    play.ok("add_checked_bags", flight_booking_id=done, bags=2)
    play.fails("bag_limit", "add_checked_bags", flight_booking_id=done, bags=1)


def room_unavailable(play: Play) -> None:
    rooms = {row.id: row for row in play.rows(RoomType)}
    night = next(row for row in play.rows(RoomNight) if row.taken == rooms[row.room_type_id].rooms)
    arguments = {"room_type_id": night.room_type_id, "traveller_id": traveller(play).id}
    play.fails("room_unavailable", "book_hotel_room", **arguments, check_in=str(night.night), nights=1)


def free_room(play: Play, days: int, nights: int) -> dict[str, object]:
    start = play.session.now.date() + timedelta(days=days)
    room = next(row for row in play.rows(RoomType) if rooms_left(play.session, row, start, nights))
    return {"room_type_id": room.id, "traveller_id": traveller(play).id, "check_in": str(start), "nights": nights}


def too_many_guests(play: Play) -> None:
    play.fails("too_many_guests", "book_hotel_room", **free_room(play, 5, 1), guests=5)


def cancel_deadline_passed(play: Play) -> None:
    stay = play.ok("book_hotel_room", **free_room(play, 9, 2))["id"]
    play.wait(days=9)
    play.fails("cancel_deadline_passed", "cancel_hotel_stay", hotel_stay_id=stay)


def nothing_to_add(play: Play) -> None:
    play.fails("nothing_to_add", "add_to_itinerary", itinerary="Spring Break")


def already_in_itinerary(play: Play) -> None:
    done = confirmed(play)
    play.ok("add_to_itinerary", itinerary="City Hopping", flight_booking_id=done)
    play.fails("already_in_itinerary", "add_to_itinerary", itinerary="City Hopping", flight_booking_id=done)


def dates_clash(play: Play) -> None:
    for n in range(2):
        stay = play.ok("book_hotel_room", **free_room(play, 12 + n, 3))["id"]
        arguments = {"itinerary": "City Hopping", "hotel_stay_id": stay}
        if n:
            play.fails("dates_clash", "add_to_itinerary", **arguments)
        else:
            play.ok("add_to_itinerary", **arguments)


FAULTS: dict[str, Callable[[Play], None]] = {
    name: scenario for name, scenario in globals().items() if name in set(Fault)
}


@pytest.mark.parametrize("fault", sorted(Fault))
def test_fault_is_reached(fault: str) -> None:
    FAULTS[fault](Play("travel_booking"))


@pytest.mark.parametrize("seed", range(4))
def test_no_seat_is_sold_twice_and_references_are_closed(seed: int) -> None:
    play = Play("travel_booking", seed)
    departures = {(row.flight_number, row.on): row for row in play.rows(Departure)}
    sold: set[tuple[object, ...]] = set()
    for row in play.rows(FlightBooking):
        key = (row.flight_number, row.on, row.seat)
        assert row.seat not in departures[row.flight_number, row.on].taken
        assert not row.seat or key not in sold
        sold.add(key)
    known = {row.id for kind in (FlightBooking, HotelStay, Traveller, Hotel, RoomType) for row in play.rows(kind)}
    for trip in play.rows(Itinerary):
        assert {*trip.flight_booking_ids, *trip.hotel_stay_ids} <= known
    assert {row.room_type_id for row in play.rows(HotelStay)} | {row.hotel_id for row in play.rows(RoomType)} <= known
    assert {status_of(play.session, row) for row in play.rows(FlightBooking)} >= {"held", "confirmed", "flown"}


def test_a_cabin_is_sold_only_while_it_has_seats() -> None:
    play = Play("travel_booking")
    row = departure(play)
    arguments = hold(play, row, fare="business")
    left = play.ok("list_flight_fares", flight_number=row.flight_number, on=str(row.on))["items"][3]["seats_left"]
    people = [person.id for person in play.rows(Traveller)]
    for person in people[:left]:
        play.ok("hold_flight", **{**arguments, "traveller_id": person})
    play.fails("fare_sold_out", "hold_flight", **{**arguments, "traveller_id": people[left]})
    play.wait(hours=25)
    play.ok("hold_flight", **{**arguments, "traveller_id": people[left]})


@pytest.mark.parametrize(("fare", "refunded"), [("flex", True), ("light", False)])
def test_refund_follows_the_fare(fare: str, refunded: bool) -> None:
    play = Play("travel_booking")
    done = confirmed(play, fare, departure(play, 15))
    price = str(booking(play, done).price)
    play.wait(hours=25)
    result = play.ok("cancel_flight_booking", flight_booking_id=done)
    assert (result["refund"] == price) == refunded
    play.fails("already_cancelled", "cancel_flight_booking", flight_booking_id=done)


def test_a_change_costs_the_fee_and_the_difference() -> None:
    play = Play("travel_booking")
    row = departure(play, 12)
    done = confirmed(play, "standard", row)
    days = [
        d.on
        for d in play.rows(Departure)
        if d.flight_number == row.flight_number and d.on > row.on and d.state == "on_time" and len(d.taken) < 40
    ]
    result = play.ok("change_flight_date", flight_booking_id=done, on=str(days[0]))
    assert result["fare_difference"].startswith("0.00") and result["to_pay"] == result["change_fee"]
    assert booking(play, done).on == days[0]


def test_a_room_is_free_again_after_cancelling() -> None:
    play = Play("travel_booking")
    arguments = free_room(play, 20, 2)
    room = next(row for row in play.rows(RoomType) if row.id == arguments["room_type_id"])
    start = play.session.now.date() + timedelta(days=20)
    before = rooms_left(play.session, room, start, 2)
    stay = play.ok("book_hotel_room", **arguments)["id"]
    assert rooms_left(play.session, room, start, 2) == before - 1
    play.ok("cancel_hotel_stay", hotel_stay_id=stay)
    assert rooms_left(play.session, room, start, 2) == before


def test_quotes_in_other_currencies_agree() -> None:
    play = Play("travel_booking")
    row = departure(play)
    arguments = {"flight_number": row.flight_number, "on": str(row.on)}
    quotes = {
        currency: float(play.ok("list_flight_fares", **arguments, currency=currency)["items"][2]["price"].split()[0])
        for currency in ("EUR", "USD", "JPY")
    }
    assert abs(quotes["USD"] / quotes["EUR"] - 1.08) < 0.01
    assert abs(quotes["JPY"] / quotes["EUR"] - 162) < 1


def test_a_flight_that_the_airline_cancelled_is_shown_so() -> None:
    play = Play("travel_booking")
    row = departure(play)
    done = confirmed(play, row=row)
    play.session.table(Departure).put(replace(row, state="cancelled"))
    play.session.commit("", {})
    details = play.ok("get_flight_booking", flight_booking_id=done)
    assert details["status"] == "airline_cancelled" and not {"departs_at", "check_in_opens"} & details.keys()
    shown = play.ok("list_flight_bookings", status="airline_cancelled", limit=50)["items"]
    assert done in [item["id"] for item in shown]
    play.fails("flight_cancelled", "choose_flight_seat", flight_booking_id=done, seat="5A")
    assert play.ok("cancel_flight_booking", flight_booking_id=done)["reason"] == "airline_cancelled"


def test_a_delay_is_shown() -> None:
    play = Play("travel_booking")
    row = departure(play, 1, "delayed")
    details = play.ok("get_flight_booking", flight_booking_id=confirmed(play, row=row))
    assert details["delay_minutes"] == row.delay_minutes


def test_no_hold_outlives_the_sale() -> None:
    play = Play("travel_booking")
    row = departure(play, 2)
    leaves = takeoff(flight(play, row.flight_number), row.on)
    play.wait(seconds=(leaves - play.session.now).total_seconds() - 5 * 3600)
    booked = play.ok("hold_flight", **hold(play, row))
    assert booked["hold_until"] == f"{leaves - timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"
    play.wait(hours=4.2)
    number = traveller(play).passport_number
    play.fails("hold_expired", "confirm_flight_booking", flight_booking_id=booked["id"], passport_number=number)
    play.fails("flight_departed", "hold_flight", **hold(play, row))


@pytest.mark.parametrize(("days", "cheapest"), [(3, "standard"), (9, "light")])
def test_the_lowest_price_is_that_of_a_fare_on_sale(days: int, cheapest: str) -> None:
    play = Play("travel_booking")
    row = departure(play, days)
    route, on = flight(play, row.flight_number), str(row.on)
    fares = play.ok("list_flight_fares", flight_number=route.id, on=on)["items"]
    first = next(fare for fare in fares if fare["seats_left"])
    assert first["fare"] == cheapest
    offers = play.ok("search_flights", origin=route.origin, destination=route.destination, on=on)["items"]
    assert [offer["lowest_price"] for offer in offers if offer["flight_number"] == route.id] == [first["price"]]


def test_what_a_voucher_paid_is_neither_charged_by_a_change_nor_refunded() -> None:
    play = Play("travel_booking")
    row = departure(play, 12)
    done = held(play, "standard", row)
    number = traveller(play).passport_number
    paid = play.ok(
        "confirm_flight_booking", flight_booking_id=done, passport_number=number, voucher_code="SPRING50"
    )["paid"]  # fmt: skip
    later = next(
        d.on
        for d in play.rows(Departure)
        if d.flight_number == row.flight_number and d.on > row.on and d.state == "on_time" and len(d.taken) < 40
    )
    change = play.ok("change_flight_date", flight_booking_id=done, on=str(later))
    assert change["fare_difference"].startswith("0.00")
    assert play.ok("cancel_flight_booking", flight_booking_id=done)["refund"] == paid


def test_cancelling_takes_the_miles_of_a_check_in_back() -> None:
    play = Play("travel_booking")
    row = departure(play, 2)
    done = confirmed(play, row=row)
    before = traveller(play).miles
    leaves = takeoff(flight(play, row.flight_number), row.on)
    play.wait(seconds=(leaves - play.session.now).total_seconds() - 80_000)
    earned = play.ok("check_in_for_flight", flight_booking_id=done)["miles_earned"]
    assert traveller(play).miles == before + earned
    assert play.ok("cancel_flight_booking", flight_booking_id=done)["miles_taken_back"] == earned
    assert traveller(play).miles == before


def test_a_change_follows_the_rules_of_a_purchase() -> None:
    play = Play("travel_booking")
    tomorrow = play.session.now.date() + timedelta(days=1)
    busy = {(row.flight_number, row.on) for row in play.rows(FlightBooking)}
    open_days = [
        d
        for d in play.rows(Departure)
        if d.state == "on_time" and len(d.taken) < 40 and (d.flight_number, d.on) not in busy
    ]
    near = next(d for d in open_days if d.on == tomorrow)
    first, second = [
        d for d in open_days if d.flight_number == near.flight_number and d.on > tomorrow + timedelta(days=7)
    ][:2]
    done = confirmed(play, "standard", first)
    play.fails("advance_purchase_required", "change_flight_date", flight_booking_id=done, on=str(tomorrow))
    confirmed(play, "standard", second)
    play.fails("traveller_already_booked", "change_flight_date", flight_booking_id=done, on=str(second.on))


def test_a_hotel_is_found_by_its_name_alone() -> None:
    play = Play("travel_booking")
    hotel = play.rows(Hotel)[-1]
    assert [item["id"] for item in play.ok("search_hotels", query=hotel.name)["items"]] == [hotel.id]
    page = play.ok("search_hotels")
    assert page["next_offset"] == 5 and page["items"] != play.ok("search_hotels", offset=5)["items"]
