"""`python -m stages.synthesize`: write grounded conversations with the teacher of `params.yaml`.

`draw` brings the diagram of the state machine in docs/state-machine.md up to date instead.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stages.artifacts import DATA, REPORTS, ArtifactError, read_table, replaced_directory, write_json, write_table
from stages.conversations import CONVERSATIONS, from_row
from stages.discover.edges import CHAINS, Chain, chain_from
from stages.params import ParamsError, SynthesizeParams, TeacherParams
from stages.stage import StageContext, run_stage
from stages.synthesize.diagram import mermaid, redraw
from stages.synthesize.mix import Job, make_jobs
from stages.synthesize.pool import write_in_processes
from stages.synthesize.shards import SHARD_SIZE, Shards
from stages.synthesize.summary import summary
from stages.synthesize.workers import write_on_ray
from stages.synthesize.writer import Writer
from stages.teacher.estimate import Rehearsal
from stages.teacher.team import open_teachers

REHEARSED = 20
"""Conversations from which a dry run reckons the whole."""


def main(ctx: StageContext[SynthesizeParams]) -> Sequence[Path]:
    """Write every conversation, resuming where a killed run stopped."""
    chains, jobs, shards = prepare(ctx)
    with open_teachers(ctx.block(TeacherParams, "teacher"), ctx.name) as teachers:
        if ctx.params.workers == "ray":
            write_on_ray(ctx, chains, jobs, shards, teachers.ledger)
        elif ctx.params.processes > 1:
            if not teachers.scripted:
                raise ParamsError(
                    "synthesize.processes is for the scripted teacher: any other is asked by one process, "
                    "teacher.concurrency requests at once; set synthesize.processes to 1"
                )
            write_in_processes(ctx, chains, jobs, shards)
        rows = write_all(ctx, Writer(ctx, chains, teachers), jobs, shards)
    written = [row for row in rows if "unwritten" not in row]
    unwritten = [row for row in rows if "unwritten" in row]
    if not written:
        shards.remove()  # another attempt is to ask again
        first = unwritten[0]
        raise ArtifactError(
            f"none of {len(rows)} conversations could be written; the first: {first['unwritten']} "
            f"{first.get('detail', '')}".rstrip()
        )
    metrics = summary(ctx.catalog, ctx.params, ctx.seed, [from_row(row) for row in written], unwritten)
    if not teachers.scripted:
        metrics["teacher"] = teachers.ledger.summary()
        ctx.log_metrics(teachers.ledger.metrics())
    with replaced_directory(DATA / "conversations") as target:
        write_table(target / "conversations.parquet", CONVERSATIONS, written, ctx.stamp)
    write_json(REPORTS / "metrics" / "synthesize.json", metrics)
    ctx.log_metrics({k: v for k, v in metrics.items() if isinstance(v, int | float)})
    shards.remove()
    return [DATA / "conversations", REPORTS / "metrics" / "synthesize.json"]


def dry_run(ctx: StageContext[SynthesizeParams]) -> Sequence[Path]:
    """Say what the teacher would be asked and what it would cost, from a rehearsal of a few conversations."""
    chains, jobs, shards = prepare(ctx)
    starts = enumerate(range(0, len(jobs), SHARD_SIZE))
    left = [job for n, start in starts if shards.read(n) is None for job in jobs[start : start + SHARD_SIZE]]
    sample = left[:: max(1, len(left) // REHEARSED)][:REHEARSED]
    teachers = Rehearsal(ctx.block(TeacherParams, "teacher"))
    asyncio.run(Writer(ctx, chains, teachers).shard(sample))
    teachers.show(f"{len(left)} of {len(jobs)} conversations are left", len(left) / max(1, len(sample)))
    return []


def draw(ctx: StageContext[SynthesizeParams]) -> Sequence[Path]:
    """Print the state machine as a Mermaid diagram and bring docs/state-machine.md up to date."""
    print(mermaid())
    return [redraw()]


def prepare(ctx: StageContext[SynthesizeParams]) -> tuple[list[Chain], list[Job], Shards]:
    """The chains, the conversations to be written along them, and what is written already."""
    source = DATA / "graph" / "chains.parquet"
    chains = [chain_from(row) for row in read_table(source, CHAINS, ctx.catalog.fingerprint)]
    shaping = ctx.block(TeacherParams, "teacher").shaping()
    key = hashlib.sha256(source.read_bytes() + shaping.encode() + str(ctx.seed).encode()).hexdigest()[:16]
    shards = Shards(DATA / ".unfinished" / "synthesize", ctx.stamp, key)
    return chains, make_jobs(chains, ctx.params, ctx.seed), shards


def write_all(
    ctx: StageContext[SynthesizeParams], writer: Writer, jobs: Sequence[Job], shards: Shards
) -> list[dict[str, Any]]:
    """All rows in the order of the jobs."""

    async def run() -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        with ctx.progress("Writing conversations", total=len(jobs)) as bar:
            for number, start in enumerate(range(0, len(jobs), SHARD_SIZE)):
                part = jobs[start : start + SHARD_SIZE]
                done = shards.read(number)
                if done is None:
                    done = await writer.shard(part)
                    shards.write(number, done)
                rows += done
                bar.advance(len(part), failed=sum("unwritten" in row for row in done))
        return rows

    return asyncio.run(run())


if __name__ == "__main__":
    run_stage("synthesize", SynthesizeParams, main, {"draw": draw}, dry_run=dry_run)
