"""A house as a tool server: doors that open, rooms behind them, and keys that are made to order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, TypeAlias

from servers.kernel.errors import ToolError
from servers.kernel.page import Page, paginate
from servers.kernel.requests import ToolRequests
from servers.kernel.server import SeedBuilder, ToolServer
from servers.kernel.session import Session
from servers.kernel.store import Record
from servers.kernel.types import Entity

DoorId: TypeAlias = Annotated[str, Entity("door")]
RoomId: TypeAlias = Annotated[str, Entity("room")]
KeyId: TypeAlias = Annotated[str, Entity("key")]


class Fault(StrEnum):
    DOOR_CLOSED = "door_closed"


@dataclass(frozen=True, slots=True)
class Door(Record):
    id: DoorId
    name: str
    is_open: bool
    colour: str = "white"


@dataclass(frozen=True, slots=True)
class Room(Record):
    id: RoomId
    name: str


@dataclass(frozen=True, slots=True)
class Key(Record):
    id: KeyId
    door_id: DoorId


@dataclass(frozen=True, slots=True)
class Said:
    text: str


def build(make: SeedBuilder) -> Iterator[Record]:
    yield Door(make.new_id("DOR"), "oak door", is_open=False)
    yield Room(make.new_id("ROM"), "cellar")
    yield Room(make.new_id("ROM"), "attic")


def house() -> ToolServer:
    """A new house."""
    server = ToolServer("house", "Doors and rooms", records=(Door, Room, Key), seed=build, faults=Fault)

    @server.tool(read_only=True)
    def list_doors(session: Session) -> Page[Door]:
        """List the doors."""
        return paginate(session.table(Door).all(), 10)

    @server.tool(read_only=True)
    def list_rooms(session: Session) -> Page[Room]:
        """List the rooms."""
        return paginate(session.table(Room).all(), 10)

    @server.tool(read_only=True)
    def describe_room(session: Session, room_id: RoomId) -> Room:
        """Describe a room.

        Args:
            room_id: the room.
        """
        return session.table(Room).require(room_id, "list_rooms shows them.")

    @server.tool(read_only=True)
    def look_around(session: Session, room_id: RoomId) -> Said:
        """Look into a room through the window; doors don't matter.

        Args:
            room_id: the room.
        """
        room = session.table(Room).require(room_id, "list_rooms shows them.")
        return Said(f"{room.name} and {len(session.table(Door).all())} doors")

    @server.tool()
    def open_door(session: Session, door_id: DoorId) -> Said:
        """Open a door.

        Args:
            door_id: the door.
        """
        door = session.table(Door).require(door_id, "list_doors shows them.")
        session.table(Door).put(replace(door, is_open=True))
        return Said("open")

    @server.tool()
    def paint_door(session: Session, door_id: DoorId) -> Said:
        """Paint a door.

        Args:
            door_id: the door.
        """
        door = session.table(Door).require(door_id, "list_doors shows them.")
        session.table(Door).put(replace(door, colour="red"))
        return Said("red")

    @server.tool()
    def enter_room(session: Session, room_id: RoomId) -> Said:
        """Enter a room.

        Args:
            room_id: the room.

        Raises:
            door_closed: every door is closed.
        """
        room = session.table(Room).require(room_id, "list_rooms shows them.")
        if not any(door.is_open for door in session.table(Door).all()):
            raise ToolError(Fault.DOOR_CLOSED, "The door is closed; open_door opens it.")
        return Said(f"in the {room.name}")

    @server.tool()
    def cut_key(session: Session, door_id: DoorId) -> Key:
        """Cut a key.

        Args:
            door_id: the door.
        """
        return session.table(Key).add(Key(session.new_id("KEY"), door_id))

    @server.tool(read_only=True)
    def try_key(session: Session, key_id: KeyId) -> Said:
        """Try a key.

        Args:
            key_id: the key.
        """
        session.table(Key).require(key_id, "cut_key makes one.")
        return Said("fits")

    return server


REQUESTS = {
    name: ToolRequests(ask=[text] * 4)
    for name, text in {
        "list_doors": "Which doors?",
        "list_rooms": "Which rooms?",
        "describe_room": "Describe {room_id.name}.",
        "look_around": "Look around {room_id.name}.",
        "open_door": "Open {door_id.name}.",
        "paint_door": "Paint {door_id.name}.",
        "enter_room": "Enter {room_id.name}.",
        "cut_key": "Cut a key for {door_id.name}.",
        "try_key": "Try the key {key_id.id}.",
    }.items()
}
