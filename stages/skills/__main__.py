"""`python -m stages.skills`: decompose the training conversations, and make the library of skill prototypes.

`python -m stages.skills refresh` adds what training has played since, `python -m stages.skills agreement` compares the
program's scores with a teacher's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from servers.kernel.dice import Dice
from stages.artifacts import DATA, REPORTS, read_table, replaced_directory, write_json, write_table
from stages.conversations import CONVERSATIONS, from_row
from stages.dataset import RL_ROWS
from stages.episodes import EPISODES, episode_from_row
from stages.params import SkillsParams, TeacherParams
from stages.skills.agreement import agreement
from stages.skills.facts import facts_of
from stages.skills.judge import ProgramJudge, Verdict
from stages.skills.library import LIBRARY, Library, Settings, built, read_library, tallied, write_library
from stages.skills.refresh import refreshed
from stages.skills.router import Router
from stages.skills.steps import STEPS, step_rows
from stages.skills.summary import summary
from stages.skills.teacher_judge import TeacherJudge
from stages.skills.trajectories import Trajectory, episode_turn, turns_of
from stages.stage import StageContext, run_stage
from stages.teacher.team import open_teachers

METRICS = REPORTS / "metrics" / "skills.json"
AGREEMENT = REPORTS / "skills_agreement.json"


def main(ctx: StageContext[SkillsParams]) -> Sequence[Path]:
    """Decompose the training conversations, cluster their subgoals, and judge them."""
    turns, facts = training_turns(ctx), facts_of(ctx.catalog)
    params = ctx.params
    settings = Settings(params.embedder, params.min_cluster_size, params.router, ctx.seed)
    library = built(tallied(turns, facts), settings)
    judge = ProgramJudge(facts, Router(library))
    judged = [judge.verdicts(turn) for turn in turns]
    metrics = {"judge": params.judge, "unanswered": 0}
    if params.judge == "teacher":
        judged, metrics["unanswered"] = rejudged(judged, opinions(ctx, library, turns, judged))
    metrics |= summary(judged, library)
    with replaced_directory(DATA / LIBRARY.parent) as target:
        write_library(target / LIBRARY.name, library, ctx.stamp)
        rows = [row for turn, verdicts in zip(turns, judged, strict=True) for row in step_rows(turn, verdicts)]
        write_table(target / "steps.parquet", STEPS, rows, ctx.stamp)
    write_json(METRICS, metrics)
    ctx.log_metrics({key: value for key, value in metrics.items() if isinstance(value, int | float)})
    return [DATA / LIBRARY.parent, METRICS]


def refresh(ctx: StageContext[SkillsParams]) -> Sequence[Path]:
    """Bring the library up to date with the episodes in data/rollouts/train.parquet; ids stay."""
    path, rollouts = DATA / LIBRARY, DATA / "rollouts" / "train.parquet"
    library = read_library(path, ctx.catalog.fingerprint)
    rows = read_table(rollouts, EPISODES, ctx.catalog.fingerprint) if rollouts.exists() else []
    played = [episode_turn(episode_from_row(row)) for row in rows]
    new = refreshed(library, played, facts_of(ctx.catalog))
    write_library(path, new, ctx.stamp)
    before, after = ({prototype.id for prototype in each.prototypes} for each in (library, new))
    ctx.log_metrics(
        {
            "episodes": len(played),
            "kept": len(before & after),
            "new": len(after - before),
            "gone": len(before - after),
        }
    )
    return [path]


def agree(ctx: StageContext[SkillsParams]) -> Sequence[Path]:
    """Compare the program's scores with the reflector's on a sample of turns."""
    library = read_library(DATA / LIBRARY, ctx.catalog.fingerprint)
    turns = training_turns(ctx)
    sample = Dice(ctx.seed, "skills agreement").sample(turns, min(ctx.params.agreement_turns, len(turns)))
    judge = ProgramJudge(facts_of(ctx.catalog), Router(library))
    judged = [judge.verdicts(turn) for turn in sample]
    told = opinions(ctx, library, sample, judged)
    both = [
        (v.score, score)
        for turn, scores in zip(judged, told, strict=True)
        for v, score in zip(turn, scores, strict=True)
    ]
    pairs = [(ours, theirs) for ours, theirs in both if theirs is not None]
    model = ctx.block(TeacherParams, "teacher").of("reflector").model
    figures = {"teacher": model, "turns": len(sample), **agreement(pairs, len(both) - len(pairs))}
    write_json(AGREEMENT, figures)
    ctx.log_metrics({key: value for key, value in figures.items() if isinstance(value, int | float)})
    return [AGREEMENT]


def training_turns(ctx: StageContext[SkillsParams]) -> list[Trajectory]:
    """Every turn of the conversations of the training split.

    Raises:
        ArtifactError: a table is missing, damaged or of other servers.
    """
    rows = read_table(DATA / "dataset" / "train.parquet", RL_ROWS, ctx.catalog.fingerprint)
    known = {row["conversation"] for row in rows}
    path = DATA / "conversations" / "conversations.parquet"
    written = read_table(path, CONVERSATIONS, ctx.catalog.fingerprint)
    return [turn for row in written if row["id"] in known for turn in turns_of(from_row(row))]


def opinions(
    ctx: StageContext[SkillsParams], library: Library, turns: Sequence[Trajectory], judged: Sequence[Sequence[Verdict]]
) -> Sequence[Sequence[int | None]]:
    """The teacher's scores of all subgoals.

    Raises:
        ParamsError: the teacher is scripted.
        ArtifactError: its budget is spent, or its cache can't be used.
    """
    with open_teachers(ctx.block(TeacherParams, "teacher"), ctx.name) as teachers:
        judge = TeacherJudge(teachers.of("reflector"), library)
        with ctx.progress("Asking the reflector", total=len(turns)) as bar:

            async def one(turn: Trajectory, verdicts: Sequence[Verdict]) -> list[int | None]:
                scores = await judge.scores(turn, verdicts)
                bar.advance(1)
                return scores

            async def every() -> list[list[int | None]]:
                return await asyncio.gather(*(one(*pair) for pair in zip(turns, judged, strict=True)))

            return asyncio.run(every())


def rejudged(
    judged: Sequence[Sequence[Verdict]], told: Sequence[Sequence[int | None]]
) -> tuple[list[list[Verdict]], int]:
    """The verdicts with the teacher's scores, and how many it left to the program."""
    new = [
        [
            verdict if score is None else replace(verdict, score=score)
            for verdict, score in zip(turn, scores, strict=True)
        ]
        for turn, scores in zip(judged, told, strict=True)
    ]
    return new, sum(score is None for scores in told for score in scores)


if __name__ == "__main__":
    run_stage("skills", SkillsParams, main, {"refresh": refresh, "agreement": agree})
