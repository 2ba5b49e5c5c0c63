"""Addresses and places: finding them, saving and reviewing them."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field

from servers.kernel.errors import KernelFault, ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.maps.geo import COLUMNS, HIGHEST_NUMBER, house, meters
from servers.maps.model import (
    CityName,
    Fault,
    Junction,
    MapCity,
    Place,
    PlaceCategory,
    PlaceId,
    PlaceReview,
    SavedList,
    SavedPlace,
    Street,
)
from servers.maps.rules import (
    LIST_SIZE,
    REVIEWS_A_DAY,
    check_exists,
    city_of,
    covered,
    hours_today,
    is_open,
    local_now,
    place_of,
    rating,
)
from servers.maps.server import server
from servers.maps.views import GeoPoint, NearbyItem, PlaceDetails, PlaceItem, PlaceName, Reviewed, SavedItem
from servers.shared.places import CITIES

COVERAGE = 12_000
"""How far from the nearest junction, in metres, a point still belongs to a city."""


@server.tool(read_only=True)
def search_places(
    session: Session,
    query: Query = "",
    category: PlaceCategory | None = None,
    city: CityName | None = None,
    open_now: bool = False,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[PlaceItem]:
    """Search places by name, category or city, with their ids and whether they are open.

    Ordered by name.

    Args:
        query: words of the place's name or address.
        category: only places of this category.
        city: only places in this city.
        open_now: leave out what is closed at this moment, by local time.
        limit: most places to return.
        offset: how many to skip.

    Raises:
        not_found: the city is not covered.
    """
    clocks = {row.id: local_now(session, row.id) for row in session.table(MapCity).all()}
    rows = session.table(Place).all() if city is None else session.table(Place).where(city=city_of(session, city).id)
    rows = search(rows, query, lambda row: f"{row.name} {row.address} {row.category}")
    rows = [row for row in rows if category is None or row.category == category]
    items = [PlaceItem(row.id, row.name, row.category, row.city, is_open(row, clocks[row.city])) for row in rows]
    items = [item for item in items if item.open_now or not open_now]
    return paginate(sorted(items, key=lambda item: (item.name, item.id)), limit, offset)


@server.tool(read_only=True)
def get_place_details(session: Session, place_id: PlaceId) -> PlaceDetails:
    """Show one place: address, today's hours, whether it is open, rating and phone number.

    Args:
        place_id: the place, from search_places.
    """
    row = place_of(session, place_id)
    now = local_now(session, row.city)
    stars, count = rating(session, row)
    return PlaceDetails(
        id=row.id,
        name=row.name,
        category=row.category,
        address=row.address,
        city=row.city,
        open_now=is_open(row, now),
        hours_today=hours_today(row, now),
        rating=stars,
        reviews=count,
        phone=row.phone,
    )


def _point(session: Session, street: Street, number: int) -> tuple[float, float]:
    """Coordinates of a house, between the corners of its city's grid."""
    corners = session.table(Junction).where(city=street.city)
    first = next(node for node in corners if (node.row, node.column) == (0, 0))
    last = next(node for node in corners if (node.row, node.column) == (COLUMNS - 1, COLUMNS - 1))
    row, column = house(street.row, street.index, number)
    share = COLUMNS - 1
    lat = first.lat + (last.lat - first.lat) * row / share
    lon = first.lon + (last.lon - first.lon) * column / share
    return round(lat, 5), round(lon, 5)


def _geo_point(session: Session, street: Street, number: int, lat: float, lon: float) -> GeoPoint:
    near = min(
        (row for row in session.table(Place).where(city=street.city) if not row.gone),
        key=lambda row: (meters(lat, lon, row.lat, row.lon), row.id),
    )
    return GeoPoint(f"{number} {street.name}", street.city, lat, lon, PlaceName(near.id, near.name))


@server.tool(read_only=True)
def geocode_address(session: Session, query: Annotated[str, Field(min_length=3, max_length=120)]) -> GeoPoint:
    """Find the coordinates of a street address and the place nearest to it.

    Args:
        query: house number and street, and the city if several have that street: 12 Maple Street, Lisbon.

    Raises:
        not_found: no covered city has that street.
        outside_coverage: the address names a city that is not covered.
        ambiguous_address: two cities have that street; add the city.
        house_number_missing: the address has no number.
        number_out_of_range: the street has no such number.
    """
    text = query.casefold()
    streets = [row for row in session.table(Street).all() if row.name.casefold() in text]
    named = [row.id for row in session.table(MapCity).all() if row.id.casefold() in text]
    if not named and any(city.name.casefold() in text for city in CITIES):
        raise ToolError(Fault.OUTSIDE_COVERAGE, f"The address lies outside the covered cities, {covered(session)}.")
    streets = [row for row in streets if not named or row.city in named]
    if not streets:
        raise ToolError(KernelFault.NOT_FOUND, "No covered city has that street; check the spelling or the city.")
    if len({row.city for row in streets}) > 1:
        cities = " and ".join(sorted({row.city for row in streets}))
        raise ToolError(Fault.AMBIGUOUS_ADDRESS, f"{streets[0].name} exists in {cities}; add the city to the address.")
    street = streets[0]
    digits = re.search(r"[0-9]{1,6}", text)
    if digits is None:
        raise ToolError(Fault.HOUSE_NUMBER_MISSING, f"Add a house number from 1 to {HIGHEST_NUMBER} to {street.name}.")
    number = int(digits.group())
    if not 1 <= number <= HIGHEST_NUMBER:
        raise ToolError(Fault.NUMBER_OUT_OF_RANGE, f"{street.name} has the numbers 1 to {HIGHEST_NUMBER}.")
    return _geo_point(session, street, number, *_point(session, street, number))


@server.tool(read_only=True)
def reverse_geocode(
    session: Session,
    latitude: Annotated[float, Field(ge=-90, le=90)],
    longitude: Annotated[float, Field(ge=-180, le=180)],
) -> GeoPoint:
    """Find the street address at a pair of coordinates and the place nearest to it.

    Args:
        latitude: degrees north.
        longitude: degrees east.

    Raises:
        outside_coverage: the point lies in no covered city.
    """
    nodes = session.table(Junction).all()
    far, node = min(((meters(latitude, longitude, each.lat, each.lon), each) for each in nodes), key=lambda p: p[0])
    if far > COVERAGE:
        raise ToolError(Fault.OUTSIDE_COVERAGE, f"The point lies outside the covered cities, {covered(session)}.")
    _, street, number = min(
        (
            (meters(latitude, longitude, *_point(session, street, number)), street, number)
            for street in session.table(Street).where(city=node.city)
            for number in (_nearest_number(session, street, latitude, longitude),)
        ),
        key=lambda found: (found[0], found[1].id),
    )
    return _geo_point(session, street, number, latitude, longitude)


def _nearest_number(session: Session, street: Street, lat: float, lon: float) -> int:
    low, high = _point(session, street, 1), _point(session, street, HIGHEST_NUMBER)
    axis, value = (1, lon) if street.row else (0, lat)
    share = (value - low[axis]) / (high[axis] - low[axis])
    return 1 + round(min(1.0, max(0.0, share)) * (HIGHEST_NUMBER - 1))


@server.tool(read_only=True)
def find_nearby_places(
    session: Session,
    place_id: PlaceId,
    category: PlaceCategory | None = None,
    radius_m: Annotated[int, Field(ge=100, le=5000)] = 1000,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[NearbyItem]:
    """Find what lies around a place, nearest first, within a radius as the crow flies.

    Args:
        place_id: the place in the middle, from search_places.
        category: only places of this category.
        radius_m: how far away, in metres.
        limit: most places to return.
        offset: how many to skip.
    """
    centre = place_of(session, place_id)
    now = local_now(session, centre.city)
    found = [
        NearbyItem(row.id, row.name, row.category, meters(centre.lat, centre.lon, row.lat, row.lon), is_open(row, now))
        for row in session.table(Place).where(city=centre.city)
        if row.id != centre.id and not row.gone and (category is None or row.category == category)
    ]
    found = [item for item in found if item.meters <= radius_m]
    return paginate(sorted(found, key=lambda item: (item.meters, item.id)), limit, offset)


@server.tool()
def save_place(session: Session, place_id: PlaceId, saved_list: SavedList) -> SavedItem:
    """Put a place on one of the user's lists: favorites, want to go or work.

    Args:
        place_id: the place, from search_places.
        saved_list: the list; each holds at most 12 places.

    Raises:
        closed_permanently: the place is gone.
        already_saved: it is on that list.
        list_full: the list holds 12 places.
    """
    row = place_of(session, place_id)
    check_exists(row)
    listed = session.table(SavedPlace).where(saved_list=saved_list)
    if any(each.place_id == place_id for each in listed):
        raise ToolError(Fault.ALREADY_SAVED, f"{row.name} is on the list '{saved_list}' already.")
    if len(listed) >= LIST_SIZE:
        raise ToolError(Fault.LIST_FULL, f"The list '{saved_list}' holds {LIST_SIZE} places already; use another list.")
    session.table(SavedPlace).add(SavedPlace(session.new_id("SVP"), row.id, saved_list, session.now))
    return SavedItem(row.id, row.name, saved_list, session.now)


@server.tool(read_only=True)
def list_saved_places(
    session: Session,
    query: Query = "",
    saved_list: SavedList | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[SavedItem]:
    """List the places that the user has saved, latest first, on all lists or on one.

    Args:
        query: words of the place's name.
        saved_list: only this list.
        limit: most places to return.
        offset: how many to skip.
    """
    rows = [row for row in session.table(SavedPlace).all() if saved_list is None or row.saved_list == saved_list]
    rows.sort(key=lambda row: (-row.saved_at.timestamp(), row.id))
    items = [SavedItem(r.place_id, place_of(session, r.place_id).name, r.saved_list, r.saved_at) for r in rows]
    return paginate(search(items, query, lambda item: item.name), limit, offset)


@server.tool()
def review_place(
    session: Session,
    place_id: PlaceId,
    stars: Annotated[int, Field(ge=1, le=5)],
    text: Annotated[str, Field(max_length=300)] = "",
) -> Reviewed:
    """Rate a saved place with one to five stars and, if wished, a few words.

    A place that is on none of the user's lists has to be saved first.

    Args:
        place_id: the place, from search_places.
        stars: 1 is worst, 5 is best.
        text: the review in the user's words.

    Raises:
        closed_permanently: the place is gone.
        not_opened_yet: the place opens on a later day.
        already_reviewed: the user has reviewed it.
        review_limit: three reviews a day is the most.
        not_saved: it is on none of the user's lists.
    """
    row = place_of(session, place_id)
    check_exists(row)
    today = local_now(session, row.city).date()
    if row.opening_on is not None and today < row.opening_on:
        raise ToolError(Fault.NOT_OPENED_YET, f"{row.name} opens on {row.opening_on}; it can be reviewed from then on.")
    if session.table(PlaceReview).where(place_id=place_id):
        raise ToolError(Fault.ALREADY_REVIEWED, f"The user has reviewed {row.name} already; one review a place.")
    recent = [each for each in session.table(PlaceReview).all() if each.at.date() == session.now.date()]
    if len(recent) >= REVIEWS_A_DAY:
        raise ToolError(Fault.REVIEW_LIMIT, f"{REVIEWS_A_DAY} reviews a day is the most; try again tomorrow.")
    if not session.table(SavedPlace).where(place_id=place_id):
        raise ToolError(Fault.NOT_SAVED, f"{row.name} is on none of the user's lists; save_place comes first.")
    session.table(PlaceReview).add(PlaceReview(session.new_id("PRV"), row.id, stars, text, session.now))
    mean, count = rating(session, row)
    return Reviewed(row.id, stars, mean, count)
