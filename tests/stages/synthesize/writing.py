"""Conversations for tests: those that the scripted teacher writes over the bank, beside a second server."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import Any

from servers.kernel.catalog import Catalog, load_catalog
from stages.conversations import Conversation, from_row
from stages.discover.edges import Chain
from stages.discover.execution import Executor
from stages.discover.graph import build_graph, draw_chains
from stages.params import SynthesizeParams
from stages.stage import StageContext
from stages.synthesize.draft import Draft, Drafter
from stages.synthesize.mix import Job, make_jobs
from stages.synthesize.writer import Writer

SERVERS = ("banking", "budget")
SEED = 7
COUNT = 70


def catalog() -> Catalog:
    return load_catalog(SERVERS)


@lru_cache(maxsize=1)
def chains() -> tuple[Chain, ...]:
    """Chains of the bank alone, so that the other server only distracts."""
    bank = catalog().servers["banking"]
    graph = build_graph(catalog(), list(Executor(catalog(), bank, SEED, 6).edges()), "executed")
    return tuple(draw_chains(graph, 25, (2, 4), SEED))


def params(**changes: Any) -> SynthesizeParams:
    """Sizes and rates of the paper, without the scripted teacher's failures unless they are asked for."""
    return SynthesizeParams(conversations=COUNT, mistake_rate=0.0, setback_rate=0.0).model_copy(update=changes)


def context(chosen: SynthesizeParams, **blocks: Any) -> StageContext[SynthesizeParams]:
    return StageContext("synthesize", chosen, SEED, {"bootstrap": {"servers": list(SERVERS)}, **blocks})


def jobs(chosen: SynthesizeParams) -> list[Job]:
    return make_jobs(chains(), chosen, SEED)


@lru_cache(maxsize=1)
def drafts(count: int = 300) -> tuple[tuple[Job, Draft], ...]:
    chosen = params(conversations=count)
    drafter = Drafter(catalog(), chains(), chosen, SEED)
    made = ((job, drafter.draft(job)) for job in jobs(chosen))
    return tuple((job, draft) for job, draft in made if draft is not None)


def write(chosen: SynthesizeParams, **blocks: Any) -> list[dict[str, Any]]:
    """Rows as the stage makes them, those that say why they are unwritten included."""
    return asyncio.run(Writer(context(chosen, **blocks), chains()).shard(jobs(chosen)))


@lru_cache(maxsize=1)
def conversations() -> tuple[Conversation, ...]:
    """A fixed set with many mistakes and setbacks in it; nobody may change them."""
    rows = write(params(mistake_rate=0.4, setback_rate=0.3))
    return tuple(from_row(row) for row in rows if "unwritten" not in row)


def told(conversation: Conversation) -> list[str]:
    """The events that the messages and calls show, without the machine."""
    events: list[str] = []
    for number, turn in enumerate(conversation.turns):
        events.append("query_written")
        failed: set[str] = set()
        for position in range(turn.start, turn.start + len(conversation.turn_messages(number))):
            message = conversation.messages[position]
            if message.role != "assistant":
                continue
            if not message.tool_calls:
                events += ["give_up" if failed else "answer", "answered"]
                continue
            names = {call.name for call in message.tool_calls}
            events.append(("retry" if failed & names else "alternative") if failed else "calls")
            results = [call for call in turn.calls if call.position == position]
            failed = {call.name for call in results if not call.ok}
            bad = sum(not call.ok for call in results)
            events.append("success" if not bad else "failure" if bad == len(results) else "partial_success")
            if not bad:
                failed = set()
        last = number + 1 == len(conversation.turns)
        asks = conversation.turn_messages(number)[-1].content.endswith("?") and all(call.ok for call in turn.calls)
        events.append("done" if last else "clarify" if asks else "follow_up")
    return events
