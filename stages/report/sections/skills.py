"""The page of skill prototypes: when each applies, what it is checked by, what goes wrong; and training's dynamics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stages.artifacts import ArtifactError
from stages.episodes import EPISODES, episode_from_row
from stages.report.blocks import Block, Cell, Facts, Note, Table, number, share
from stages.report.inputs import Inputs
from stages.report.page import Section
from stages.report.plots import Plotter
from stages.skills.checks import CHECKLISTS, CHECKS
from stages.skills.decompose import SKILLS
from stages.skills.dynamics import (
    FOLDS,
    LEAST_EPISODES,
    LEAST_OF_EACH,
    LEAST_SUBGOALS,
    Window,
    by_step,
    dynamics,
)
from stages.skills.embed import embedder_for
from stages.skills.facts import facts_of
from stages.skills.judge import ProgramJudge
from stages.skills.library import LIBRARY, Library, Prototype, read_library
from stages.skills.router import Router

ROLLOUTS = "rollouts/train.parquet"
SCALE = "3 rigorous, 2 a minor slip, 1 a major gap, 0 wrong or premature"


def skill_sections(inputs: Inputs, plots: Plotter) -> list[Section]:
    """The library, its checklists, and what changed over training; where there is no library, how to make one.

    Raises:
        ArtifactError: an input is damaged or of another shape.
    """
    path = inputs.data / LIBRARY
    if not path.exists():
        return [Section("library", "Prototypes", [Note(f"There is no {path}: run python -m stages.skills.")])]
    library = read_library(path, None)
    try:
        told = _facts(inputs.metrics("skills"))
    except (KeyError, TypeError) as error:
        raise ArtifactError(
            f"skills: its metrics are of another shape ({type(error).__name__}: {error}): run its stage again"
        ) from error
    return [
        Section("library", "Prototypes", [told, *_prototypes(library)]),
        Section("checklists", "Checklists", [_checklists(library)]),
        Section("dynamics", "Over training", _dynamics(inputs, plots, library)),
    ]


def _facts(metrics: Mapping[str, Any]) -> Facts:
    scores, judged = metrics["scores"], metrics["subgoals"]
    return Facts(
        [
            ("turns", f"{metrics['turns']:,}"),
            ("subgoals", f"{judged:,}"),
            ("steps", f"{metrics['steps']:,}"),
            ("distinct descriptions", f"{metrics['descriptions']:,}"),
            ("mean process score", number(metrics["process"])),
            *((f"score {score}", share(count, judged)) for score, count in scores.items()),
            ("embedder", metrics["embedder"]),
            ("judge", metrics["judge"]),
        ]
    )


def _prototypes(library: Library) -> Sequence[Block]:
    return [
        Note(
            "A turn is divided into subgoals, runs of steps with one purpose; subgoals of one skill with like "
            f"descriptions make a prototype. Each is scored by its skill's checklist: {SCALE}. Pitfalls are what went "
            "wrong in the data, with how often; examples are conversations. Click a heading to sort."
        ),
        Table(
            "Prototypes",
            ("prototype", "skill", "subgoals", "mean score", "when it applies", "pitfalls", "examples"),
            [_row(prototype) for prototype in library.prototypes],
            sortable=True,
        ),
    ]


def _row(prototype: Prototype) -> Sequence[Cell]:
    pitfalls = "; ".join(f"{what} ({count:,})" for what, count in prototype.pitfalls)
    return (
        prototype.id,
        SKILLS[prototype.skill],
        prototype.size,
        prototype.mean_score,
        prototype.when.partition(", such as: ")[2],
        pitfalls or "none met",
        ", ".join(prototype.examples),
    )


def _checklists(library: Library) -> Table:
    skills = dict.fromkeys(prototype.skill for prototype in library.prototypes)
    rows = [
        (SKILLS[skill], CHECKS[name].told, CHECKS[name].cap)
        for skill in SKILLS
        if skill in skills
        for name in CHECKLISTS[skill]
    ]
    return Table(
        "What success looks like, and the most that a subgoal scores without it", ("skill", "item", "at most"), rows
    )


def _dynamics(inputs: Inputs, plots: Plotter, library: Library) -> Sequence[Block]:
    if not (inputs.data / ROLLOUTS).exists():
        return [Note("No training episodes are on record.")]
    episodes = (episode_from_row(row) for row in inputs.stream(ROLLOUTS, EPISODES.names))
    judge = ProgramJudge(facts_of(inputs.catalog), Router(library))
    windows = dynamics(by_step(episodes), judge, embedder_for(library.settings.embedder, library.corpus), inputs.seed)
    return [
        Note(
            "Entropy of completion: how undecided it is whether a subgoal of a kind scores 2 or more, in bits, from "
            f"{LEAST_SUBGOALS} subgoals on. Separability: AUROC of a linear probe on plans that predicts a solved "
            f"turn, over {FOLDS} folds that share no row, from {LEAST_EPISODES} episodes with {LEAST_OF_EACH} of "
            "either outcome on, and none where a fold has only one outcome."
        ),
        *_plots(plots, windows),
        Table(
            "By steps of training",
            ("steps", "episodes", "subgoals", "process", "solved", "entropy", "separability"),
            [_window(window) for window in windows],
        ),
    ]


def _plots(plots: Plotter, windows: Sequence[Window]) -> Sequence[Block]:
    panels = {
        "entropy of completion, bits": [window.entropy for window in windows],
        "plan separability, AUROC": [window.separability for window in windows],
    }
    known = {label: values for label, values in panels.items() if any(value is not None for value in values)}
    if not known:
        return [Note("There are too few training episodes for a curve.")]
    return [plots.curves("skills-dynamics", "The middle level over training", [w.last for w in windows], known)]


def _window(window: Window) -> Sequence[Cell]:
    figures = (window.process, window.solved, window.entropy, window.separability)
    return (f"{window.first}–{window.last}", window.episodes, window.subgoals, *map(number, figures))
