"""SCRIBE's middle level (arXiv 2601.03555): subgoals, a library of skill prototypes, and a judge that scores by it.

facts.py, trajectories.py   what is known of a tool; one user turn
decompose.py                a turn into subgoals, each with a skill and its steps
grounding.py, scene.py      where values come from; a turn with all that checks ask of it
checks.py, answers.py       the items of the checklists
tally.py, library.py        what the data says of each kind of subgoal; the prototypes
embed.py, cluster.py        vectors of descriptions, and clusters of them
router.py, judge.py         from a subgoal to its prototype; the score, 0 to 3
refresh.py                  the library with newly seen trajectories, under its old ids
teacher_judge.py            a teacher in the judge's place; agreement.py compares the two
dynamics.py                 what changes over training: entropy of completion, separability of plans
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stages.artifacts import DATA
from stages.episodes import Scorer
from stages.reward.rules import RewardRules

if TYPE_CHECKING:
    from servers.kernel.catalog import Catalog
    from stages.episodes import ScoredEpisode
    from stages.stage import StageContext


def scorer_for(ctx: StageContext[Any]) -> Scorer:
    """How the `reward` block of a run scores episodes; see `scorer_under`."""
    return scorer_under(ctx.block(RewardRules, "reward"), lambda: ctx.catalog)


def scorer_under(rules: RewardRules, catalog: Callable[[], Catalog], data: Path = DATA) -> Scorer:
    """The rules with the process judge that they need, if they need one.

    Args:
        rules: of the reward.
        catalog: gives the servers of the episodes; asked only where there is a judge.
        data: the directory that holds `skills/library.json`.

    Raises:
        ArtifactError: a judge is needed, and there is no library, or it is damaged or of other servers.
        ParamsError: the library was made with a sentence model that is not installed.
    """
    if not rules.needs_judge:
        return Scorer(rules)
    return refreshed_scorer(rules, (), catalog(), data)


def refreshed_scorer(
    rules: RewardRules, episodes: Sequence[ScoredEpisode], catalog: Catalog, data: Path = DATA
) -> Scorer:
    """The rules with the judge by the library of the data and of these episodes; raises what `scorer_under` does."""
    from stages.skills.facts import facts_of
    from stages.skills.judge import ProgramJudge
    from stages.skills.library import LIBRARY, read_library
    from stages.skills.refresh import refreshed
    from stages.skills.router import Router
    from stages.skills.trajectories import episode_turn

    library, facts = read_library(data / LIBRARY, catalog.fingerprint), facts_of(catalog)
    if episodes:
        library = refreshed(library, map(episode_turn, episodes), facts)
    return Scorer(rules, ProgramJudge(facts, Router(library)))
