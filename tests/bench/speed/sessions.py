"""Opening, forking and snapshotting a session, against a deep copy of the same seed; and with a larger seed."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

from servers.kernel.catalog import load_catalog
from servers.kernel.pool import SessionPool
from servers.kernel.session import Session, World
from servers.kernel.store import Seed
from tests.bench.speed.bank import SEED, bank_world, disputed
from tests.bench.speed.figures import Figure, Growth, at_least, at_most
from tests.bench.speed.material import catalog
from tests.bench.speed.timing import Load, Scale, growth, in_turn, middle, times_faster

RUNS = 2000
"""Sessions in one repetition."""

_TITLES = {
    "open": "open a session over all servers",
    "pool": "open a session in a pool and close it again",
    "fork": "fork a session with eight changed rows",
    "snapshot": "snapshot a session with eight changed rows",
}


def measure(scale: Scale) -> list[Figure]:
    """The figures of the family."""
    world = catalog().world(SEED)
    rows = sum(map(len, world.rows.tables.values()))
    copying = Load(lambda: deepcopy(world.rows.tables))
    seconds = in_turn({**_loads(world), "copy": copying}, scale.repeats)
    grown = _growths(scale)
    reference = f"deepcopy of the same seed, {rows:,} rows, {middle(seconds['copy'])[0]:.2f} s"
    figures = []
    for name, title in _TITLES.items():
        value, (low, high) = middle([value * 1e6 for value in seconds[name]])
        targets = [at_most(50), at_least(100, "ratio")]
        figures.append(
            Figure(
                name=f"session {name}",
                family="sessions",
                title=title,
                value=value,
                unit="µs",
                spread=(low, high),
                reference=reference,
                ratio=times_faster(seconds[name], seconds["copy"]),
                targets=(*targets, at_most(0.1, "exponent")) if name in grown else tuple(targets),
                growth=grown.get(name),
            )
        )
    return figures


def _loads(world: World) -> dict[str, Load]:
    changed = disputed(Session(world))
    pool = SessionPool(catalog())
    return {
        "open": _many(lambda: Session(world)),
        "pool": _many(lambda: pool.close(pool.open(SEED))),
        "fork": _many(changed.fork),
        "snapshot": _many(changed.snapshot),
    }


def _many(action: Callable[[], object]) -> Load:
    def run() -> None:
        for _ in range(RUNS):
            action()

    return Load(run, RUNS)


def _growths(scale: Scale) -> dict[str, Growth]:
    """The same with the bank's seed, and with many times its rows."""
    loads = {}
    sizes = {}
    for factor in scale.factors:
        world = multiplied(bank_world(), factor)
        sizes[factor] = sum(map(len, world.rows.tables.values()))
        changed = disputed(Session(world), load_catalog(("banking",)))
        for name, action in (
            ("open", lambda w=world: Session(w)),
            ("fork", changed.fork),
            ("snapshot", changed.snapshot),
        ):
            loads[f"{name} {factor}"] = _many(action)
    seconds = in_turn(loads, scale.repeats)
    return {
        name: growth("rows of the seed", {sizes[f]: seconds[f"{name} {f}"] for f in scale.factors})
        for name in ("open", "fork", "snapshot")
    }


def multiplied(world: World, factor: int) -> World:
    """A world with so many times the rows, the copies under ids of their own."""
    rows = [row for table in world.rows.tables.values() for row in table.values()]
    more = (replace(row, id=f"{row.id}~{n}") for n in range(1, factor) for row in rows)
    return World(world.seed, Seed([*rows, *more]), world.id_counts)
