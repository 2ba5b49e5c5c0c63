"""A server whose tools take as long as they are told, and its catalogue."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from servers.kernel.catalog import Catalog
from servers.kernel.errors import ToolError
from servers.kernel.server import SeedBuilder, ToolServer
from servers.kernel.session import Session
from servers.kernel.store import Record

SHORT, LONG = float(os.environ.get("NOTES_SHORT", "0.3")), 600.0
"""Seconds that the slow tools take."""


class Fault(StrEnum):
    """What can go wrong."""

    EMPTY_NOTE = "empty_note"


@dataclass(frozen=True, slots=True)
class Note(Record):
    """A row."""

    text: str


@dataclass(frozen=True, slots=True)
class Count:
    """How many notes there are."""

    notes: int


def _seed(make: SeedBuilder) -> Iterator[Record]:
    yield Note(make.new_id("NTE"), "the first")


notes = ToolServer("notes", "Notes, some of them slow", records=(Note,), seed=_seed, faults=Fault)


@notes.tool()
def add_note(session: Session, text: str) -> Note:
    """Add a note.

    Args:
        text: what it says.
    """
    if not text:
        raise ToolError(Fault.EMPTY_NOTE, "a note says something: send a text")
    return session.table(Note).add(Note(session.new_id("NTE"), text))


@notes.tool(read_only=True)
def count_notes(session: Session) -> Count:
    """Count the notes."""
    return Count(len(session.table(Note).all()))


@notes.tool()
def add_slowly(session: Session, text: str) -> Note:
    """Add a note, after a while.

    Args:
        text: what it says.
    """
    time.sleep(SHORT)
    return add_note(session, text)


@notes.tool()
def add_and_hang(session: Session, text: str) -> Note:
    """Add a note and not come back.

    Args:
        text: what it says.
    """
    note = add_note(session, text)
    time.sleep(LONG)
    return note


CATALOG = Catalog([notes])
