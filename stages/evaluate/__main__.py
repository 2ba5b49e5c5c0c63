"""`python -m stages.evaluate`: score agents on held-out rows and on benchmarks, with their controls.

`python -m stages.evaluate rescore` makes all figures again from the stored rows, under the present `reward` block
and scoring code, without a model. `python -m stages.evaluate compare A B` compares two agents or two runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from stages.artifacts import DATA, REPORTS, ArtifactError, damaged, read_json, remove_directory, write_json
from stages.episodes import ScoredEpisode, Scorer
from stages.evaluate.benchmark import Benchmark, BenchmarkUnavailableError
from stages.evaluate.compare_command import compare
from stages.evaluate.contest import Contest
from stages.evaluate.figures import Bootstrap, row_metrics, task_metrics
from stages.evaluate.journal import UNFINISHED
from stages.evaluate.registry import entry_of
from stages.evaluate.roster import LOCAL, entrants
from stages.evaluate.runner import prepare
from stages.evaluate.scores import read_sets, read_tables, write_scores
from stages.evaluate.store import AgentRow, rescored_rows
from stages.evaluate.suites import assignments
from stages.params import EvaluateParams
from stages.skills import scorer_for
from stages.stage import StageContext, run_stage
from stages.tracking.models import promote_policy
from stages.tracking.traces import log_episodes

METRICS = REPORTS / "metrics" / "evaluate.json"
COSTS = REPORTS / "metrics" / "evaluate_costs.json"


def main(ctx: StageContext[EvaluateParams]) -> Sequence[Path]:
    """Play held-out rows and benchmarks with every agent, write rows and figures."""
    wanted = assignments(ctx.params, tuple(LOCAL))
    agents = entrants(ctx.params, [name for assignment in wanted for name in assignment.agents])
    ready, unavailable = prepare(wanted, ctx.seed)
    results = Contest(ctx, ready, agents).run()
    about = {
        prepared.name: {
            "benchmark": prepared.benchmark.name,
            "version": prepared.benchmark.version,
            "sample": prepared.assignment.sample,
            "tasks": len(prepared.tasks),
            "controls": [asdict(control) for control in prepared.benchmark.controls()],
        }
        for prepared in ready
    }
    write_scores(DATA / "scores", results.sets, results.tables, ctx.stamp)
    write_json(COSTS, results.costs)
    remove_directory(UNFINISHED)
    _track(ctx, results.sets)
    told = {"suite": ctx.params.suite, "rows_too_long": results.rows_too_long, "unavailable": unavailable}
    tables = {prepared.name: (prepared.benchmark, results.tables[prepared.name]) for prepared in ready}
    return [*_publish(ctx, results.sets, tables, about, told), COSTS]


def _track(ctx: StageContext[EvaluateParams], sets: Mapping[str, Mapping[str, Sequence[ScoredEpisode]]]) -> None:
    """Show episodes with the run, and let the best policy be known as such."""
    for played in sets.values():
        log_episodes(ctx.tracker, [episode for episodes in played.values() for episode in episodes])
    if "policy" in sets.get("chains", {}):
        promote_policy(ctx.tracker, DATA / "policy" / "final", ctx.document, sets["chains"]["policy"])


def rescore(ctx: StageContext[EvaluateParams]) -> Sequence[Path]:
    """Score the stored rows again."""
    scorer, source = scorer_for(ctx), DATA / "scores"
    old = read_json(METRICS)
    try:
        told, about = {key: old[key] for key in ("suite", "rows_too_long", "unavailable")}, dict(old["benchmarks"])
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(METRICS, f"it holds no figures of a run: {error!r}") from None
    sets = {
        name: {agent: [_again(episode, scorer) for episode in episodes] for agent, episodes in played.items()}
        for name, played in read_sets(source, ctx.catalog.fingerprint).items()
    }
    tables = {name: _rescored(ctx, name, rows) for name, rows in read_tables(source).items()}
    write_scores(source, sets, {name: rows for name, (_, rows) in tables.items()}, ctx.stamp)
    return _publish(ctx, sets, tables, about, told)


def _again(episode: ScoredEpisode, scorer: Scorer) -> ScoredEpisode:
    return episode if episode.record.stop == "infrastructure" else scorer.again(episode)


def _rescored(
    ctx: StageContext[EvaluateParams], name: str, rows: Sequence[AgentRow]
) -> tuple[Benchmark[Any], list[AgentRow]]:
    try:
        benchmark = entry_of(name).load(ctx.params.benchmarks.get(name), ctx.seed)
        return benchmark, rescored_rows(benchmark, rows)
    except (BenchmarkUnavailableError, ValueError) as error:
        raise ArtifactError(f"{name} can't be scored again: {error}") from None


def _publish(
    ctx: StageContext[EvaluateParams],
    sets: Mapping[str, Mapping[str, Sequence[ScoredEpisode]]],
    tables: Mapping[str, tuple[Benchmark[Any], Sequence[AgentRow]]],
    about: Mapping[str, Mapping[str, Any]],
    told: Mapping[str, Any],
) -> Sequence[Path]:
    """Write the metrics; unseen chains, the usual test, stand at the top."""
    bootstrap = Bootstrap(ctx.seed, ctx.params.bootstrap_samples)
    rows = row_metrics(sets, bootstrap)
    chains = rows.pop("chains", {"policies": {}, "differences": {}, "do_nothing": None})
    benchmarks = {
        name: {**about[name], **task_metrics(benchmark, entry_of(name).official, table, bootstrap)}
        for name, (benchmark, table) in tables.items()
    }
    write_json(METRICS, {**told, **chains, "unseen": rows, "benchmarks": benchmarks})
    for name, figure in chains["policies"].items():
        ctx.log_metrics({f"{name}/reward": figure["reward"]["mean"], f"{name}/solved": figure["solved"]["mean"]})
    for name, difference in chains["differences"].items():
        ctx.log_metrics({f"difference/{name}": difference["mean"], f"difference/{name}/low": difference["low"]})
    for name, figures in benchmarks.items():
        for agent, row in figures["agents"].items():
            if row["summary"]["overall"] is not None:
                ctx.log_metrics({f"{name}/{agent}": row["summary"]["overall"]})
    return [DATA / "scores", METRICS]


if __name__ == "__main__":
    run_stage("evaluate", EvaluateParams, main, {"rescore": rescore}, programs={"compare": compare})
