"""All servers, all tools, and the fingerprint that ties every artefact to them."""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from importlib import import_module
from typing import Any

import servers
from servers.kernel.errors import HarnessError, UnknownToolError
from servers.kernel.server import Outcome, ToolServer, make_world
from servers.kernel.session import Session, World
from servers.kernel.store import shown
from servers.kernel.tool import Tool

KEPT_WORLDS = 16
"""Worlds that a catalogue remembers; sessions hold theirs as long as they need it."""

_NOT_SERVERS = {"gateway", "kernel", "shared"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A tool and the server that it belongs to."""

    server: ToolServer
    tool: Tool


class Catalog:
    """A set of servers behind one flat name space of tools.

    Raises:
        HarnessError: two servers offer tools of the same name.
    """

    def __init__(self, members: Iterable[ToolServer]) -> None:
        self.servers: dict[str, ToolServer] = {server.name: server for server in members}
        self.entries: dict[str, Entry] = {}
        for server in self.servers.values():
            for name, tool in server.tools.items():
                if name in self.entries:
                    other = self.entries[name].server.name
                    raise HarnessError(f"tool {name} exists in {other} and in {server.name}: rename one")
                self.entries[name] = Entry(server, tool)
        self._worlds: dict[int, World] = {}

    def world(self, seed: int) -> World:
        """The shared start of all sessions of this seed number; the last few are kept."""
        if seed not in self._worlds:
            if len(self._worlds) >= KEPT_WORLDS:
                self._worlds.pop(next(iter(self._worlds)))
            self._worlds[seed] = make_world(self.servers.values(), seed)
        return self._worlds[seed]

    def warm(self) -> None:
        """Build what the first session would otherwise wait for: the usual world and the fingerprint."""
        self.world(0)
        _ = self.fingerprint

    def entry(self, name: str) -> Entry:
        """The tool of exactly this name.

        Raises:
            UnknownToolError: there is none.
        """
        entry = self.entries.get(name)
        if entry is None:
            raise UnknownToolError(f"there is no tool {shown(name)}")
        return entry

    def call(self, session: Session, name: str, arguments: Mapping[str, Any]) -> Outcome:
        """Run one call on the server that has the tool."""
        return self.entry(name).server.call(session, name, arguments)

    def replay(self, session: Session) -> Session:
        """A fresh session of the same seed, brought to the same state by running the log again.

        Raises:
            HarnessError: a logged call failed, so the log is of other servers.
        """
        fresh = Session(session.world)
        for item in session.log:
            self.redo(fresh, item.tool, item.arguments)
        return fresh

    def redo(self, session: Session, tool: str, arguments: Mapping[str, Any]) -> None:
        """Run one log entry; an empty tool name is a user turn.

        Raises:
            HarnessError: the call failed.
        """
        if not tool:
            session.user_turn()
            return
        outcome = self.call(session, tool, arguments)
        if not outcome.ok:
            raise HarnessError(f"the log does not fit these servers: {tool} answered {outcome.text}")

    @cached_property
    def fingerprint(self) -> str:
        """Digest of every server's fingerprint, 16 hexadecimal digits."""
        return _digest({name: server_fingerprint(server) for name, server in sorted(self.servers.items())})


def server_fingerprint(server: ToolServer) -> str:
    """Digest of what a model sees of a server and of the world it starts from, 16 hexadecimal digits."""
    tools = {name: describe(tool) for name, tool in server.tools.items()}
    rows = make_world([server], 0).rows.digest
    return _digest({"tools": tools, "seed": f"{rows:032x}"})


def describe(tool: Tool) -> dict[str, Any]:
    """A tool as plain data: what is published, hashed and shown."""
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "read_only": tool.read_only,
        "destructive": tool.destructive,
        "idempotent": tool.idempotent,
        "error_codes": list(tool.error_codes),
    }


def server_names() -> list[str]:
    """The folders under `servers/` that hold a server, in alphabetical order."""
    found = {item.name for item in pkgutil.iter_modules(servers.__path__) if item.ispkg}
    return sorted(found - _NOT_SERVERS)


@lru_cache(maxsize=32)
def load_catalog(names: tuple[str, ...] = ()) -> Catalog:
    """The catalogue of the named servers, or of all.

    Raises:
        HarnessError: a name is unknown.
    """
    known = server_names()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise HarnessError(f"unknown server {shown(unknown[0])}; there are {', '.join(known)}")
    return Catalog(import_module(f"servers.{name}").server for name in names or known)


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=8).hexdigest()
