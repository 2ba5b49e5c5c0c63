"""Journeys: places, navigation and charging."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.vehicle.model import (
    Charger,
    ChargingCommand,
    Fault,
    LogEntry,
    NavPlaceId,
    PlaceKind,
    SavedDestination,
    Vehicle,
    VehicleId,
)
from servers.vehicle.rules import (
    charge_now,
    check_charger,
    check_not_valet,
    check_park,
    place_of,
    plan,
    ready_vehicle,
    settled,
    vehicle_of,
)
from servers.vehicle.server import server
from servers.vehicle.views import Charging, Navigation, PlaceItem, Setting, kind_of, place_item


@server.tool(read_only=True)
def list_navigation_places(
    session: Session,
    vehicle_id: VehicleId,
    query: Query = "",
    kind: PlaceKind | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[PlaceItem]:
    """List saved destinations and chargers with their ids and distance from a car, nearest first.

    Args:
        vehicle_id: the car that distances are measured from, from list_vehicles.
        query: words of the place's name or its connector, such as CCS.
        kind: only saved destinations or only chargers.
        limit: most places to return.
        offset: how many to skip.
    """
    vehicle = vehicle_of(session, vehicle_id)
    rows: list[SavedDestination | Charger] = [*session.table(SavedDestination).all()]
    rows += session.table(Charger).all()
    items = [place_item(vehicle, row, session.now) for row in rows if kind is None or kind_of(row) == kind]
    items = search(items, query, lambda item: f"{item.name} {item.connector or ''}")
    return paginate(sorted(items, key=lambda item: (item.distance_km, item.name, item.id)), limit, offset)


@server.tool()
def start_navigation(
    session: Session, vehicle_id: VehicleId, destination_id: NavPlaceId, charging_stop_id: NavPlaceId | None = None
) -> Navigation:
    """Navigate a car to a saved destination or charger, with a charging stop if the range is short.

    Args:
        vehicle_id: the car, from list_vehicles.
        destination_id: where to, from list_navigation_places.
        charging_stop_id: a charger on the way.

    Raises:
        vehicle_updating: it is installing an update.
        valet_mode: saved destinations are hidden in valet mode.
        range_too_short: the charge does not last; add a charging stop.
        not_a_charger: the stop is no charger.
        charger_offline: the stop is out of order.
        charger_occupied: no connector of the stop is free.
        connector_mismatch: the stop has another connector.
    """
    row = ready_vehicle(session, vehicle_id)
    goal = place_of(session, destination_id)
    if isinstance(goal, SavedDestination):
        check_not_valet(row, "saved destinations")
    stop = None
    if charging_stop_id is not None:
        found = place_of(session, charging_stop_id)
        if not isinstance(found, Charger):
            raise ToolError(
                Fault.NOT_A_CHARGER, f"{found.name} is no charger; list_navigation_places with kind charger helps."
            )
        check_charger(row, found, session.now)
        stop = found
    leg = plan(session, row, goal, stop)
    session.table(Vehicle).put(replace(row, destination_id=goal.id))
    arrival = (session.now + leg.duration).replace(second=0)
    return Navigation(row.id, goal.name, leg.km, leg.arrival_charge, arrival, stop.name if stop else None)


@server.tool()
def switch_vehicle_charging(session: Session, vehicle_id: VehicleId, command: ChargingCommand) -> Charging:
    """Start or stop charging a car whose cable is plugged in; stopping shows energy and cost.

    Args:
        vehicle_id: the car, from list_vehicles.
        command: start or stop.

    Raises:
        vehicle_updating: it is installing an update.
        not_in_park: charging needs gear P.
        not_plugged: the cable is not in.
        already_charging: it charges and is below its limit.
        not_charging: there is nothing to stop.
        limit_reached: the charge is at its limit; set_charge_limit raises it.
    """
    row = ready_vehicle(session, vehicle_id)
    check_park(row, "charging")
    if row.plug_id is None:
        raise ToolError(Fault.NOT_PLUGGED, f"{row.name} is not plugged in; somebody must put the cable in.")
    if command == "stop":
        return _stop_charging(session, row, row.plug_id)
    charge = charge_now(session, row)
    if charge >= row.limit:
        raise ToolError(
            Fault.LIMIT_REACHED, f"{row.name} is at {charge}%, its limit is {row.limit}%; set_charge_limit helps."
        )
    if row.charging:
        raise ToolError(Fault.ALREADY_CHARGING, f"{row.name} charges already and is at {charge}%.")
    session.table(Vehicle).put(replace(settled(session, row), charging=True, session_charge=charge))
    return Charging(row.id, True, charge, None, None)


def _stop_charging(session: Session, row: Vehicle, station_id: str) -> Charging:
    if not row.charging:
        raise ToolError(Fault.NOT_CHARGING, f"{row.name} is plugged in but not charging.")
    station = session.table(Charger).require(station_id, "")
    now_at = settled(session, row)
    tenths = (now_at.charge - row.session_charge) * row.capacity_kwh // 10
    cost = station.price.share(tenths, 10)
    session.table(Vehicle).put(replace(now_at, charging=False))
    session.table(LogEntry).add(
        LogEntry(session.new_id("VLG"), row.id, "charge", session.now, station.name, None, tenths / 10, cost)
    )
    return Charging(row.id, False, now_at.charge, tenths / 10, cost)


@server.tool(idempotent=True)
def set_charge_limit(session: Session, vehicle_id: VehicleId, percent: Annotated[int, Field(ge=50, le=100)]) -> Setting:
    """Set the level at which a car stops charging; raising it lets a session that reached the old one go on.

    Args:
        vehicle_id: the car, from list_vehicles.
        percent: the level in per cent; some batteries allow at most 90.

    Raises:
        vehicle_updating: it is installing an update.
        limit_too_high: this car's battery must not be charged so far.
    """
    row = ready_vehicle(session, vehicle_id)
    if percent > row.highest_limit:
        raise ToolError(Fault.LIMIT_TOO_HIGH, f"The battery of {row.name} allows at most {row.highest_limit}%.")
    if percent != row.limit and row.charging and charge_now(session, row) >= min(row.limit, percent):
        row = settled(session, row)
    session.table(Vehicle).put(replace(row, limit=percent))
    return Setting(row.id, "charge_limit", f"{percent}%")
