"""`python -m stages.synthesize`: write grounded conversations with the teacher of `params.yaml`."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from stages.artifacts import DATA, REPORTS, read_table, replaced_directory, write_json, write_table
from stages.conversations import CONVERSATIONS, Conversation, from_row, to_row
from stages.discover.edges import CHAINS, Chain, chain_from
from stages.params import SynthesizeParams, TeacherParams
from stages.stage import StageContext, run_stage
from stages.synthesize.converse import Dialogue
from stages.synthesize.draft import Draft, Drafter
from stages.synthesize.mix import Job, make_jobs
from stages.synthesize.shards import SHARD_SIZE, Shards
from stages.teacher.client import Teacher, TeacherError

CHAIN_TRIES = 8
"""Chains that are tried for one conversation before it counts as unwritten."""


class Writer:
    """Writes the conversations of a run, shard by shard."""

    def __init__(self, ctx: StageContext[SynthesizeParams], chains: Sequence[Chain]) -> None:
        self._ctx = ctx
        self._chains = chains
        self._teacher = Teacher(ctx.block(TeacherParams, "teacher"))
        self._drafter = Drafter(ctx.catalog, ctx.params, ctx.seed)

    async def shard(self, jobs: Sequence[Job]) -> list[dict[str, Any]]:
        """The rows of some jobs; a conversation that fails becomes a row that says why."""
        return list(await asyncio.gather(*(self._write(job) for job in jobs)))

    async def _write(self, job: Job) -> dict[str, Any]:
        job, draft = self._draft(job)
        if draft is None:
            return {"id": job.id, "unwritten": "no_plan"}
        try:
            made = await Dialogue(self._ctx.catalog, self._teacher, job, draft, self._ctx.params).play()
        except TeacherError as error:
            return {"id": job.id, "unwritten": "teacher_failed", "detail": str(error)}
        return to_row(made)

    def _draft(self, job: Job) -> tuple[Job, Draft | None]:
        start = self._chains.index(job.chain)
        for attempt in range(CHAIN_TRIES):
            chain = self._chains[(start + attempt * 37) % len(self._chains)]
            job = replace(job, chain=chain)
            draft = self._drafter.draft(job)
            if draft is not None:
                return job, draft
        return job, None


def main(ctx: StageContext[SynthesizeParams]) -> Sequence[Path]:
    """Write every conversation, resuming where a killed run stopped."""
    source = DATA / "graph" / "chains.parquet"
    chains = [chain_from(row) for row in read_table(source, CHAINS, ctx.catalog.fingerprint)]
    jobs = make_jobs(chains, ctx.params, ctx.seed)
    teacher = ctx.block(TeacherParams, "teacher")
    key = hashlib.sha256(source.read_bytes() + teacher.model_dump_json().encode() + str(ctx.seed).encode())
    shards = Shards(DATA / ".unfinished" / "synthesize", ctx.stamp, key.hexdigest()[:16])
    rows = write_all(ctx, Writer(ctx, chains), jobs, shards)
    written = [row for row in rows if "unwritten" not in row]
    metrics = summary([from_row(row) for row in written], [row for row in rows if "unwritten" in row])
    with replaced_directory(DATA / "conversations") as target:
        write_table(target / "conversations.parquet", CONVERSATIONS, written, ctx.stamp)
    write_json(REPORTS / "metrics" / "synthesize.json", metrics)
    ctx.log_metrics({k: v for k, v in metrics.items() if isinstance(v, int | float)})
    shards.remove()
    return [DATA / "conversations", REPORTS / "metrics" / "synthesize.json"]


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


def summary(written: Sequence[Conversation], unwritten: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Achieved counts and rates for the report."""
    calls = [call for c in written for turn in c.turns for call in turn.calls]
    steps = Counter(f"{t.state} --{t.event}--> {t.target}" for c in written for t in c.transitions)
    return {
        "conversations": len(written),
        "unwritten": dict(sorted(Counter(str(row["unwritten"]) for row in unwritten).items())),
        "kinds": _counts(c.kind for c in written),
        "information": _counts(c.information for c in written if c.kind == "multi_turn"),
        "perturbations": _counts(p for c in written for p in c.perturbations),
        "personas": _counts(c.persona for c in written),
        "servers": _counts(c.server for c in written),
        "user_turns": sum(len(c.turns) for c in written),
        "calls": len(calls),
        "failed_calls": sum(not call.ok for call in calls),
        "error_codes": _counts(call.error_code for call in calls if not call.ok),
        "tools_called": len({call.name for call in calls}),
        "transitions": dict(sorted(steps.items())),
        "cost": round(sum(c.cost for c in written), 6),
    }


def _counts(values: Any) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


if __name__ == "__main__":
    run_stage("synthesize", SynthesizeParams, main)
