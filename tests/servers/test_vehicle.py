"""The cars: each error code is reached, and interlocks, charge and cost behave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from servers.vehicle.model import Charger, Fault, LogEntry, SavedDestination, ServiceSlot, Vehicle
from servers.vehicle.rules import distance_km, free_connectors
from tests.servers.play import Play


def ready(play: Play) -> Vehicle:
    """The car with ignition on, in park, brake pressed."""
    return cars(play)[0]


def cars(play: Play) -> list[Vehicle]:
    """Ready, moving, charging, startable, open, valet, plugged, in drive, to update, updating: the seed's order."""
    return play.rows(Vehicle)


def fails(play: Play, code: str, tool: str, car: Vehicle, **arguments: Any) -> str:
    return play.fails(code, tool, vehicle_id=car.id, **arguments)


def vehicle_updating(play: Play) -> None:
    car = cars(play)[9]
    fails(play, "vehicle_updating", "lock_vehicle", car, state="locked")
    play.wait(minutes=20)
    play.ok("lock_vehicle", vehicle_id=car.id, state="locked")
    play.ok("set_brake_pedal", vehicle_id=cars(play)[8].id, pedal="pressed")
    play.ok("install_vehicle_update", vehicle_id=cars(play)[8].id)
    assert "from 09:46 UTC" in fails(play, "vehicle_updating", "lock_vehicle", cars(play)[8], state="locked")


def brake_not_pressed(play: Play) -> None:
    fails(play, "brake_not_pressed", "switch_ignition", cars(play)[8], power="on")


def brake_pressed(play: Play) -> None:
    fails(play, "brake_pressed", "set_cruise_control", cars(play)[7], speed_kmh=60)


def not_in_park(play: Play) -> None:
    fails(play, "not_in_park", "switch_ignition", cars(play)[7], power="off")


def part_open(play: Play) -> None:
    car = cars(play)[4]
    assert "trunk" in fails(play, "part_open", "lock_vehicle", car, state="locked")
    for part in ("driver door", "trunk"):
        play.ok("move_vehicle_part", vehicle_id=car.id, part=part, position="closed")
    play.ok("lock_vehicle", vehicle_id=car.id, state="locked")


def vehicle_moving(play: Play) -> None:
    fails(play, "vehicle_moving", "shift_gear", cars(play)[1], gear="R")


def vehicle_locked(play: Play) -> None:
    fails(play, "vehicle_locked", "move_vehicle_part", ready(play), part="trunk", position="open")


def ignition_off(play: Play) -> None:
    fails(play, "ignition_off", "shift_gear", cars(play)[8], gear="D")


def ignition_on(play: Play) -> None:
    car = cars(play)[8]
    play.ok("set_brake_pedal", vehicle_id=car.id, pedal="pressed")
    play.ok("switch_ignition", vehicle_id=car.id, power="on")
    fails(play, "ignition_on", "install_vehicle_update", car)


def cable_plugged(play: Play) -> None:
    car = cars(play)[6]
    play.ok("set_brake_pedal", vehicle_id=car.id, pedal="pressed")
    play.ok("switch_ignition", vehicle_id=car.id, power="on")
    fails(play, "cable_plugged", "shift_gear", car, gear="D")


def not_plugged(play: Play) -> None:
    fails(play, "not_plugged", "switch_vehicle_charging", ready(play), command="start")


def charge_too_low(play: Play) -> None:
    fails(play, "charge_too_low", "set_cabin_climate", cars(play)[4], celsius=21)


def valet_mode(play: Play) -> None:
    car = cars(play)[5]
    fails(play, "valet_mode", "set_drive_mode", car, mode="sport")
    play.ok("set_valet_mode", vehicle_id=car.id, valet="off", vehicle_pin=car.pin)
    play.ok("set_drive_mode", vehicle_id=car.id, mode="sport")


def gear_not_suitable(play: Play) -> None:
    fails(play, "gear_not_suitable", "set_cruise_control", ready(play), speed_kmh=60)


def mode_not_suitable(play: Play) -> None:
    car = cars(play)[1]
    play.ok("set_drive_mode", vehicle_id=car.id, mode="snow")
    fails(play, "mode_not_suitable", "set_cruise_control", car, speed_kmh=60)


def station(play: Play, car: Vehicle, *, free: bool = True, offline: bool = False) -> Charger:
    rows = [row for row in play.rows(Charger) if row.offline == offline and row.connector == car.connector]
    rows = [row for row in rows if offline or (free_connectors(row, play.session.now) > 0) == free]
    return min(rows, key=lambda row: distance_km(car, row))


def farthest(play: Play, car: Vehicle) -> SavedDestination:
    return max(play.rows(SavedDestination), key=lambda row: distance_km(car, row))


def range_too_short(play: Play) -> None:
    car = cars(play)[4]
    fails(play, "range_too_short", "start_navigation", car, destination_id=farthest(play, car).id)


def not_a_charger(play: Play) -> None:
    car, (one, two, *_) = ready(play), play.rows(SavedDestination)
    fails(play, "not_a_charger", "start_navigation", car, destination_id=one.id, charging_stop_id=two.id)


def stop_fails(play: Play, code: str, car: Vehicle, stop: Charger) -> None:
    goal = play.rows(SavedDestination)[0]
    fails(play, code, "start_navigation", car, destination_id=goal.id, charging_stop_id=stop.id)


def ccs(play: Play) -> Vehicle:
    """A car with the usual connector."""
    return cars(play)[6]


def charger_occupied(play: Play) -> None:
    stop = station(play, ccs(play), free=False)
    stop_fails(play, "charger_occupied", ccs(play), stop)
    play.wait(minutes=90)
    assert free_connectors(stop, play.session.now) == stop.connectors


def charger_offline(play: Play) -> None:
    stop_fails(play, "charger_offline", ccs(play), station(play, ccs(play), offline=True))


def connector_mismatch(play: Play) -> None:
    stop = next(row for row in play.rows(Charger) if row.connector != "CCS" and not row.offline)
    stop_fails(play, "connector_mismatch", ccs(play), stop)


def already_charging(play: Play) -> None:
    fails(play, "already_charging", "switch_vehicle_charging", cars(play)[2], command="start")


def not_charging(play: Play) -> None:
    fails(play, "not_charging", "switch_vehicle_charging", cars(play)[6], command="stop")


def limit_reached(play: Play) -> None:
    car = cars(play)[2]
    play.ok("set_charge_limit", vehicle_id=car.id, percent=51)
    play.wait(hours=6)
    assert play.ok("list_vehicles", query=car.name)["items"][0]["state"] == "parked"
    fails(play, "limit_reached", "switch_vehicle_charging", car, command="start")
    assert play.ok("switch_vehicle_charging", vehicle_id=car.id, command="stop")["charge_percent"] >= 51
    fails(play, "limit_reached", "switch_vehicle_charging", car, command="start")


def limit_too_high(play: Play) -> None:
    car = next(car for car in cars(play)[:9] if car.highest_limit == 90)
    fails(play, "limit_too_high", "set_charge_limit", car, percent=95)


def wrong_pin(play: Play) -> None:
    fails(play, "wrong_pin", "set_valet_mode", ready(play), valet="on", vehicle_pin="0000")


def no_update(play: Play) -> None:
    fails(play, "no_update", "install_vehicle_update", cars(play)[3])
    car = cars(play)[8]
    play.ok("install_vehicle_update", vehicle_id=car.id)
    play.wait(minutes=25)
    assert "2026.2" in fails(play, "no_update", "install_vehicle_update", car)


def slot_taken(play: Play) -> None:
    slot = next(row for row in play.rows(ServiceSlot) if row.taken)
    fails(play, "slot_taken", "book_service_slot", cars(play)[3], slot_id=slot.id)


def open_slots(play: Play) -> list[ServiceSlot]:
    rows = [row for row in play.rows(ServiceSlot) if not row.taken and row.vehicle_id is None]
    return sorted(rows, key=lambda row: row.at)


def slot_too_soon(play: Play) -> None:
    fails(play, "slot_too_soon", "book_service_slot", cars(play)[3], slot_id=open_slots(play)[0].id)


def already_booked(play: Play) -> None:
    fails(play, "already_booked", "book_service_slot", ready(play), slot_id=open_slots(play)[-1].id)


FAULTS: dict[str, Callable[[Play], None]] = {
    name: scenario for name, scenario in globals().items() if name in set(Fault)
}


@pytest.mark.parametrize("fault", sorted(Fault))
def test_fault_is_reached(fault: str) -> None:
    FAULTS[fault](Play("vehicle"))


def test_a_parked_car_is_driven_off_step_by_step() -> None:
    play = Play("vehicle")
    car = cars(play)[8].id
    play.ok("set_brake_pedal", vehicle_id=car, pedal="pressed")
    play.ok("switch_ignition", vehicle_id=car, power="on")
    play.ok("shift_gear", vehicle_id=car, gear="D")
    play.ok("set_brake_pedal", vehicle_id=car, pedal="released")
    assert play.ok("set_cruise_control", vehicle_id=car, speed_kmh=60)["speed_kmh"] == 60
    assert play.ok("set_brake_pedal", vehicle_id=car, pedal="pressed")["speed_kmh"] == 0


def test_charging_takes_time_and_costs_what_the_station_asks() -> None:
    play = Play("vehicle")
    car = cars(play)[6]
    play.ok("switch_vehicle_charging", vehicle_id=car.id, command="start")
    levels = []
    for _ in range(4):
        play.wait(minutes=15)
        levels.append(play.ok("get_vehicle_status", vehicle_id=car.id)["charge_percent"])
    assert levels == sorted(levels) and car.charge < levels[-1] <= car.limit
    result = play.ok("switch_vehicle_charging", vehicle_id=car.id, command="stop")
    entry = play.rows(LogEntry)[-1]
    price = next(row.price for row in play.rows(Charger) if row.id == car.plug_id)
    assert entry.cost == price.share(round(entry.kwh * 10), 10) and str(entry.cost) == result["cost"]
    assert play.ok("list_vehicle_logbook", vehicle_id=car.id, kind="charge", limit=1)["items"][0]["kwh"] == entry.kwh


def test_a_changed_limit_loses_neither_energy_nor_money() -> None:
    play = Play("vehicle")
    car = cars(play)[2]
    for percent in (75, 70, 78, 65):
        play.ok("set_charge_limit", vehicle_id=car.id, percent=percent)
    play.wait(hours=6)
    play.ok("set_charge_limit", vehicle_id=car.id, percent=75)
    before = play.session.state_hash
    play.ok("set_charge_limit", vehicle_id=car.id, percent=75)
    assert play.session.state_hash == before
    assert play.ok("get_vehicle_status", vehicle_id=car.id)["charge_percent"] < 75
    play.wait(hours=6)
    result = play.ok("switch_vehicle_charging", vehicle_id=car.id, command="stop")
    assert result["charge_percent"] == 75
    assert result["kwh"] == (75 - car.charge) * car.capacity_kwh // 10 / 10


def test_what_is_on_fits_the_mode_the_doors_and_the_ignition() -> None:
    play = Play("vehicle")
    car = cars(play)[7]
    play.ok("set_drive_mode", vehicle_id=car.id, mode="comfort")
    play.ok("lock_vehicle", vehicle_id=car.id, state="unlocked")
    play.ok("move_vehicle_part", vehicle_id=car.id, part="driver door", position="open")
    play.ok("set_brake_pedal", vehicle_id=car.id, pedal="released")
    fails(play, "part_open", "set_cruise_control", car, speed_kmh=60)
    play.ok("move_vehicle_part", vehicle_id=car.id, part="driver door", position="closed")
    play.ok("set_cruise_control", vehicle_id=car.id, speed_kmh=60)
    fails(play, "mode_not_suitable", "set_drive_mode", car, mode="snow")
    play.ok("set_brake_pedal", vehicle_id=car.id, pedal="pressed")
    play.ok("set_drive_mode", vehicle_id=car.id, mode="sport")
    play.ok("set_valet_mode", vehicle_id=car.id, valet="on", vehicle_pin=car.pin)
    assert cars(play)[7].drive_mode == "comfort"
    play.ok("set_headlights", vehicle_id=car.id, lights="high beam")
    play.ok("set_cabin_climate", vehicle_id=car.id, celsius=21, seat_heating=2)
    play.ok("shift_gear", vehicle_id=car.id, gear="P")
    play.ok("switch_ignition", vehicle_id=car.id, power="off")
    assert (cars(play)[7].headlights, cars(play)[7].seat_heating) == ("off", 0)


def test_places_are_listed_nearest_first_and_a_booked_slot_disappears() -> None:
    play = Play("vehicle")
    car = cars(play)[3]
    items = play.ok("list_navigation_places", vehicle_id=car.id, kind="charger", limit=50)["items"]
    assert [item["distance_km"] for item in items] == sorted(item["distance_km"] for item in items)
    slot = open_slots(play)[-1]
    play.ok("book_service_slot", vehicle_id=car.id, slot_id=slot.id)
    assert slot.id not in str(play.ok("list_service_slots", query=slot.city, service=slot.service, limit=50))


def test_pins_are_never_shown() -> None:
    play = Play("vehicle")
    assert "pin" not in str(play.ok("list_vehicles", limit=50))
    assert "pin" not in play.ok("get_vehicle_status", vehicle_id=ready(play).id)
