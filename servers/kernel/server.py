"""A server: a name, its records, its seed, its tools, and the one way that a call is run.

`ToolServer.call` looks the tool up, validates the arguments, runs the handler in a transaction and
classifies the outcome. Nothing a model sends can make it raise, and nothing that fails leaves a trace.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from importlib.resources import files
from typing import Any, TypeVar

from pydantic_core import to_json

from servers.kernel.dice import Dice
from servers.kernel.errors import KernelFault, ToolError, UnknownToolError
from servers.kernel.session import IdStream, Session, World
from servers.kernel.store import Effects, Record, Seed, shown
from servers.kernel.tool import Tool

log = logging.getLogger(__name__)

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one call.

    `text` is what the model reads: the result as compact JSON, or `{"error": {"code", "message"}}`.
    """

    ok: bool
    text: str
    error_code: str
    effects: Effects

    @classmethod
    def failure(cls, code: str, message: str, effects: Effects) -> Outcome:
        """The outcome of a call that failed."""
        return cls(False, to_json({"error": {"code": code, "message": message}}).decode(), code, effects)


@dataclass(frozen=True, slots=True)
class Known:
    """A fact that the user carries in their head and no tool shows: a PIN, a door code.

    It fills parameters named `param`; `about` is the id of the thing that it belongs to, if any.
    """

    param: str
    value: str
    about: str = ""


class SeedBuilder:
    """What a server's `seed.py` writes with: seeded choices, and ids from the session's own streams."""

    def __init__(self, server: str, seed: int) -> None:
        self.seed = seed
        self.dice = Dice(seed, server)
        self.id_counts: dict[str, int] = {}

    def new_id(self, prefix: str) -> str:
        """The next identifier with this prefix; sessions go on where the seed stopped."""
        count = self.id_counts.get(prefix, 0)
        self.id_counts[prefix] = count + 1
        return IdStream.name(prefix, self.seed, count)


class ToolServer:
    """One domain.

    Args:
        name: the server's name, which is also its folder's.
        title: one line on what it is for.
        records: the record classes of its tables.
        seed: writes the initial rows with a `SeedBuilder`.
        faults: the server's own error codes.
        knows: what the user of this world knows by heart.
    """

    def __init__(
        self,
        name: str,
        title: str,
        *,
        records: Sequence[type[Record]],
        seed: Callable[[SeedBuilder], Iterable[Record]],
        faults: type[StrEnum],
        knows: Callable[[Session], Iterable[Known]] = lambda session: (),
    ) -> None:
        self.name = name
        self.title = title
        self.records = tuple(records)
        self.faults = faults
        self.knows = knows
        self.tools: dict[str, Tool] = {}
        self._seed = seed

    def tool(self, *, read_only: bool = False, destructive: bool = False, idempotent: bool = False) -> Callable[[F], F]:
        """Register a function as a tool of this server."""

        def register(function: F) -> F:
            tool = Tool(function, read_only=read_only, destructive=destructive, idempotent=idempotent)
            if tool.name in self.tools:
                raise ValueError(f"{self.name} has two tools named {tool.name}")
            self.tools[tool.name] = tool
            return function

        return register

    @cached_property
    def policy(self) -> str:
        """What an agent may and may not do for the customer (`policy.md`)."""
        return files(f"servers.{self.name}").joinpath("policy.md").read_text(encoding="utf-8")

    def build_seed(self, seed: int) -> SeedRows:
        """The rows of this server in the world of this seed number."""
        builder = SeedBuilder(self.name, seed)
        rows = tuple(self._seed(builder))
        foreign = {type(row).__name__ for row in rows} - {kind.__name__ for kind in self.records}
        if foreign:
            raise TypeError(f"{self.name}: the seed holds {sorted(foreign)}, missing from its records")
        return SeedRows(rows, builder.id_counts)

    def call(self, session: Session, name: str, arguments: Mapping[str, Any]) -> Outcome:
        """Run one call in a transaction.

        Raises:
            UnknownToolError: this server has no tool of exactly this name.
        """
        tool = self.tools.get(name)
        if tool is None:
            raise UnknownToolError(f"{self.name} has no tool {shown(name)}")
        try:
            result = tool.handler(session, **tool.arguments(arguments))
            text = tool.render(result)
            effects = session.commit(name, arguments)
        except ToolError as error:
            return Outcome.failure(str(error.code), error.message, session.rollback())
        except Exception:  # the boundary: a fault of ours is logged and must not end the episode
            log.exception("internal error in %s.%s", self.name, name)
            message = f"{name} failed inside the server; nothing was changed."
            return Outcome.failure(str(KernelFault.INTERNAL), message, session.rollback())
        return Outcome(True, text, "", effects)


@dataclass(frozen=True, slots=True)
class SeedRows:
    """One server's share of a world."""

    rows: tuple[Record, ...]
    id_counts: Mapping[str, int]


def make_world(servers: Iterable[ToolServer], seed: int) -> World:
    """The shared, immutable start of every session over these servers.

    Raises:
        ValueError: two servers draw identifiers with the same prefix.
    """
    rows: list[Record] = []
    counts: dict[str, int] = {}
    for server in servers:
        part = server.build_seed(seed)
        clash = counts.keys() & part.id_counts.keys()
        if clash:
            raise ValueError(f"{server.name} reuses the id prefix {sorted(clash)} of another server")
        rows.extend(part.rows)
        counts.update(part.id_counts)
    return World(seed, Seed(rows), counts)
