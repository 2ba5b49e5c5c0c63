"""The smart home's server, and what its owner knows by heart."""

from __future__ import annotations

from collections.abc import Iterator

from servers.iot_devices.model import (
    AlarmZone,
    Automation,
    Blind,
    Camera,
    Door,
    Fault,
    Home,
    Light,
    Plug,
    Room,
    Scene,
    SceneAction,
    Sensor,
    Speaker,
    Thermostat,
    Vacuum,
)
from servers.iot_devices.rules import home_of
from servers.iot_devices.seed import build
from servers.kernel.server import Known, ToolServer
from servers.kernel.session import Session


def knows(session: Session) -> Iterator[Known]:
    """The owner knows the code of each door's keypad and the one of the alarm."""
    for door in session.table(Door).all():
        yield Known("door_code", door.code, door.id)
    yield Known("alarm_code", home_of(session).alarm_code)


server = ToolServer(
    "iot_devices",
    "Lights, climate, doors, alarm, scenes and appliances of a smart home",
    records=(
        Home,
        AlarmZone,
        Room,
        Light,
        Plug,
        Thermostat,
        Door,
        Blind,
        Camera,
        Speaker,
        Vacuum,
        Sensor,
        Scene,
        SceneAction,
        Automation,
    ),
    seed=build,
    faults=Fault,
    knows=knows,
)
