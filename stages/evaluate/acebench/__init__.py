"""ACEBench, English and Chinese: single calls to whole tasks, in its own notation or as tool calls.

The data is the user's: a clone of github.com/ACEBench/ACEBench, whose folder `data_all` is named as a
directory. Agent tasks also need the clone's scenario classes, so they are a benchmark of their own.

    data.py             records of the seventeen files of a language
    calls.py            the notation `[ApiName(key='value')]`, parsed and never evaluated
    checker.py          the published rule for calls
    special.py          the published rule for tasks whose right answer is no call
    rendering.py        what a model sees and says: native or training (prompts.py, history.py, schema.py)
    scoring.py          our verdict, and the published text path's beside it
    adapter.py          normal and special tasks: playing, scoring, controls
    world.py            the upstream classes as one task's world
    agent.py            agent tasks: playing and controls (policies.py, agent_scoring.py)
    overall.py          normal, special, agent, and their weighted sum
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stages.evaluate.acebench.adapter import AceBench
from stages.evaluate.acebench.agent import AceAgent
from stages.evaluate.acebench.data import Language
from stages.evaluate.acebench.overall import AceScores, ace_scores
from stages.evaluate.acebench.rendering import Rendering
from stages.evaluate.benchmark import BatchedAgent, Control, TaskResult
from stages.evaluate.summary import Measurement, measure
from stages.evaluate.user import UserModel

__all__ = [
    "AceAgent",
    "AceBench",
    "AceMeasurement",
    "AceScores",
    "ace_scores",
    "controls",
    "en_native",
    "en_training",
    "run",
    "zh_native",
    "zh_training",
]


@dataclass(frozen=True, slots=True)
class AceMeasurement:
    """A run of one agent: the measurement of each benchmark, ACEBench's own figures, and those of doing nothing."""

    measurements: tuple[Measurement, ...]
    scores: AceScores
    do_nothing: AceScores


def controls(data: Path, language: Language = "en", rendering: Rendering = "native") -> tuple[Control, ...]:
    """Run the controls of the normal and special tasks."""
    return AceBench(data, language, rendering).controls()


def run(
    agent: BatchedAgent,
    data: Path,
    *,
    language: Language = "en",
    rendering: Rendering = "native",
    code: Path | None = None,
    user: UserModel | None = None,
    sample: int | None = None,
    seed: int = 0,
    width: int = 16,
    on_result: Callable[[TaskResult], None] | None = None,
) -> AceMeasurement:
    """Score an agent: rates by category with intervals, ACEBench's figures, and the do-nothing floor.

    Args:
        agent: who answers.
        data: the folder that holds `data_en` and `data_zh`.
        language: `en` or `zh`.
        rendering: `native` or `training`.
        code: an upstream clone; its scenario classes are run for the agent tasks, which are left out without it.
        user: who plays the user of multi-turn agent tasks, which are left out without one.
        sample: tasks per category, drawn by `seed`; None runs all.
        seed: of the sample.
        width: episodes open at a time.
        on_result: hears of each row as it is made.

    Raises:
        BenchmarkUnavailableError: data or code is not there; the message says how to get it.
    """
    made = [
        measure(AceBench(data, language, rendering), agent, sample=sample, seed=seed, width=width, on_result=on_result)
    ]
    if code is not None:
        acting = AceAgent(data, code, language, rendering, user)
        made.append(measure(acting, agent, sample=sample, seed=seed, width=width, on_result=on_result))
    return AceMeasurement(
        tuple(made),
        ace_scores([category for one in made for category in one.summary.categories]),
        ace_scores([category for one in made for category in one.do_nothing.categories]),
    )


def en_native(data: Path | None = None) -> AceBench:
    """English, in ACEBench's own notation."""
    return AceBench(data, "en", "native")


def en_training(data: Path | None = None) -> AceBench:
    """English, as tools and tool calls."""
    return AceBench(data, "en", "training")


def zh_native(data: Path | None = None) -> AceBench:
    """Chinese, in ACEBench's own notation."""
    return AceBench(data, "zh", "native")


def zh_training(data: Path | None = None) -> AceBench:
    """Chinese, as tools and tool calls."""
    return AceBench(data, "zh", "training")
