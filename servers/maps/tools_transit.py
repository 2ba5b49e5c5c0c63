"""Public transport and parking."""

from __future__ import annotations

from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.maps.model import Fault, PlaceId, StopId, TransitLine, TransitStop
from servers.maps.rules import DEPARTURE_WINDOW, free_spaces, local_now, lots_near, next_departures, place_of
from servers.maps.server import server
from servers.maps.views import Departure, ParkingItem, StopItem


def _lines_of(session: Session, stop: TransitStop) -> list[TransitLine]:
    lines = [line for line in session.table(TransitLine).where(city=stop.city) if stop.id in line.stop_ids]
    return sorted(lines, key=lambda line: (line.name, line.id))


@server.tool(read_only=True)
def search_transit_stops(session: Session, query: Query = "", limit: Limit = 5, offset: Offset = 0) -> Page[StopItem]:
    """Search stops of public transport with their ids, lines and coordinates. Ordered by name.

    Args:
        query: words of the stop, its city or a line, such as M1.
        limit: most stops to return.
        offset: how many to skip.
    """
    stops = session.table(TransitStop).all()
    lines = {stop.id: ", ".join(line.name for line in _lines_of(session, stop)) for stop in stops}
    rows = search(stops, query, lambda row: f"{row.name} {row.city} {lines[row.id]}")
    rows.sort(key=lambda row: (row.name, row.id))
    return paginate([StopItem(row.id, row.name, lines[row.id], row.lat, row.lon) for row in rows], limit, offset)


@server.tool(read_only=True)
def list_transit_departures(
    session: Session, stop_id: StopId, query: Query = "", limit: Limit = 5, offset: Offset = 0
) -> Page[Departure]:
    """List the next departures from a stop within an hour, in local time, soonest first.

    Args:
        stop_id: the stop, from search_transit_stops.
        query: words of the line or of its last stop.
        limit: most departures to return.
        offset: how many to skip.

    Raises:
        stop_closed: no line halts there for some days.
        no_departures: nothing leaves within an hour.
    """
    stop = session.table(TransitStop).require(stop_id, "search_transit_stops shows the valid ids.")
    if stop.closed_until is not None and session.now < stop.closed_until:
        raise ToolError(
            Fault.STOP_CLOSED, f"{stop.name} is closed until {stop.closed_until:%Y-%m-%d}; use another stop."
        )
    now = local_now(session, stop.city)
    due = []
    for line in _lines_of(session, stop):
        last = session.table(TransitStop).require(line.stop_ids[-1], "")
        if last.id == stop.id:
            continue
        due += [(moment, line.name, last.name) for moment in next_departures(session, line, stop)]
    due.sort()
    soon = [
        Departure(name, towards, f"{moment:%H:%M}", int((moment - now).total_seconds() // 60))
        for moment, name, towards in due
        if moment <= now + DEPARTURE_WINDOW
    ]
    if not soon:
        first = f"the next one leaves at {due[0][0]:%H:%M}" if due else "no line goes on from there"
        raise ToolError(Fault.NO_DEPARTURES, f"Nothing leaves {stop.name} within an hour; {first}.")
    return paginate(search(soon, query, lambda item: f"{item.line} {item.towards}"), limit, offset)


@server.tool(read_only=True)
def find_parking(session: Session, place_id: PlaceId, limit: Limit = 3, offset: Offset = 0) -> Page[ParkingItem]:
    """Find car parks near a place that have free spaces at this hour, nearest first.

    Args:
        place_id: the place, from search_places.
        limit: most car parks to return.
        offset: how many to skip.

    Raises:
        no_parking_nearby: there is none within 900 metres.
        parking_full: all of them are full.
    """
    place = place_of(session, place_id)
    lots = [(far, lot, free_spaces(session, lot)) for far, lot in lots_near(session, place)]
    items = [ParkingItem(lot.name, far, free, lot.hourly) for far, lot, free in lots if free > 0]
    if not items:
        names = ", ".join(lot.name for _, lot, _ in lots)
        raise ToolError(Fault.PARKING_FULL, f"Full at this hour: {names}. Try a place nearby or a later hour.")
    return paginate(items, limit, offset)
