"""A server whose calls go wrong in every way that a process can.

In process its tools are ordinary, so that rows and their ground truth can be made from it. `wrecked.py` serves it as
a program, in which the name of a call decides what happens between the request and its answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from servers.kernel.server import SeedBuilder, ToolServer
from servers.kernel.session import Session
from servers.kernel.store import Record


class Fault(StrEnum):
    """It has none of its own."""


@dataclass(frozen=True, slots=True)
class Note(Record):
    """A row."""

    text: str


def _seed(make: SeedBuilder) -> Iterator[Record]:
    yield Note(make.new_id("NTE"), "the first")


wreck = ToolServer("wreck", "A ship past saving", records=(Note,), seed=_seed, faults=Fault)


def _write(session: Session, text: str) -> Note:
    return session.table(Note).add(Note(session.new_id("NTE"), text))


@wreck.tool()
def write_note(session: Session) -> Note:
    """Write a note."""
    return _write(session, "calm")


@wreck.tool()
def sleep_an_hour(session: Session) -> Note:
    """Answer after an hour; other calls go on."""
    return _write(session, "slept")


@wreck.tool()
def block_an_hour(session: Session) -> Note:
    """Answer after an hour, during which the whole process stands still."""
    return _write(session, "blocked")


@wreck.tool()
def exit_the_process(session: Session) -> Note:
    """End the process instead of an answer."""
    return _write(session, "gone")


@wreck.tool()
def say_half(session: Session) -> Note:
    """Send half of the answer and stall."""
    return _write(session, "half")


@wreck.tool()
def cut_off(session: Session) -> Note:
    """Send half of the answer and hang up."""
    return _write(session, "cut")


@wreck.tool()
def babble(session: Session) -> Note:
    """Send something that is no message."""
    return _write(session, "babble")
