"""The maps: each error code is reached, and routes, hours and departures hold together."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from servers.maps.geo import meters
from servers.maps.model import (
    Fault,
    Incident,
    Junction,
    MapCity,
    ParkingLot,
    Place,
    PlaceReview,
    Road,
    SavedPlace,
    TransitStop,
)
from servers.maps.roads import active_incidents, find_route, road_graph
from servers.maps.rules import PARKING_RADIUS, is_open, local_now
from servers.shared.places import CITIES, STREETS
from tests.servers.play import Play


def in_city(play: Play, n: int = 0) -> list[Place]:
    """Ordinary places of the n-th city."""
    city = play.rows(MapCity)[n].id
    return [
        row
        for row in play.rows(Place)
        if row.city == city and not row.gone and row.opening_on is None and row.category != "airport"
    ]


def airport(play: Play) -> Place:
    return next(row for row in play.rows(Place) if row.category == "airport")


def far_apart(play: Play) -> tuple[Place, Place]:
    rows = in_city(play)
    pairs = [(one, other) for one in rows for other in rows]
    return max(pairs, key=lambda pair: meters(pair[0].lat, pair[0].lon, pair[1].lat, pair[1].lon))


def ambiguous_address(play: Play) -> None:
    message = play.fails("ambiguous_address", "geocode_address", query="12 Maple Street")
    city = play.rows(MapCity)[0].id
    assert city in message
    assert play.ok("geocode_address", query=f"12 Maple Street, {city}")["city"] == city


def house_number_missing(play: Play) -> None:
    play.fails("house_number_missing", "geocode_address", query="Mill Lane")


def number_out_of_range(play: Play) -> None:
    play.fails("number_out_of_range", "geocode_address", query="900 Mill Lane")


def outside_coverage(play: Play) -> None:
    play.fails("outside_coverage", "reverse_geocode", latitude=-89.5, longitude=0)
    covered = {row.id for row in play.rows(MapCity)}
    other = next(city.name for city in CITIES if city.name not in covered)
    play.fails("outside_coverage", "geocode_address", query=f"12 Mill Lane, {other}")


def route(one: Place, other: Place, mode: str = "driving") -> dict[str, object]:
    return {"origin_id": one.id, "destination_id": other.id, "mode": mode}


def same_place(play: Play) -> None:
    one = in_city(play)[0]
    play.fails("same_place", "get_route", **route(one, one))


def no_route(play: Play) -> None:
    play.fails("no_route", "get_route", **route(in_city(play)[0], in_city(play, 1)[0]))
    play.fails("no_route", "get_route", **route(in_city(play)[0], airport(play), "walking"))
    one, other = in_city(play)[0].id, in_city(play, 1)[0].id
    play.fails("no_route", "get_travel_times", origin_ids=[one], destination_ids=[other], mode="cycling")


def no_toll_free_route(play: Play) -> None:
    arguments = route(in_city(play)[0], airport(play))
    play.fails("no_toll_free_route", "get_route", avoid_tolls=True, **arguments)
    assert play.ok("get_route", **arguments)["toll"]


def too_far_to_walk(play: Play) -> None:
    play.fails("too_far_to_walk", "get_route", **route(*far_apart(play), "walking"))


def stop_closed(play: Play) -> None:
    stop = next(row for row in play.rows(TransitStop) if row.closed_until is not None)
    play.fails("stop_closed", "list_transit_departures", stop_id=stop.id)
    play.wait(days=(stop.closed_until - play.session.now).days + 1)
    items = play.catalog.call(play.session, "list_transit_departures", {"stop_id": stop.id})
    assert items.error_code in ("", "no_departures")


def no_departures(play: Play) -> None:
    for _ in range(48):
        for stop in play.rows(TransitStop):
            outcome = play.catalog.call(play.session, "list_transit_departures", {"stop_id": stop.id})
            if outcome.error_code == "no_departures":
                return
        play.wait(minutes=30)
    pytest.fail("there is a departure from every stop at any hour")


def parking_full(play: Play) -> None:
    lots = {row.id for row in play.rows(ParkingLot) if row.busy == 100}
    for _ in range(24):
        for place in play.rows(Place):
            near = [
                lot.id
                for lot in play.rows(ParkingLot)
                if lot.city == place.city and meters(place.lat, place.lon, lot.lat, lot.lon) <= PARKING_RADIUS
            ]
            if near and set(near) <= lots and 9 <= local_now(play.session, place.city).hour <= 11:
                play.fails("parking_full", "find_parking", place_id=place.id)
                return
        play.wait(hours=1)
    pytest.fail("no place has only full car parks around it")


def no_parking_nearby(play: Play) -> None:
    play.fails("no_parking_nearby", "find_parking", place_id=airport(play).id)


def gone(play: Play) -> Place:
    return next(row for row in play.rows(Place) if row.gone)


def closed_permanently(play: Play) -> None:
    play.fails("closed_permanently", "save_place", place_id=gone(play).id, saved_list="work")
    assert play.ok("get_place_details", place_id=gone(play).id)["hours_today"] == "closed permanently"


def not_opened_yet(play: Play) -> None:
    place = next(row for row in play.rows(Place) if row.opening_on is not None)
    play.fails("not_opened_yet", "review_place", place_id=place.id, stars=5)


def already_saved(play: Play) -> None:
    saved = next(row for row in play.rows(SavedPlace) if row.saved_list == "work")
    play.fails("already_saved", "save_place", place_id=saved.place_id, saved_list="work")


def unsaved(play: Play) -> Place:
    taken = {row.place_id for row in play.rows(SavedPlace)}
    return next(row for row in in_city(play) if row.id not in taken)


def list_full(play: Play) -> None:
    play.fails("list_full", "save_place", place_id=unsaved(play).id, saved_list="favorites")


def already_reviewed(play: Play) -> None:
    old = {row.place_id for row in play.rows(PlaceReview)}
    place = next(row for row in in_city(play) if row.id in old)
    play.fails("already_reviewed", "review_place", place_id=place.id, stars=3)


def review_limit(play: Play) -> None:
    old = {row.place_id for row in play.rows(PlaceReview)}
    old |= {row.place_id for row in play.rows(SavedPlace)}
    new = [row for row in in_city(play) if row.id not in old]
    for place in new[:2]:
        play.ok("save_place", place_id=place.id, saved_list="work")
    play.ok("review_place", place_id=new[0].id, stars=3)
    play.fails("review_limit", "review_place", place_id=new[1].id, stars=3)
    play.wait(days=1)
    play.ok("review_place", place_id=new[1].id, stars=3)


def not_saved(play: Play) -> None:
    place = unsaved(play)
    play.wait(days=1)
    play.fails("not_saved", "review_place", place_id=place.id, stars=4)
    play.ok("save_place", place_id=place.id, saved_list="work")
    play.ok("review_place", place_id=place.id, stars=4)


def trip_in_progress(play: Play) -> None:
    one, other = far_apart(play)
    third = next(row for row in in_city(play) if row.id not in (one.id, other.id))
    trip = play.ok("share_eta", recipient="Anna", **route(one, other))
    play.fails("trip_in_progress", "share_eta", recipient="Anna", **route(one, third))
    message = play.fails("trip_in_progress", "share_eta", recipient="Marco", **route(third, other))
    assert f"{trip['arrival']} local time" in message
    play.wait(minutes=trip["minutes"])
    play.ok("share_eta", recipient="Anna", **route(other, third))


def eta_already_shared(play: Play) -> None:
    pair = far_apart(play)
    play.ok("share_eta", recipient="Anna", **route(*pair))
    play.fails("eta_already_shared", "share_eta", recipient="anna", **route(*pair))
    play.ok("share_eta", recipient="Marco", **route(*pair))


FAULTS: dict[str, Callable[[Play], None]] = {
    name: scenario for name, scenario in globals().items() if name in set(Fault)
}


@pytest.mark.parametrize("fault", sorted(Fault))
def test_fault_is_reached(fault: str) -> None:
    FAULTS[fault](Play("maps"))


def test_every_grid_place_is_reached_by_bicycle_and_car() -> None:
    play = Play("maps")
    for n in (0, 1):
        first, *rest = in_city(play, n)
        for other in rest:
            if other.junction_id != first.junction_id:
                drive = find_route(play.session, first, other, "driving")
                assert drive.seconds > 0 and drive.meters >= sum(road.meters for road in drive.roads[:1])
                assert find_route(play.session, first, other, "cycling").meters > 0


def test_an_incident_slows_driving_while_it_lasts() -> None:
    play = Play("maps")
    city = play.rows(MapCity)[0].id
    before = {row.id for row in active_incidents(play.session, city)}
    road_id = next(row for row in play.rows(Incident) if row.id in before and row.kind != "closure").road_id
    road = next(row for row in play.rows(Road) if row.id == road_id)
    slow = road_graph(play.session, city, "driving").edges[road.start_id, road.end_id]["seconds"]
    assert slow > road.meters * 36 // (10 * road.kmh)
    play.wait(hours=14)
    quick = road_graph(play.session, city, "driving").edges[road.start_id, road.end_id]["seconds"]
    assert quick == road.meters * 36 // (10 * road.kmh)
    assert not active_incidents(play.session, city)


def test_alternatives_differ_and_the_quickest_is_the_route() -> None:
    play = Play("maps")
    pair = far_apart(play)
    items = play.ok("compare_routes", **route(*pair))["items"]
    best = play.ok("get_route", **route(*pair))
    assert len(items) == 3 and items[0]["minutes"] == best["minutes"]
    assert [item["minutes"] for item in items] == sorted(item["minutes"] for item in items)


def test_geocoding_and_back_gives_the_same_address() -> None:
    play = Play("maps")
    for name in STREETS[2:16]:
        there = play.ok("geocode_address", query=f"37 {name}")
        back = play.ok("reverse_geocode", latitude=there["latitude"], longitude=there["longitude"])
        assert back["city"] == there["city"]
        number = int(back["address"].split()[0])
        assert abs(number - 37) <= 1 or not back["address"].endswith(name)


def test_a_bar_is_open_past_midnight() -> None:
    play = Play("maps")
    bar = next(row for row in in_city(play) if row.category == "bar")
    assert is_open(bar, datetime(2026, 3, 4, 1, 30, tzinfo=UTC))
    assert not is_open(bar, datetime(2026, 3, 4, 3, 0, tzinfo=UTC))


def test_departures_are_soonest_first() -> None:
    play = Play("maps")
    for stop in play.rows(TransitStop):
        outcome = play.catalog.call(play.session, "list_transit_departures", {"stop_id": stop.id, "limit": 50})
        if outcome.ok:
            waits = [item["in_minutes"] for item in play.ok("list_transit_departures", stop_id=stop.id)["items"]]
            assert waits == sorted(waits) and all(0 <= wait <= 60 for wait in waits)


def test_each_city_is_one_network() -> None:
    play = Play("maps")
    for city in play.rows(MapCity):
        nodes = {row.id for row in play.rows(Junction) if row.city == city.id}
        assert set(road_graph(play.session, city.id, "driving").nodes) == nodes


def test_no_departure_ends_where_it_leaves() -> None:
    play = Play("maps")
    for stop in play.rows(TransitStop):
        outcome = play.catalog.call(play.session, "list_transit_departures", {"stop_id": stop.id, "limit": 50})
        if outcome.ok:
            items = play.ok("list_transit_departures", stop_id=stop.id, limit=50)["items"]
            assert stop.name not in [item["towards"] for item in items]


def test_what_is_nearby_comes_in_pages() -> None:
    play = Play("maps")
    arguments = {"place_id": in_city(play)[0].id, "radius_m": 5000}
    everything = play.ok("find_nearby_places", **arguments, limit=50)["items"]
    pages = [play.ok("find_nearby_places", **arguments, limit=2, offset=offset)["items"] for offset in (0, 2)]
    assert pages[0] + pages[1] == everything[:4]
