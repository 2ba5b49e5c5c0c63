"""Shards written by several processes of this machine; one process alone keeps them.

Each process makes its own servers, its own teachers and its own event loop once and then writes shard after shard. A
shard depends on its jobs alone, so any number of processes gives the same rows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

from stages.discover.edges import Chain
from stages.params import SynthesizeParams
from stages.stage import StageContext
from stages.synthesize.mix import Job
from stages.synthesize.shards import SHARD_SIZE, Shards
from stages.synthesize.writer import Writer

_writer: Any = None
_loop = asyncio.Runner()


def write_in_processes(
    ctx: StageContext[SynthesizeParams], chains: Sequence[Chain], jobs: Sequence[Job], shards: Shards
) -> None:
    """Have the shards that are missing written, and keep each as soon as it is finished."""
    starts = enumerate(range(0, len(jobs), SHARD_SIZE))
    parts = {n: jobs[start : start + SHARD_SIZE] for n, start in starts if shards.read(n) is None}
    if not parts:
        return
    about = (ctx.params, ctx.seed, dict(ctx.document), tuple(chains))
    count = min(ctx.params.processes, len(parts))
    with (
        ctx.progress(f"Writing in {count} processes", total=sum(map(len, parts.values()))) as bar,
        ProcessPoolExecutor(count, get_context("spawn"), _begin, about) as pool,
    ):
        numbers: dict[Future[list[dict[str, Any]]], int] = {pool.submit(_write, part): n for n, part in parts.items()}
        for future in as_completed(numbers):
            rows = future.result()
            shards.write(numbers[future], rows)
            bar.advance(len(rows), failed=sum("unwritten" in row for row in rows))


def _begin(params: SynthesizeParams, seed: int, document: Mapping[str, Any], chains: Sequence[Chain]) -> None:
    """Make this process's writer."""
    global _writer
    _writer = Writer(StageContext("synthesize", params, seed, document), chains)


def _write(jobs: Sequence[Job]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = _loop.run(_writer.shard(jobs))
    return rows
