"""Random walks over a server's tools, every call checked.

A walk is one session and some fifty calls on it: arguments that live state and `requests.yaml` suggest, the same
with a value drawn anew, arguments drawn from the schema alone, and broken ones. Identifiers that results show
are used again. The number of a walk decides all of it, so a finding is repeated by its number.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any, NoReturn

from jsonschema import Draft202012Validator

from servers.kernel.catalog import load_catalog
from servers.kernel.dice import Dice
from servers.kernel.errors import KernelFault
from servers.kernel.server import Outcome
from servers.kernel.session import Session
from servers.kernel.store import Record, row_digest
from servers.kernel.tool import Tool
from stages.sampling import LiveState, shown_entities, walk
from tests.fuzz.values import Values

WORLDS = (0, 1)
CALLS_OF_A_WALK = 50
SLOWEST = 1.0
"""Seconds of processor time that one call may take."""

COMMON: Mapping[str, frozenset[str]] = {
    "filesystem": frozenset(
        (
            "binary_file",
            "broken_link",
            "invalid_path",
            "is_a_directory",
            "link_loop",
            "name_too_long",
            "not_a_directory",
            "outside_root",
            "permission_denied",
        )
    )
}
"""Codes that any tool of a server may answer with, documented by some of them: those of resolving a path."""

LONGEST_MESSAGE = 600
"""Characters of an error message."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A promise that one call broke."""

    server: str
    walk: int
    tool: str
    arguments: Mapping[str, Any]
    what: str

    def __str__(self) -> str:
        return f"{self.server}, walk {self.walk}: {self.tool}({ascii(self.arguments)[:400]}): {self.what}"


@dataclass(slots=True)
class Tally:
    """What became of many calls; `slowest` is in seconds of processor time."""

    calls: int = 0
    ok: int = 0
    tools: set[str] = field(default_factory=set)
    codes: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, str] = (0.0, "")
    findings: list[Finding] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count another tally in."""
        self.calls += other.calls
        self.ok += other.ok
        self.tools |= other.tools
        self.codes += other.codes
        self.slowest = max(self.slowest, other.slowest)
        self.findings += other.findings


def walk_server(name: str, number: int, seed: int, calls: int = CALLS_OF_A_WALK) -> Tally:
    """Walk number `number` over a server's tools under this seed."""
    return _Walk(name, number, seed).run(calls)


class _Walk:
    def __init__(self, name: str, number: int, seed: int) -> None:
        self._random = Random(f"{seed}/{name}/{number}")
        self._number = number
        self._state = _live(name, WORLDS[number % len(WORLDS)])
        self._server = self._state.server
        self._session = self._state.session.fork()
        self._ids = {kind: list(found) for kind, found in _ids(name, WORLDS[number % len(WORLDS)]).items()}
        self._values = Values(self._random, self._ids)
        self._tally = Tally()

    def run(self, calls: int) -> Tally:
        tools = list(self._server.tools.values())
        for _ in range(calls):
            if self._random.random() < 0.05:
                self._session.user_turn()
            tool = self._random.choice(tools)
            self._call(tool, self._arguments(tool))
        for problem in session_problems(self._state, self._session):
            self._note("", {}, problem)
        return self._tally

    def _arguments(self, tool: Tool) -> dict[str, Any]:
        way = self._random.choices(("bound", "near", "fitting", "broken"), (30, 25, 25, 20))[0]
        bound = None
        if way != "fitting":
            bound = self._state.bind(tool, Dice(self._random.getrandbits(32), tool.name))
        if bound is None:
            given = {p.name: self._values.fitting(p.schema) for p in tool.parameters if self._takes(p.required)}
        else:
            given = dict(bound.arguments)
        if way == "near" and tool.parameters:
            for parameter in self._random.choices(tool.parameters, k=self._random.randint(1, 3)):
                given[parameter.name] = self._values.fitting(parameter.schema)
        if way == "broken":
            self._break(tool, given)
        return given

    def _takes(self, required: bool) -> bool:
        return required or self._random.random() < 0.4

    def _break(self, tool: Tool, given: dict[str, Any]) -> None:
        how = self._random.random()
        if how < 0.2 and given:
            del given[self._random.choice(list(given))]
        elif how < 0.8 and tool.parameters:
            parameter = self._random.choice(tool.parameters)
            given[parameter.name] = self._values.unfitting(parameter.schema)
        else:
            given[self._random.choice((self._values.text(), "session", "_meta", "\ud800"))] = self._values.text()

    def _call(self, tool: Tool, given: dict[str, Any]) -> None:
        before, clock = self._session.state_hash, self._session.now
        begin = time.thread_time()
        outcome = self._server.call(self._session, tool.name, given)
        took = time.thread_time() - begin
        moved = (self._session.state_hash, self._session.now) != (before, clock)
        tally = self._tally
        tally.calls += 1
        tally.ok += outcome.ok
        tally.tools.add(tool.name)
        tally.codes[outcome.error_code or "ok"] += 1
        tally.slowest = max(tally.slowest, (took, f"{tool.name}({ascii(given)[:120]})"))
        for problem in call_problems(self._state, tool, outcome, moved=moved, took=took):
            self._note(tool.name, given, problem)
        if outcome.ok:
            self._learn(tool, outcome)

    def _learn(self, tool: Tool, outcome: Outcome) -> None:
        """Keep some identifiers that the result shows."""
        result = json.loads(outcome.text)
        for kind in shown_entities(tool):
            for sighting in list(walk(tool, result, kind))[:3]:
                self._ids.setdefault(kind, []).append(sighting.id)

    def _note(self, tool: str, given: Mapping[str, Any], what: str) -> None:
        self._tally.findings.append(Finding(self._server.name, self._number, tool, given, what))


def call_problems(state: LiveState, tool: Tool, outcome: Outcome, *, moved: bool, took: float) -> Iterator[str]:
    """What a call did that no call may do; `moved` says whether the state's hash or the clock changed."""
    if took > SLOWEST:
        yield f"took {took:.2f} s"
    try:
        result = json.loads(outcome.text, parse_constant=_refuse)
    except ValueError as error:
        yield f"its text is no JSON: {error}"
        return
    if outcome.error_code == KernelFault.INTERNAL:
        yield "failed inside the server"
    if tool.read_only and (outcome.effects.writes or moved):
        yield "a read-only tool wrote"
    if outcome.ok:
        for misfit in _shape(tool).iter_errors(result):
            yield f"the result does not fit the output schema: {misfit.json_path}: {misfit.message[:200]}"
        return
    if moved or outcome.effects.writes:
        yield "a failed call changed the state"
    if outcome.error_code not in {*state.server.faults, *KernelFault}:
        yield f"the code {outcome.error_code!r} is none of the server's"
    elif outcome.error_code not in {*tool.error_codes, *KernelFault, *COMMON.get(state.server.name, ())}:
        yield f"the tool does not document the code {outcome.error_code!r}"
    if not isinstance(result.get("error"), dict) or set(result["error"]) != {"code", "message"} or len(result) > 1:
        yield "an error is not of the form {code, message}"
    elif not 0 < len(result["error"]["message"]) < LONGEST_MESSAGE:
        yield f"an error message has {len(result['error']['message'])} characters"


def session_problems(state: LiveState, session: Session) -> Iterator[str]:
    """What is wrong with a session after many calls: its hash must be that of its rows, and its log replay to it."""
    digest = int(state.session.state_hash, 16)
    for change in session.diff():
        digest += _digest(change.table, change.id, change.after) - _digest(change.table, change.id, change.before)
    if f"{digest % (1 << 128):032x}" != session.state_hash:
        yield "the state hash is not that of the rows"
    again = state.catalog.replay(session)
    if (again.state_hash, again.now) != (session.state_hash, session.now):
        yield "the log replays to another state"


def _digest(table: str, key: str, row: Record | None) -> int:
    return 0 if row is None else row_digest(table, key, row)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


@cache
def _live(name: str, world: int) -> LiveState:
    catalog = load_catalog((name,))
    return LiveState(catalog, catalog.servers[name], Session(catalog.world(world)))


@cache
def _ids(name: str, world: int) -> dict[str, tuple[str, ...]]:
    state = _live(name, world)
    kinds = {kind for tool in state.server.tools.values() for kind in shown_entities(tool)}
    return {kind: tuple(thing.id for thing in state.things(kind)) for kind in sorted(kinds)}


@cache
def _shape(tool: Tool) -> Any:
    """A tool's output schema, with no property beside those that it lists."""
    return Draft202012Validator(_closed(tool.output_schema))


def _closed(node: Any) -> Any:
    if isinstance(node, list):
        return [_closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    closed = {key: _closed(value) for key, value in node.items()}
    if node.get("type") == "object" and isinstance(node.get("properties"), dict):
        closed.setdefault("additionalProperties", False)
    return closed
