"""`python -m stages.synthesize`, killed at random moments again and again: the bytes of a run that nobody disturbed.

    python -m tests.bench.kills --kills 50 --conversations 24

Works in a directory of its own, with a graph of one server and small shards. Each start runs the stage as the
command does, in a process forked from one that has its imports and the servers behind it, so that a kill lands in
the work and not in them. A killed run is started again until it ends; then its output is compared and the next
round begins. After each kill the outputs have to be whole or absent, and every finished shard untouched.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import runpy
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from servers.kernel.catalog import load_catalog
from servers.kernel.dice import Dice
from stages.artifacts import Stamp, write_table, write_text
from stages.discover.edges import CHAINS
from stages.discover.execution import Executor
from stages.discover.graph import build_graph, draw_chains
from stages.synthesize import shards
from stages.teacher.provider import load_litellm

FORK = multiprocessing.get_context("fork")
OUTPUTS = (Path("data/conversations/conversations.parquet"), Path("reports/metrics/synthesize.json"))
UNFINISHED = Path("data/.unfinished/synthesize")
SEED = 7


@dataclass(slots=True)
class Tally:
    """What was done so far; `moments` says where the kills fell."""

    kills: int = 0
    rounds: int = 0
    moments: Counter[str] = field(default_factory=Counter)


def main() -> None:
    """Kill runs of the stage until there were enough kills, then say what was seen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--conversations", type=int, default=24)
    parser.add_argument("--shard", type=int, default=4, help="conversations in a shard (default: %(default)s)")
    parser.add_argument("--server", default="banking")
    parser.add_argument("--seed", type=int, default=1, help="of the moments (default: %(default)s)")
    arguments = parser.parse_args()
    os.environ["PROVE_TRACKING"] = "off"
    shards.SHARD_SIZE = arguments.shard
    load_litellm()
    import_module("stages.synthesize.__main__")
    with tempfile.TemporaryDirectory(prefix="kills-") as place:
        os.chdir(place)
        prepare(arguments.server, arguments.conversations)
        begin = time.monotonic()
        assert run() == 0, "the undisturbed run failed"
        whole = time.monotonic() - begin
        expected = outputs()
        print(f"{arguments.conversations} conversations in shards of {arguments.shard}: {whole:.2f} s undisturbed")
        tally = Tally()
        dice = Dice(arguments.seed, "kills")
        while tally.kills < arguments.kills:
            one_round(dice, whole, expected, tally, arguments.kills)
    took = time.monotonic() - begin
    print(f"{tally.kills} kills in {tally.rounds} rounds, {took:.0f} s; every round ended in the same bytes")
    for moment, count in sorted(tally.moments.items()):
        print(f"  {count:3d} {moment}")


def prepare(server: str, conversations: int) -> None:
    """Write the stage's inputs into the present directory."""
    catalog = load_catalog((server,))
    catalog.world(SEED)
    graph = build_graph(catalog, list(Executor(catalog, catalog.servers[server], SEED, 4).edges()), "executed")
    rows = [
        {"id": c.id, "server": c.server, "tools": c.tools, "labels": c.labels}
        for c in draw_chains(graph, 25, (2, 4), SEED)
    ]
    write_table(Path("data/graph/chains.parquet"), CHAINS, rows, Stamp(catalog.fingerprint, ""))
    params = f"seed: {SEED}\nbootstrap: {{servers: [{server}]}}\nsynthesize: {{conversations: {conversations}}}\n"
    write_text(Path("params.yaml"), params)


def one_round(dice: Dice, whole: float, expected: tuple[bytes, ...], tally: Tally, most: int) -> None:
    """Start, kill and start again until the output is there; the last round ends without kills."""
    before = places()
    while True:
        finished = {path: path.stat().st_mtime_ns for path in UNFINISHED.rglob("*.json")}
        code = run(dice.unit() * whole if tally.kills < most else None)
        if code == 0:
            break
        assert code == -9, f"the stage ended with exit code {code}"
        tally.kills += 1
        left = {path: path.stat().st_mtime_ns for path in UNFINISHED.rglob("*.json")}
        written = places() != before
        for path, content in zip(OUTPUTS, expected, strict=True):
            assert not path.exists() or path.read_bytes() == content, f"{path} is not whole"
        if not written:
            assert finished.items() <= left.items(), "a finished shard is gone or was written again"
        tally.moments[moment(len(left) - len(finished), written)] += 1
    assert outputs() == expected, "the output is not that of the undisturbed run"
    assert not UNFINISHED.exists() and not list(Path("data").glob(".conversations*")), "scratch was left behind"
    tally.rounds += 1


def moment(progress: int, written: bool) -> str:
    """Where a kill fell."""
    if written:
        return "after the first output was in place"
    return f"{progress} shards further than the start before" if progress else "before another shard was finished"


def run(seconds: float | None = None) -> int | None:
    """Run the stage in a process of its own, with SIGKILL after so many seconds; its exit code."""
    process = FORK.Process(target=stage)
    process.start()
    process.join(seconds)
    if process.exitcode is None:
        process.kill()
    process.join()
    return process.exitcode


def stage() -> None:
    """The command, with its words thrown away."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    sys.argv = ["stages.synthesize"]
    sys.modules.pop("stages.synthesize.__main__", None)
    runpy.run_module("stages.synthesize", run_name="__main__", alter_sys=True)


def places() -> list[int]:
    """Which files the outputs are; 0 for one that is moved aside just now."""
    return [path.stat().st_ino if path.exists() else 0 for path in OUTPUTS]


def outputs() -> tuple[bytes, ...]:
    """The bytes of the stage's outputs."""
    return tuple(path.read_bytes() for path in OUTPUTS)


if __name__ == "__main__":
    main()
