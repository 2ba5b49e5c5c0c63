"""The home's initial world: rooms, their devices in many states, scenes and schedules."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import time, timedelta
from typing import TypedDict

from servers.iot_devices.model import (
    AlarmState,
    AlarmZone,
    Automation,
    Blind,
    Camera,
    Days,
    Device,
    Door,
    DoorKind,
    Floor,
    Home,
    Light,
    Measure,
    Plug,
    Room,
    Scene,
    SceneAction,
    Sensor,
    Speaker,
    Thermostat,
    ThermostatMode,
    Vacuum,
    VacuumFloor,
    ZoneName,
)
from servers.kernel.dice import Dice
from servers.kernel.server import SeedBuilder
from servers.kernel.session import EPOCH
from servers.kernel.store import Record
from servers.shared.places import CITIES

_ROOMS: tuple[tuple[str, Floor, ZoneName], ...] = (
    ("Kitchen", "ground", "house"),
    ("Living Room", "ground", "house"),
    ("Dining Room", "ground", "house"),
    ("Hallway", "ground", "house"),
    ("Library", "ground", "house"),
    ("Main Bedroom", "upper", "house"),
    ("Guest Bedroom", "upper", "house"),
    ("Nursery", "upper", "house"),
    ("Bathroom", "upper", "house"),
    ("Home Office", "attic", "house"),
    ("Playroom", "attic", "house"),
    ("Laundry Room", "basement", "house"),
    ("Wine Cellar", "basement", "house"),
    ("Garden", "outside", "house"),
    ("Garage", "outside", "garage"),
    ("Studio", "outside", "studio"),
    ("Workshop", "outside", "workshop"),
)
_LAMPS = ("Ceiling Light", "Floor Lamp", "Wall Lamp", "Corner Lamp", "Shelf Light", "Spotlight")
_APPLIANCES = ("Fan", "Heater", "Kettle", "Radio", "Freezer", "Aquarium Pump", "Dehumidifier", "Charger", "Router")
_PROTECTED = {"Freezer", "Aquarium Pump", "Router"}
_AIR: tuple[Measure, ...] = ("humidity", "motion")
_MUSIC = ("Evening Jazz", "Morning News", "Lullabies", "Piano Classics")
_DOORS: tuple[tuple[str, str, DoorKind, ZoneName], ...] = (
    ("Front Door", "Hallway", "hinged", "house"),
    ("Back Door", "Kitchen", "hinged", "house"),
    ("Patio Door", "Living Room", "hinged", "house"),
    ("Office Door", "Home Office", "hinged", "house"),
    ("Cellar Door", "Wine Cellar", "hinged", "house"),
    ("Laundry Side Door", "Laundry Room", "hinged", "house"),
    ("Garden Gate", "Garden", "hinged", "house"),
    ("Carport Gate", "Garden", "garage", "house"),
    ("Left Garage Door", "Garage", "garage", "garage"),
    ("Right Garage Door", "Garage", "garage", "garage"),
    ("Garage Side Door", "Garage", "hinged", "garage"),
    ("Studio Door", "Studio", "hinged", "studio"),
    ("Studio Terrace Door", "Studio", "hinged", "studio"),
    ("Workshop Door", "Workshop", "hinged", "workshop"),
    ("Workshop Roller Door", "Workshop", "garage", "workshop"),
)
_OPEN = {"Patio Door", "Carport Gate", "Right Garage Door"}
_IN_USE = {"Patio Door", "Right Garage Door"}
_UNLOCKED = {"Front Door", "Back Door", "Garden Gate", "Studio Terrace Door"} | _OPEN
_JAMMED = {"Back Door", "Cellar Door"}
_PRIVATE = {"Office Door", "Cellar Door"}
_SCENES = (
    "Movie Night", "Good Morning", "Good Night", "Dinner Party", "Reading Time", "Work Focus", "Romantic Evening",
    "Bright Cleaning", "Baby Sleep", "Sunday Brunch", "Yoga Session", "Gaming", "Rainy Day", "Welcome Home",
    "Late Snack", "Garden Party", "Homework Hour", "Winter Comfort", "Siesta", "Game Day",
)  # fmt: skip


class Common(TypedDict):
    """The columns that every device has."""

    id: str
    name: str
    room: str
    reachable: bool
    battery: int | None
    firmware: str
    latest: str
    restarted_at: None
    updating_since: None


def build(make: SeedBuilder) -> Iterator[Record]:
    """Write the home, then room by room its devices, then what refers to them."""
    dice = make.dice
    city = dice.choice(CITIES)
    yield Home("home", city.name, city.zone, "home", f"{dice.integer(1000, 9999)}")
    for n, zone in enumerate(("house", "garage", "studio", "workshop")):
        state: AlarmState = "away" if zone == "workshop" else "disarmed"
        yield AlarmZone(zone, state, EPOCH - timedelta(minutes=4 * dice.integer(10, 200) + n))
    devices: list[Device] = []
    for name, floor, part in _ROOMS:
        yield Room(name, name, floor, part)
        devices += _room_devices(make, dice, name, floor)
    devices += _doors(make, dice)
    devices += _vacuums(make, dice)
    yield from devices
    scenes = [Scene(make.new_id("SCN"), name) for name in _SCENES]
    yield from scenes
    yield from _actions(make, dice, scenes, devices)
    yield from _automations(make, dice, scenes)


def _common(make: SeedBuilder, dice: Dice, prefix: str, name: str, room: str, powered: bool = True) -> Common:
    battery = None if powered else dice.weighted((0, dice.integer(3, 25), dice.integer(30, 100)), (1, 4, 10))
    old = dice.chance(0.3)
    minor = dice.integer(2, 8)
    return {
        "id": make.new_id(prefix),
        "name": name,
        "room": room,
        "reachable": battery != 0 and not dice.chance(0.1),
        "battery": battery,
        "firmware": f"{dice.integer(1, 4)}.{minor}" if not old else f"1.{minor}",
        "latest": f"5.{minor}" if old else "",
        "restarted_at": None,
        "updating_since": None,
    }


def _room_devices(make: SeedBuilder, dice: Dice, room: str, floor: Floor) -> Iterator[Device]:
    for lamp in dice.sample(_LAMPS, dice.integer(2, 4)):
        yield _light(make, dice, f"{room} {lamp}", room)
    for appliance in dice.sample(_APPLIANCES, dice.integer(1, 2)):
        common = _common(make, dice, "PLG", f"{room} {appliance}", room)
        protected = appliance in _PROTECTED
        on = protected or dice.chance(0.5)
        yield Plug(**common, on=on, watts=dice.integer(5, 1500), wh_today=dice.integer(0, 4000), protected=protected)
    if floor != "outside" or room == "Studio":
        yield _thermostat(make, dice, room)
        for side in dice.sample(("East Blind", "West Blind"), dice.integer(0, 2)):
            common = _common(make, dice, "BLD", f"{room} {side}", room)
            yield Blind(**common, position=dice.choice((0, 30, 50, 100)), windy=dice.chance(0.12))
    if dice.chance(0.5):
        common = _common(make, dice, "CAM", f"{room} Camera", room)
        yield Camera(**common, privacy=dice.chance(0.4), clips_today=dice.integer(0, 14))
    if dice.chance(0.6):
        common = _common(make, dice, "SPK", f"{room} Speaker", room)
        yield Speaker(**common, playing=dice.choice(("", "", *_MUSIC)), volume=dice.integer(10, 45))
    yield from _sensors(make, dice, room, floor)


def _light(make: SeedBuilder, dice: Dice, name: str, room: str) -> Light:
    warmest, coolest = dice.choice(((2200, 6500), (2700, 4000), (2700, 2700)))
    return Light(
        **_common(make, dice, "LGT", name, room),
        on=dice.chance(0.4),
        brightness=dice.integer(2, 10) * 10,
        kelvin=warmest,
        warmest=warmest,
        coolest=coolest,
        dimmable=dice.chance(0.8),
    )


def _thermostat(make: SeedBuilder, dice: Dice, room: str) -> Thermostat:
    sets: tuple[tuple[ThermostatMode, ...], ...] = (("off", "heat", "eco"), ("off", "heat", "cool", "auto", "eco"))
    modes = dice.choice(sets)
    return Thermostat(
        **_common(make, dice, "THM", f"{room} Thermostat", room, powered=dice.chance(0.5)),
        mode=dice.choice(modes),
        modes=modes,
        target=dice.integer(34, 46) / 2,
        lowest=float(dice.choice((5, 10, 12))),
        highest=float(dice.choice((25, 28, 30))),
        temperature=dice.integer(160, 245) / 10,
    )


def _sensors(make: SeedBuilder, dice: Dice, room: str, floor: Floor) -> Iterator[Device]:
    measures: list[Measure] = ["temperature", *dice.sample(_AIR, dice.integer(1, 2))]
    if room in {"Kitchen", "Bathroom", "Laundry Room", "Wine Cellar", "Workshop"}:
        measures.append("leak")
    if floor in {"ground", "upper", "attic"}:
        measures.append("window")
    for measure in measures:
        value = {
            "temperature": dice.integer(150, 250) / 10,
            "humidity": float(dice.integer(30, 75)),
            "leak": float(dice.chance(0.2)),
        }.get(measure, float(dice.chance(0.3)))
        yield Sensor(
            **_common(make, dice, "SNS", f"{room} {measure.title()} Sensor", room, powered=False),
            measure=measure,
            value=value,
            changed_at=EPOCH - timedelta(minutes=dice.integer(1, 900)),
        )


def _doors(make: SeedBuilder, dice: Dice) -> Iterator[Device]:
    for name, room, kind, zone in _DOORS:
        common = _common(make, dice, "HDR", name, room, powered=kind == "garage")
        if name != "Laundry Side Door":
            common["reachable"] = True
            common["battery"] = common["battery"] and max(common["battery"], 15)
            common["battery"] = 60 if common["battery"] == 0 else common["battery"]
        yield Door(
            **common,
            kind=kind,
            zone=zone,
            open=name in _OPEN,
            locked=kind == "hinged" and name not in _UNLOCKED,
            jammed=name in _JAMMED,
            in_use_until=EPOCH + timedelta(minutes=dice.integer(10, 20) if name in _IN_USE else 0),
            private=name in _PRIVATE,
            code=f"{dice.integer(100000, 999999)}",
        )


def _vacuums(make: SeedBuilder, dice: Dice) -> Iterator[Device]:
    floors: tuple[tuple[VacuumFloor, str, bool, int, bool], ...] = (
        ("ground", "Hallway", False, dice.integer(85, 100), False),
        ("upper", "Main Bedroom", True, dice.integer(80, 100), False),
        ("attic", "Playroom", False, 8, False),
        ("basement", "Laundry Room", False, 100, True),
    )
    for floor, room, cleaning, charge, bin_full in floors:
        common = _common(make, dice, "VAC", f"{floor.title()} Floor Vacuum", room)
        common["reachable"] = True
        since = EPOCH - timedelta(minutes=dice.integer(2, 12))
        yield Vacuum(**common, floor=floor, cleaning=cleaning, since=since, charge=charge, bin_full=bin_full)


def _actions(make: SeedBuilder, dice: Dice, scenes: list[Scene], devices: list[Device]) -> Iterator[Record]:
    fitting = [device for device in devices if isinstance(device, Light | Blind | Thermostat)]
    gone = [device for device in fitting if not device.reachable]
    for scene in scenes:
        chosen = gone[:2] if scene.name == "Siesta" else dice.sample(fitting, dice.integer(4, 8))
        for device in chosen:
            level = dice.integer(18, 23) if isinstance(device, Thermostat) else dice.choice((0, 20, 40, 70, 100))
            yield SceneAction(make.new_id("SCA"), scene.id, device.id, level)


def _automations(make: SeedBuilder, dice: Dice, scenes: list[Scene]) -> Iterator[Record]:
    choices: tuple[Days, ...] = ("daily", "weekdays", "weekends")
    for scene in dice.sample(scenes, 16):
        for days in dice.sample(choices[1:], dice.integer(1, 2)):
            at = time(dice.integer(6, 22), dice.choice((0, 15, 30, 45)))
            name = f"{scene.name} on {days}"
            yield Automation(make.new_id("AUT"), name, scene.id, at, days, dice.chance(0.7))
