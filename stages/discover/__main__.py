"""`python -m stages.discover`: find the tool dependency graph and draw chains from it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from stages.artifacts import DATA, REPORTS, ArtifactError, replaced_directory, write_json, write_table
from stages.discover.agreement import DISAGREEMENTS, Disagreement, disagreements
from stages.discover.edges import CHAINS, EDGES, Edge, edge_rows
from stages.discover.execution import Executor
from stages.discover.graph import build_graph, draw_chains, write_graphml
from stages.discover.judged import PROMPT_DIGEST, Opinion, judge, merge
from stages.discover.summary import summary
from stages.params import DiscoverParams, TeacherParams
from stages.stage import StageContext, run_stage
from stages.teacher.cache import Cache
from stages.teacher.client import Teacher
from stages.teacher.estimate import Rehearsal, UnchangedCache
from stages.teacher.provider import is_scripted
from stages.teacher.team import open_teachers


@dataclass(frozen=True, slots=True)
class Findings:
    """All that is known of every server: its edges, the teacher's opinion, and where the two differ."""

    edges: list[Edge] = field(default_factory=list)
    opinions: dict[str, Opinion] = field(default_factory=dict)
    disagreements: list[Disagreement] = field(default_factory=list)


def main(ctx: StageContext[DiscoverParams]) -> Sequence[Path]:
    """Run the pairs, ask the teacher, write edges, disagreements, graph and chains."""
    params, catalog = ctx.params, ctx.catalog
    asked = ctx.block(TeacherParams, "teacher")
    with open_teachers(asked, ctx.name) as teachers, open_claims(asked) as cache:
        found = asyncio.run(find_edges(ctx, teachers.of("discover"), cache))
    graph = build_graph(catalog, found.edges, params.trust)
    chains = draw_chains(graph, params.chains, params.chain_length, ctx.seed)
    metrics = summary(graph, chains, found.edges, found.opinions, found.disagreements)
    with replaced_directory(DATA / "graph") as target:
        write_table(target / "edges.parquet", EDGES, edge_rows(found.edges, params.trust, PROMPT_DIGEST), ctx.stamp)
        differ = [asdict(item) for item in found.disagreements]
        write_table(target / "disagreements.parquet", DISAGREEMENTS, differ, ctx.stamp)
        rows = [{"id": c.id, "server": c.server, "tools": c.tools, "labels": c.labels} for c in chains]
        write_table(target / "chains.parquet", CHAINS, rows, ctx.stamp)
        write_graphml(graph, target / "graph.graphml")
    write_json(REPORTS / "metrics" / "discover.json", metrics)
    ctx.log_metrics({key: value for key, value in metrics.items() if isinstance(value, int | float)})
    if not teachers.of("discover").is_scripted:
        ctx.log_metrics(teachers.ledger.metrics())
    return [DATA / "graph", REPORTS / "metrics" / "discover.json"]


async def find_edges(ctx: StageContext[DiscoverParams], teacher: Teacher, cache: Cache | None) -> Findings:
    """The edges of every server, from execution and from the teacher.

    Raises:
        ArtifactError: the teacher's word counts, and it answered nothing; or its budget is spent.
    """
    found = Findings()
    with ctx.progress("Trying tool pairs", total=len(ctx.catalog.servers)) as bar:
        for server in ctx.catalog.servers.values():
            executor = Executor(ctx.catalog, server, ctx.seed, ctx.params.bindings)
            proved = list(executor.edges())
            opinion = await judge(teacher, server, ctx.params, cache)
            edges = merge(server.name, proved, opinion.claims)
            reasons = {frozenset(claim.pair): claim.reason for claim in opinion.claims}
            unanswered = {frozenset(pair) for pair in opinion.unanswered}
            found.edges.extend(edges)
            found.opinions[server.name] = opinion
            found.disagreements.extend(disagreements(edges, executor.evidence, reasons, unanswered))
            bar.advance(1)
    if ctx.params.trust != "executed":
        require_answers(teacher.params.model, ctx.params, list(found.opinions.values()))
    return found


@contextmanager
def open_claims(params: TeacherParams, kind: type[Cache] = Cache) -> Iterator[Cache | None]:
    """The cache of what the teacher said of each pair.

    The scripted teacher's answers cost nothing and come from code that may change: they are not kept.
    """
    if params.cache is None or is_scripted(params.of("discover").model):
        yield None
        return
    with closing(kind(Path(params.cache))) as cache:
        yield cache


def dry_run(ctx: StageContext[DiscoverParams]) -> Sequence[Path]:
    """Say what the teacher would be asked and what it would cost, without asking."""
    asked = ctx.block(TeacherParams, "teacher")
    teachers = Rehearsal(asked)

    async def rehearse(cache: Cache | None) -> int:
        servers = ctx.catalog.servers.values()
        return sum([(await judge(teachers.of("discover"), server, ctx.params, cache)).asked for server in servers])

    with open_claims(asked, UnchangedCache) as cache:
        pairs = asyncio.run(rehearse(cache))
    teachers.show(f"{pairs} tool pairs have no answer yet")
    return []


def require_answers(model: str, params: DiscoverParams, opinions: Sequence[Opinion]) -> None:
    """Refuse a teacher that had nothing to say.

    Raises:
        ArtifactError: no pair was answered; says why and what to do.
    """
    pairs = sum(len(opinion.unanswered) for opinion in opinions)
    if pairs and not any(opinion.claims for opinion in opinions):
        cause = next((opinion.error for opinion in reversed(opinions) if opinion.error), "no answer could be read")
        raise ArtifactError(
            f"{model} answered on none of {pairs} tool pairs ({cause}), and discover.trust is {params.trust}: "
            "mend the teacher, or set discover.trust to executed"
        )


if __name__ == "__main__":
    run_stage("discover", DiscoverParams, main, dry_run=dry_run)
