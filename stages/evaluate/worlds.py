"""Rows of unseen worlds: requests along chains that the policy was trained on, written anew in another world.

Only the world differs from training: its seed is the next one, so every account, flight or ticket is another.
The scripted teacher writes the conversations, whoever wrote the training data, and each has to pass the checks
that the dataset's rows passed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace

from servers.kernel.catalog import Catalog
from servers.kernel.dice import Dice
from stages.conversations import Conversation
from stages.dataset import RlRow
from stages.discover.edges import Chain
from stages.params import SynthesizeParams, TeacherParams
from stages.synthesize.converse import Dialogue
from stages.synthesize.draft import Drafter
from stages.synthesize.mix import Job, make_jobs
from stages.teacher.team import Teachers
from stages.validate.provenance import check_provenance
from stages.validate.replay import check_replay
from stages.validate.rows import rl_rows
from stages.validate.structure import check_structure


def unseen_worlds(
    catalog: Catalog,
    trained: Sequence[Conversation],
    chains: Sequence[Chain],
    params: SynthesizeParams,
    max_error_rate: float,
    seed: int,
    count: int,
) -> list[RlRow]:
    """Rows of up to `count` of the training conversations, written anew in the world of `seed` + 1."""
    drawn = {c.id for c in Dice(seed, "evaluate/worlds").sample(trained, count)}
    jobs = {job.id: job for job in make_jobs(chains, params, seed)}
    places = {(chain.server, chain.tools): chain for chain in chains}
    moved = [
        replace(jobs[c.id], world=seed + 1, chain=places[c.server, c.chain])
        for c in trained
        if c.id in drawn and c.id in jobs and (c.server, c.chain) in places
    ]
    seen = {(c.server, c.chain) for c in trained}
    known = [chain for chain in chains if (chain.server, chain.tools) in seen]
    written = asyncio.run(_write(catalog, known, moved, params, seed))
    return [row for made in written if _holds(catalog, made, max_error_rate) for row in _rows(catalog, made)]


async def _write(
    catalog: Catalog, chains: Sequence[Chain], jobs: Sequence[Job], params: SynthesizeParams, seed: int
) -> list[Conversation]:
    teachers, drafter = Teachers(TeacherParams()), Drafter(catalog, chains, params, seed)
    drafts = [(job, drafter.draft(job)) for job in jobs]
    return [await Dialogue(catalog, teachers, job, draft, params).play() for job, draft in drafts if draft is not None]


def _holds(catalog: Catalog, made: Conversation, max_error_rate: float) -> bool:
    problem = check_structure(made) or check_provenance(catalog, made) or check_replay(catalog, made, max_error_rate)
    return problem is None


def _rows(catalog: Catalog, made: Conversation) -> Iterator[RlRow]:
    return rl_rows(catalog, replace(made, id=f"{made.id}@{made.world}"))
