"""Routes, travel times, traffic, and sharing when one arrives."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.maps.model import CityName, Fault, PlaceId, Road, SharedTrip, TravelMode
from servers.maps.roads import (
    WALKING_LIMIT,
    active_incidents,
    alternatives,
    find_route,
    minutes,
    quickest,
    road_graph,
)
from servers.maps.rules import city_of, is_open, local_now, place_of
from servers.maps.server import server
from servers.maps.views import IncidentItem, RouteItem, RouteView, SharedEta, TravelTime

Places = Annotated[list[PlaceId], Field(min_length=1, max_length=3)]


@server.tool(read_only=True)
def get_route(
    session: Session, origin_id: PlaceId, destination_id: PlaceId, mode: TravelMode, avoid_tolls: bool = False
) -> RouteView:
    """Find the quickest route between two places with present traffic, and when one would arrive.

    Args:
        origin_id: where to start, from search_places.
        destination_id: where to go, from search_places.
        mode: driving, walking or cycling.
        avoid_tolls: use no toll road.

    Raises:
        same_place: origin and destination are one.
        no_route: another city, or no road that this mode may use.
        no_toll_free_route: every road there has a toll.
        too_far_to_walk: more than four kilometres on foot.
    """
    origin, destination = place_of(session, origin_id), place_of(session, destination_id)
    route = find_route(session, origin, destination, mode, avoid_tolls)
    took = minutes(route)
    there = local_now(session, destination.city) + timedelta(minutes=took)
    return RouteView(
        via=route.via,
        km=round(route.meters / 1000, 1),
        minutes=took,
        arrival=f"{there:%H:%M}",
        open_on_arrival=is_open(destination, there),
        toll=route.toll,
    )


@server.tool(read_only=True)
def compare_routes(
    session: Session,
    origin_id: PlaceId,
    destination_id: PlaceId,
    mode: TravelMode,
    limit: Annotated[int, Field(ge=2, le=5)] = 3,
) -> Page[RouteItem]:
    """Compare alternative routes between two places, the quickest first.

    Args:
        origin_id: where to start, from search_places.
        destination_id: where to go, from search_places.
        mode: driving, walking or cycling.
        limit: most routes to return.

    Raises:
        same_place: origin and destination are one.
        no_route: another city, or no road that this mode may use.
        too_far_to_walk: more than four kilometres on foot.
    """
    origin, destination = place_of(session, origin_id), place_of(session, destination_id)
    find_route(session, origin, destination, mode)
    routes = list(alternatives(road_graph(session, origin.city, mode), origin, destination, limit))
    routes.sort(key=lambda route: (route.seconds, route.meters, route.via))
    items = [RouteItem(route.via, round(route.meters / 1000, 1), minutes(route), route.toll) for route in routes]
    return paginate(items, limit)


@server.tool(read_only=True)
def get_travel_times(
    session: Session, origin_ids: Places, destination_ids: Places, mode: TravelMode
) -> Page[TravelTime]:
    """Show the travel time from each of up to three places to each of up to three others.

    Ordered as the places were given.

    Args:
        origin_ids: where to start, from search_places.
        destination_ids: where to go, from search_places.
        mode: driving, walking or cycling.

    Raises:
        no_route: no pair is connected.
    """
    origins = [place_of(session, each) for each in origin_ids]
    destinations = [place_of(session, each) for each in destination_ids]
    graphs = {city: road_graph(session, city, mode) for city in {place.city for place in origins}}
    cells = []
    for origin in origins:
        for destination in destinations:
            route = quickest(graphs[origin.city], origin, destination) if origin.city == destination.city else None
            too_far = route is not None and mode == "walking" and route.meters > WALKING_LIMIT
            took = None if route is None or too_far else minutes(route)
            cells.append(TravelTime(origin.id, destination.id, took))
    if all(cell.minutes is None for cell in cells):
        raise ToolError(Fault.NO_ROUTE, f"No way for {mode} joins any of these places; check their cities or the mode.")
    return paginate(cells, len(cells))


@server.tool(read_only=True)
def list_traffic_incidents(
    session: Session, city: CityName, query: Query = "", limit: Limit = 5, offset: Offset = 0
) -> Page[IncidentItem]:
    """List what holds up traffic in a city now: closures first, then the worst slowdowns.

    Args:
        city: the city's name.
        query: words of the street or the kind of incident.
        limit: most incidents to return.
        offset: how many to skip.

    Raises:
        not_found: the city is not covered.
    """
    zone = local_now(session, city_of(session, city).id).tzinfo
    rows = active_incidents(session, city)
    rows.sort(key=lambda row: (row.kind != "closure", -row.slowdown, row.id))
    items = [
        IncidentItem(
            street=session.table(Road).require(row.road_id, "").street,
            kind=row.kind,
            slowdown_percent=None if row.kind == "closure" else row.slowdown,
            until=f"{row.ends.astimezone(zone):%H:%M}",
        )
        for row in rows
    ]
    return paginate(search(items, query, lambda item: f"{item.street} {item.kind}"), limit, offset)


@server.tool()
def share_eta(
    session: Session,
    origin_id: PlaceId,
    destination_id: PlaceId,
    mode: TravelMode,
    recipient: Annotated[str, Field(min_length=2, max_length=60)],
) -> SharedEta:
    """Set off for a place now and let somebody follow when one arrives.

    Args:
        origin_id: where the trip starts, from search_places.
        destination_id: where it goes, from search_places.
        mode: driving, walking or cycling.
        recipient: the name of the person who is told.

    Raises:
        same_place: origin and destination are one.
        no_route: another city, or no road that this mode may use.
        too_far_to_walk: more than four kilometres on foot.
        trip_in_progress: the user is under way on another trip.
        eta_already_shared: this person follows this trip.
    """
    origin, destination = place_of(session, origin_id), place_of(session, destination_id)
    route = find_route(session, origin, destination, mode)
    _check_under_way(session, (origin.id, destination.id, mode), recipient)
    took = minutes(route)
    arrives = session.now + timedelta(minutes=took)
    session.table(SharedTrip).add(
        SharedTrip(session.new_id("SHT"), origin.id, destination.id, mode, recipient, session.now, arrives)
    )
    local = local_now(session, destination.city) + timedelta(minutes=took)
    return SharedEta(destination.id, mode, recipient, took, f"{local:%H:%M}")


def _check_under_way(session: Session, wanted: tuple[str, str, TravelMode], recipient: str) -> None:
    for trip in session.table(SharedTrip).all():
        if trip.arrives <= session.now:
            continue
        start, goal = place_of(session, trip.origin_id), place_of(session, trip.destination_id)
        if (start.id, goal.id, trip.mode) != wanted:
            there = trip.arrives.astimezone(local_now(session, goal.city).tzinfo)
            raise ToolError(
                Fault.TRIP_IN_PROGRESS,
                f"The user is under way from {start.name} to {goal.name}, {trip.mode}, until {there:%H:%M} local time; "
                "share that trip or wait.",
            )
        if trip.recipient.casefold() == recipient.casefold():
            raise ToolError(Fault.ETA_ALREADY_SHARED, f"{recipient} follows the trip to {goal.name} already.")
