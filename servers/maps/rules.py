"""Places, hours, departures and car parks by the clock of their city."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from servers.kernel.errors import KernelFault, ToolError
from servers.kernel.session import Session
from servers.maps.geo import meters
from servers.maps.model import Fault, MapCity, ParkingLot, Place, PlaceReview, TransitLine, TransitStop

STOP_GAP = timedelta(minutes=3)
DEPARTURE_WINDOW = timedelta(minutes=60)
PARKING_RADIUS = 900
LIST_SIZE = 12
REVIEWS_A_DAY = 3
_LOAD = {7: 40, 8: 80, 9: 100, 10: 100, 11: 100, 12: 95, 13: 95, 14: 95, 15: 90, 16: 85, 17: 70, 18: 60, 19: 60}
"""How full car parks are by the hour, in per cent of their busiest one."""


def place_of(session: Session, place_id: str) -> Place:
    """The place, or an error that says how to find one."""
    return session.table(Place).require(place_id, "search_places shows the valid place ids.")


def covered(session: Session) -> str:
    """The names of the covered cities."""
    return " and ".join(row.id for row in session.table(MapCity).all())


def city_of(session: Session, city: str) -> MapCity:
    """The city, or an error that names the covered ones."""
    found = session.table(MapCity).get(city)
    if found is None:
        raise ToolError(KernelFault.NOT_FOUND, f"The map covers {covered(session)} only.")
    return found


def local_now(session: Session, city: str) -> datetime:
    """The time on a city's clocks."""
    return session.now.astimezone(ZoneInfo(city_of(session, city).zone))


def is_open(place: Place, moment: datetime) -> bool:
    """Whether a place is open at a local moment."""
    if place.gone or (place.opening_on is not None and moment.date() < place.opening_on):
        return False
    if place.opens == place.closes:
        return True
    clock = moment.time()
    if place.opens < place.closes:
        return place.opens <= clock < place.closes and moment.weekday() != place.day_off
    after_midnight = clock < place.closes
    day = (moment.weekday() - after_midnight) % 7
    return (after_midnight or clock >= place.opens) and day != place.day_off


def hours_today(place: Place, moment: datetime) -> str:
    """The hours of a local day, as a sign at the door would say."""
    if place.gone:
        return "closed permanently"
    if place.opening_on is not None and moment.date() < place.opening_on:
        return f"opens on {place.opening_on}"
    if place.opens == place.closes:
        return "day and night"
    if moment.weekday() == place.day_off:
        return "closed today"
    return f"{place.opens:%H:%M}-{place.closes:%H:%M}"


def check_exists(place: Place) -> None:
    """Refuse a place that is gone for good."""
    if place.gone:
        raise ToolError(
            Fault.CLOSED_PERMANENTLY,
            f"{place.name} has closed permanently; search_places finds another {place.category}.",
        )


def rating(session: Session, place: Place) -> tuple[float, int]:
    """Stars to one decimal and how many reviews, counting the user's own of this session."""
    own = [row.stars for row in session.table(PlaceReview).where(place_id=place.id)]
    count = place.ratings + len(own)
    total = place.rating * place.ratings + 10 * sum(own)
    return (round(total / count / 10, 1) if count else 0.0), count


def next_departures(session: Session, line: TransitLine, stop: TransitStop) -> list[datetime]:
    """A line's next two departures from a stop, in local time."""
    now = local_now(session, line.city)
    delay = STOP_GAP * line.stop_ids.index(stop.id)
    found: list[datetime] = []
    for back in (1, 0, -1):
        day = now.date() - timedelta(days=back)
        start = datetime.combine(day, line.first, now.tzinfo) + delay
        end = datetime.combine(day, line.last, now.tzinfo) + delay
        if line.last <= line.first:
            end += timedelta(days=1)
        skipped = max(0, -((start - now) // timedelta(minutes=line.every)))
        due = start + skipped * timedelta(minutes=line.every)
        while due <= end and len(found) < 2:
            if due >= now:
                found.append(due)
            due += timedelta(minutes=line.every)
    return found


def free_spaces(session: Session, lot: ParkingLot) -> int:
    """How many spaces a car park has at this hour."""
    load = _LOAD.get(local_now(session, lot.city).hour, 30)
    return lot.capacity - lot.capacity * lot.busy * load // 10_000


def lots_near(session: Session, place: Place) -> list[tuple[int, ParkingLot]]:
    """Car parks within walking distance with their distance in metres, nearest first."""
    lots = [
        (meters(place.lat, place.lon, lot.lat, lot.lon), lot)
        for lot in session.table(ParkingLot).where(city=place.city)
    ]
    near = [(far, lot) for far, lot in lots if far <= PARKING_RADIUS]
    if not near:
        far, lot = min(lots, key=lambda item: (item[0], item[1].id))
        raise ToolError(
            Fault.NO_PARKING_NEARBY,
            f"No car park within {PARKING_RADIUS} m of {place.name}; the nearest is {lot.name}, {far} m away.",
        )
    return sorted(near, key=lambda item: (item[0], item[1].id))
