"""From jobs to rows: a draft for each conversation, then the conversation itself."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from stages.conversations import to_row
from stages.discover.edges import Chain
from stages.params import SynthesizeParams, TeacherParams
from stages.stage import StageContext
from stages.synthesize.converse import Dialogue
from stages.synthesize.draft import Draft, Drafter
from stages.synthesize.mix import Job
from stages.teacher.errors import TeacherError
from stages.teacher.team import Teachers

CHAIN_TRIES = 8
"""Chains that are tried for one conversation before it counts as unwritten."""


class Writer:
    """Writes the conversations of a run, shard by shard; with the teachers of `params.yaml` if it is given none."""

    def __init__(
        self, ctx: StageContext[SynthesizeParams], chains: Sequence[Chain], teachers: Teachers | None = None
    ) -> None:
        self._ctx = ctx
        self._chains = chains
        self._teachers = teachers or Teachers(ctx.block(TeacherParams, "teacher"))
        self._drafter = Drafter(ctx.catalog, chains, ctx.params, ctx.seed)

    async def shard(self, jobs: Sequence[Job]) -> list[dict[str, Any]]:
        """The rows of some jobs; a conversation that fails becomes a row that says why."""
        return list(await asyncio.gather(*(self._write(job) for job in jobs)))

    async def _write(self, job: Job) -> dict[str, Any]:
        job, draft = self._draft(job)
        if draft is None:
            return {"id": job.id, "unwritten": "no_plan"}
        try:
            made = await Dialogue(self._ctx.catalog, self._teachers, job, draft, self._ctx.params).play()
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
