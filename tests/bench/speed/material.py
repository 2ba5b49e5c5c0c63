"""What several families work on: chains of all servers, and conversations that the scripted teacher writes along them.

Made once and kept under `.cache/bench/`, in a directory named after the servers' fingerprint and the code that writes
conversations, so that other code never meets old ones. Params are the defaults of the code, not those of
`params.yaml`: the work is the same in every checkout.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from servers.kernel.catalog import Catalog, load_catalog
from stages.artifacts import read_table, replaced_directory, write_table
from stages.conversations import CONVERSATIONS, Conversation, from_row
from stages.discover.edges import CHAINS, Chain, chain_from
from stages.discover.execution import Executor
from stages.discover.graph import build_graph, draw_chains
from stages.params import SynthesizeParams
from stages.stage import StageContext
from stages.synthesize.mix import Job, make_jobs
from stages.synthesize.writer import Writer
from tests.bench.speed.machine import ROOT

SEED = 7
CONVERSATIONS_MADE = 400
_BINDINGS = 2
_WRITERS = ("discover", "synthesize", "teacher/wording")
_SOURCES = (".py", ".md")


def catalog() -> Catalog:
    """All servers."""
    return load_catalog()


def context(conversations: int = CONVERSATIONS_MADE) -> StageContext[SynthesizeParams]:
    """The stage that writes them."""
    return StageContext("synthesize", SynthesizeParams(conversations=conversations), SEED)


def jobs(count: int) -> list[Job]:
    """The first conversations to be written."""
    return make_jobs(chains(), SynthesizeParams(conversations=count), SEED)


@cache
def chains() -> tuple[Chain, ...]:
    """Chains of tools over all servers."""
    return tuple(chain_from(row) for row in read_table(_made() / "chains.parquet", CHAINS, catalog().fingerprint))


@cache
def conversations() -> tuple[Conversation, ...]:
    """Conversations of all kinds, as synthesis writes them; none is checked yet."""
    rows = read_table(_made() / "conversations.parquet", CONVERSATIONS, catalog().fingerprint)
    return tuple(from_row(row) for row in rows)


@cache
def _made() -> Path:
    target = ROOT / ".cache" / "bench" / _digest()
    if not target.exists():
        with replaced_directory(target) as scratch:
            drawn = _draw()
            rows = [{"id": c.id, "server": c.server, "tools": c.tools, "labels": c.labels} for c in drawn]
            write_table(scratch / "chains.parquet", CHAINS, rows, context().stamp)
            made = _write(drawn)
            write_table(scratch / "conversations.parquet", CONVERSATIONS, made, context().stamp)
        for other in set(target.parent.iterdir()) - {target}:
            shutil.rmtree(other, ignore_errors=True)
    return target


def _draw() -> list[Chain]:
    edges = [
        edge for server in catalog().servers.values() for edge in Executor(catalog(), server, SEED, _BINDINGS).edges()
    ]
    return draw_chains(build_graph(catalog(), edges, "executed"), 1500, (2, 5), SEED)


def _write(drawn: Sequence[Chain]) -> list[dict[str, object]]:
    wanted = make_jobs(drawn, context().params, SEED)
    rows = asyncio.run(Writer(context(), drawn).shard(wanted))
    return [row for row in rows if "unwritten" not in row]


def _digest() -> str:
    found = hashlib.sha256(catalog().fingerprint.encode())
    for path in sorted(p for top in _WRITERS for p in (ROOT / "stages" / top).rglob("*") if p.suffix in _SOURCES):
        found.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]
