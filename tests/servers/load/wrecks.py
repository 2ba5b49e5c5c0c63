"""A batch in which one server of two comes to grief in a call: typed errors in time, and the others finish."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from servers.kernel.catalog import Catalog, load_catalog
from servers.kernel.errors import KernelFault
from servers.kernel.router import Answer
from stages.dataset import RlRow
from stages.records import TruthCall
from tests.servers.load.batch import SCORER, Batch, play, row_of, rows_of, taking_turns
from tests.servers.load.finding import Finding, equal, within
from tests.servers.load.processes import ServerProcess, running, serving
from tests.servers.load.remote import RemoteRows, connected
from tests.servers.load.wreck import wreck

HAVEN = "banking"
DEADLINE, SLACK = 2.5, 10.0
"""Seconds of a call to the wreck, and those by which a busy machine may come late; what it waits for takes an hour."""

SINKS = ("block_an_hour", "exit_the_process")
"""Calls that take their whole server with them; the others harm only themselves."""


def wreck_rows(fault: str, count: int) -> list[RlRow]:
    """Rows of the wreck; the second one makes the call that goes wrong, between two good ones."""
    catalog = Catalog([wreck])
    rows = []
    for number in range(count):
        names = ["write_note", fault if number == 1 else "write_note", "write_note"]
        truth = [TruthCall(name, {}, (index - 1,) if index else ()) for index, name in enumerate(names)]
        rows.append(row_of(catalog, f"wreck-{number}", "wreck", (), truth))
    return rows


@contextmanager
def ship_and_haven() -> Iterator[tuple[ServerProcess, ServerProcess]]:
    """The wreck and a server that is well, each in a process of its own."""
    with serving("--server", HAVEN) as haven, running(ServerProcess(("tests.servers.load.wrecked",))) as ship:
        yield ship, haven


def comes_to_grief(fault: str, ship: ServerProcess, haven: ServerProcess, rows_each: int) -> list[Finding]:
    """Make the call alone, then within a batch on both servers."""
    rows = taking_turns([wreck_rows(fault, rows_each), rows_of(load_catalog((HAVEN,)), HAVEN, rows_each)])
    catalog = Catalog([wreck, load_catalog((HAVEN,)).servers[HAVEN]])
    with connected({"wreck": ship.url}, {"wreck": DEADLINE}) as (bridge, routers):
        handle = bridge.run(routers["wreck"].open())
        begin = time.monotonic()
        answer = bridge.run(routers["wreck"].call(handle, fault, {}))
        took = time.monotonic() - begin
    if fault in SINKS:
        ship.restart()
    with connected({HAVEN: haven.url, "wreck": ship.url}, {"wreck": DEADLINE}) as (bridge, routers):
        batch = play(RemoteRows(catalog, rows, SCORER, bridge, routers), {}, width=4)
    if fault in SINKS:
        ship.restart()
    return [*_answered(fault, answer, took), *_finished(fault, batch, {row.id: row.server for row in rows})]


def _answered(fault: str, answer: Answer, took: float) -> list[Finding]:
    return [
        within(f"{fault}: answered", took, DEADLINE + SLACK),
        equal(f"{fault}: infrastructure", answer.infrastructure, True),
        Finding(
            f"{fault}: type of the error",
            answer.error_code,
            "timeout or unavailable",
            answer.error_code in (KernelFault.TIMEOUT, KernelFault.UNAVAILABLE),
        ),
    ]


def _finished(fault: str, batch: Batch, servers: Mapping[str, str]) -> list[Finding]:
    """With width 4 the wreck's first episode is half-way when its second one makes the call."""
    aboard = {row for row, server in servers.items() if server == "wreck"}
    solved = {episode.row for episode in batch.episodes if episode.reward.outcome is True}
    return [
        equal(f"{fault}: results of the batch", [result.task_id for result in batch.results], list(servers)),
        equal(f"{fault}: masked", sorted(batch.masked), sorted(aboard if fault in SINKS else {"wreck-1"})),
        equal(f"{fault}: every other episode solved", solved, set(servers) - batch.masked),
    ]
