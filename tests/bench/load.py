"""Isolation and load at full size: sessions by the thousand, killed clients, killed servers, calls that never end well.

    python -m tests.bench.load                # everything, some minutes on two free cores
    python -m tests.bench.load clients loss   # some of it

Prints a table of each demand, the figure seen, and whether it holds; exit code 1 if one does not. The measurements are
those of `tests/servers/load`, which run at a small size with the tests.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from servers.kernel.catalog import load_catalog, server_names
from tests.servers.load import in_process, over_http
from tests.servers.load.finding import Finding, equal
from tests.servers.load.processes import serving
from tests.servers.load.repeat import digests, in_processes
from tests.servers.load.server_loss import lost_server
from tests.servers.load.wrecked import WRECKS
from tests.servers.load.wrecks import comes_to_grief, ship_and_haven
from tests.servers.load.writes import first_write

BANK = "banking"
LIFETIME = 5.0
"""Seconds after which a session that nobody uses is closed, where that is what is measured."""


def pool() -> list[Finding]:
    """Bursts, churn, sessions left open, a full house and handles, in process, with every server."""
    catalog = load_catalog()
    write = first_write(load_catalog((BANK,)), BANK)
    return [
        *in_process.burst(catalog, 512),
        *in_process.burst(catalog, 2048),
        *in_process.churn(catalog, write, 10_000),
        *in_process.left_open(catalog, write, 1000),
        *in_process.full(catalog, write, 4096),
        *in_process.handles(catalog, 100_000),
    ]


def burst() -> list[Finding]:
    """Bursts over HTTP, within and over the capacity."""
    write = first_write(load_catalog((BANK,)), BANK)
    with serving("--server", BANK) as server:
        found = [finding for count in (512, 2048) for finding in asyncio.run(over_http.burst(server, count))]
    return [*found, *asyncio.run(over_http.overfull(write, 1024, 1024))]


def churn() -> list[Finding]:
    """10,000 opened and closed over HTTP."""
    with serving("--server", BANK) as server:
        return asyncio.run(over_http.churn(server, 10_000))


def clients() -> list[Finding]:
    """1,000 clients killed, 1,000 sessions left open."""
    with serving("--server", BANK, "--lifetime", str(LIFETIME)) as server:
        return [
            *over_http.killed_clients(server, 1000, 20, LIFETIME),
            *asyncio.run(over_http.left_open(server, 1000, LIFETIME)),
        ]


def loss() -> list[Finding]:
    """A server killed in the middle of a batch over three, and what its clients are told."""
    named = asyncio.run(over_http.named_failures(first_write(load_catalog((BANK,)), BANK)))
    with tempfile.TemporaryDirectory(prefix="loss-") as place:
        return [*named, *lost_server(24, ("budget", "calendar"), Path(place))]


def wrecks() -> list[Finding]:
    """A call that never ends well, in every way."""
    with ship_and_haven() as (ship, haven):
        return [finding for fault in WRECKS for finding in comes_to_grief(fault, ship, haven, rows_each=6)]


def repeat() -> list[Finding]:
    """Episodes of every server, twice in this process and once in each of two others."""
    names = server_names()
    here, elsewhere = digests(names, 4, 2), in_processes(names, 4)
    return [equal("an episode again: different outcomes, in one process and in two", len({*here, *elsewhere}), 1)]


PARTS: dict[str, Callable[[], list[Finding]]] = {
    part.__name__: part for part in (pool, burst, churn, clients, loss, wrecks, repeat)
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and say with the exit code whether every demand holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"any of {', '.join(PARTS)} (default: all)")
    chosen = parser.parse_args(arguments).parts or list(PARTS)
    if unknown := [name for name in chosen if name not in PARTS]:
        parser.error(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    console, failed = Console(width=None if sys.stdout.isatty() else 160), 0
    for name in chosen:
        begin = time.monotonic()
        found = PARTS[name]()
        table = Table("demand", "seen", "wanted", "", title=f"{name}, {time.monotonic() - begin:.0f} s", expand=True)
        for finding in found:
            texts = (Text(finding.demand), Text(finding.seen), Text(finding.wanted))
            table.add_row(*texts, Text("pass") if finding.holds else Text("FAIL", style="bold red"))
        console.print(table)
        failed += sum(not finding.holds for finding in found)
    console.print(f"{failed} demands do not hold" if failed else "every demand holds")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
