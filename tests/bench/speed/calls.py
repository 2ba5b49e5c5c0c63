"""Validated calls in process, against the SDK's own in-memory call of a tool that does nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from mcp import Client

from servers.banking.seed import iban
from servers.kernel.catalog import load_catalog
from servers.kernel.session import Session
from tests.bench.speed.bank import Call, bank_world, read, writes
from tests.bench.speed.echo import build_echo
from tests.bench.speed.figures import Figure, Growth, at_least, at_most
from tests.bench.speed.material import catalog, conversations
from tests.bench.speed.timing import Load, Scale, growth, in_turn, in_turn_async, rate, times_faster

CALLS = 2000
ECHOES = 200
_TITLES = {
    "read": "call that reads 40 rows (get_account)",
    "write": "call that writes one row (dispute_transaction), eight to a session",
    "mixed": "calls of the scripted conversations, all servers, sessions opened in between",
}


def measure(scale: Scale) -> list[Figure]:
    """The figures of the family."""
    seconds = asyncio.run(_compare(_loads(), scale))
    grown = _growth(scale)
    figures = []
    for name, title in _TITLES.items():
        value, spread = rate(seconds[name])
        targets = () if name == "mixed" else (at_least(10, "ratio"),)
        figures.append(
            Figure(
                name=f"call {name}",
                family="calls",
                title=title,
                value=value,
                unit="calls/s",
                spread=spread,
                reference=f"SDK in memory, echo: {rate(seconds['echo'])[0]:,.0f} calls/s",
                ratio=times_faster(seconds[name], seconds["echo"]),
                targets=(*targets, at_most(1.1, "exponent")) if name == "write" else targets,
                growth=grown if name == "write" else None,
            )
        )
    return figures


async def _compare(loads: Mapping[str, Load], scale: Scale) -> dict[str, list[float]]:
    async def ours(load: Load) -> None:
        load.run()

    async with Client(build_echo()) as client:
        call = read()

        async def echo() -> None:
            for _ in range(ECHOES):
                await client.call_tool(call.tool, dict(call.arguments))

        timed: dict[str, tuple[Callable[[], Awaitable[object]], int]] = {
            name: (partial(ours, load), load.units) for name, load in loads.items()
        }
        timed["echo"] = (echo, ECHOES)
        found = await in_turn_async(timed, scale.repeats, time.process_time)
    return {name: list(values) for name, values in found.items()}


def _loads() -> dict[str, Load]:
    bank, world = load_catalog(("banking",)), bank_world()
    session, wanted = Session(world), read()

    def reading() -> None:
        for _ in range(CALLS):
            bank.call(session, wanted.tool, wanted.arguments)

    def writing() -> None:
        for _ in range(CALLS // len(writes())):
            fresh = Session(world)
            for call in writes():
                bank.call(fresh, call.tool, call.arguments)

    everything = catalog()
    recorded = [
        [Call(c.name, c.arguments) for t in made.turns for c in t.calls if c.executed and c.arguments is not None]
        for made in conversations()[:200]
    ]
    worlds = [everything.world(made.world) for made in conversations()[:200]]

    def mixing() -> None:
        for there, calls in zip(worlds, recorded, strict=True):
            fresh = Session(there)
            for call in calls:
                everything.call(fresh, call.tool, call.arguments)

    return {
        "read": Load(reading, CALLS),
        "write": Load(writing, CALLS // len(writes()) * len(writes())),
        "mixed": Load(mixing, sum(map(len, recorded))),
    }


def _growth(scale: Scale) -> Growth:
    """Seconds of many writes in one session: a call must not cost more the longer the session lives."""
    bank, world = load_catalog(("banking",)), bank_world()

    def many(count: int) -> Callable[[], None]:
        def run() -> None:
            session = Session(world)
            for number in range(count):
                bank.call(session, "add_payee", {"name": f"Payee {number}", "iban_number": iban("DE", 10**15 + number)})

        return run

    sizes = {factor: 10 * factor for factor in scale.factors}
    seconds = in_turn({str(f): Load(many(count)) for f, count in sizes.items()}, min(5, scale.repeats))
    return growth("calls in one session", {count: seconds[str(f)] for f, count in sizes.items()})
