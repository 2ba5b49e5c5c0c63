"""Upkeep: logbook, workshop hours and software."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.vehicle.model import EntryKind, Fault, LogEntry, Service, ServiceSlot, SlotId, Vehicle, VehicleId
from servers.vehicle.rules import (
    UPDATE_CHARGE,
    UPDATE_TIME,
    charge_now,
    check_park,
    ready_vehicle,
    slot_of,
    software,
    vehicle_of,
)
from servers.vehicle.server import server
from servers.vehicle.views import Appointment, LogItem, SlotItem, Updating

NOTICE = timedelta(hours=4)


@server.tool(read_only=True)
def list_vehicle_logbook(
    session: Session,
    vehicle_id: VehicleId,
    query: Query = "",
    kind: EntryKind | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[LogItem]:
    """List a car's past drives and charging sessions with km, energy and cost, newest first.

    Args:
        vehicle_id: the car, from list_vehicles.
        query: words of the places.
        kind: only drives or only charging sessions.
        limit: most entries to return.
        offset: how many to skip.
    """
    vehicle_of(session, vehicle_id)
    rows = search(session.table(LogEntry).where(vehicle_id=vehicle_id), query, lambda row: row.text)
    rows = [row for row in rows if kind is None or row.kind == kind]
    rows.sort(key=lambda row: (-row.at.timestamp(), row.id))
    items = [LogItem(row.at, row.kind, row.text, row.km, row.kwh, row.cost) for row in rows]
    return paginate(items, limit, offset)


@server.tool(read_only=True)
def list_service_slots(
    session: Session,
    query: Query = "",
    service: Service | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[SlotItem]:
    """List free appointments at workshops with their ids and prices, soonest first.

    Args:
        query: words of the workshop or its city.
        service: only appointments for this work.
        limit: most appointments to return.
        offset: how many to skip.
    """
    rows = search(session.table(ServiceSlot).all(), query, lambda row: f"{row.workshop} {row.city}")
    rows = [row for row in rows if not row.taken and row.vehicle_id is None and row.at > session.now]
    rows = [row for row in rows if service is None or row.service == service]
    rows.sort(key=lambda row: (row.at, row.id))
    return paginate([SlotItem(row.id, row.workshop, row.service, row.at, row.price) for row in rows], limit, offset)


@server.tool()
def book_service_slot(session: Session, vehicle_id: VehicleId, slot_id: SlotId) -> Appointment:
    """Book a free workshop appointment for a car, at least four hours ahead.

    Args:
        vehicle_id: the car, from list_vehicles.
        slot_id: the appointment, from list_service_slots.

    Raises:
        slot_taken: somebody else has it.
        slot_too_soon: it begins within four hours.
        already_booked: the car has another appointment to come.
    """
    vehicle, slot = vehicle_of(session, vehicle_id), slot_of(session, slot_id)
    if slot.taken or slot.vehicle_id is not None:
        raise ToolError(Fault.SLOT_TAKEN, f"{slot.workshop} at {slot.at:%Y-%m-%d %H:%M} UTC is taken; choose another.")
    if slot.at < session.now + NOTICE:
        raise ToolError(
            Fault.SLOT_TOO_SOON, f"It begins at {slot.at:%Y-%m-%d %H:%M} UTC; choose one at least four hours ahead."
        )
    for other in session.table(ServiceSlot).where(vehicle_id=vehicle.id):
        if other.at > session.now:
            raise ToolError(
                Fault.ALREADY_BOOKED,
                f"{vehicle.name} is expected at {other.workshop} on {other.at:%Y-%m-%d %H:%M} UTC; "
                "a car has one appointment at a time.",
            )
    session.table(ServiceSlot).put(replace(slot, vehicle_id=vehicle.id))
    return Appointment(slot.id, vehicle.id, slot.workshop, slot.at, slot.price)


@server.tool()
def install_vehicle_update(session: Session, vehicle_id: VehicleId) -> Updating:
    """Install a car's pending software update; the car can't be used for 25 minutes.

    Args:
        vehicle_id: the car, from list_vehicles, which shows pending updates.

    Raises:
        vehicle_updating: the update is being installed.
        no_update: its software is current.
        not_in_park: the gear must be P.
        ignition_on: it must be switched off.
        charge_too_low: an update needs 30 per cent of charge.
    """
    row = ready_vehicle(session, vehicle_id)
    version = software(row, session.now)
    if not row.latest or version == row.latest:
        raise ToolError(Fault.NO_UPDATE, f"{row.name} has the current software, {version}.")
    check_park(row, "an update")
    if row.ignition:
        raise ToolError(Fault.IGNITION_ON, f"{row.name} must be off for an update; switch_ignition off comes first.")
    if charge_now(session, row) < UPDATE_CHARGE:
        raise ToolError(Fault.CHARGE_TOO_LOW, f"An update needs {UPDATE_CHARGE}% of charge; charge {row.name} first.")
    session.table(Vehicle).put(replace(row, updating_since=session.now))
    return Updating(row.id, row.latest, session.now + UPDATE_TIME)
