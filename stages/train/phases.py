"""GRPO in phases, with pauses between them in which a signal's lessons are imitated; either engine plays the phases.

    steps 1 … 50 → lessons → steps 51 … 150 → lessons → steps 151 … 300

A phase has its own optimiser, and its reference is the policy that it starts from. What a signal remembers is
read again from the logs after a resume, so that a killed run goes on as if nothing had happened.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

from stages.chat import Encoded
from stages.episodes import ScoredEpisode, episode_from_row
from stages.progress import Bar
from stages.stage import StageContext
from stages.train.collapse import Guard
from stages.train.config import GrpoConfig, SftConfig
from stages.train.journal import Journal
from stages.train.monitor.alarm import Detector
from stages.train.order import mixed_seed
from stages.train.params import TrainParams
from stages.train.policy import load_chat
from stages.train.rows import encode_sft
from stages.train.supervision.signal import Signal

Imitate: TypeAlias = Callable[[Path, Sequence[Encoded], SftConfig, str, Path], None]
"""From weights, rows, settings and the name of the run's logs to new weights in the directory that comes last."""


class Phases(ABC):
    """GRPO from given weights to its end.

    Args:
        ctx: the stage's context.
        work: directory of logs, checkpoints and finished phases.
        signal: what stands beside GRPO.
        config: GRPO with its final seed.
        imitate: learns the lessons.
    """

    def __init__(
        self, ctx: StageContext[TrainParams], work: Path, signal: Signal, config: GrpoConfig, imitate: Imitate
    ) -> None:
        self._ctx, self._work, self._signal, self._config, self._imitate = ctx, work, signal, config, imitate
        self.metrics: dict[str, float] = {}

    def run(self, start: Path) -> Path:
        """All phases with their pauses; returns the directory of the last weights.

        It ends early where an alarm stops it.
        """
        weights = start
        inner = [step for step in self._signal.pauses if 0 < step < self._config.steps]
        with self._ctx.progress("GRPO", total=self._config.steps) as bar:
            for first, last in pairwise([0, *inner, self._config.steps]):
                if first in self._signal.pauses:
                    weights = self._learn(weights, first)
                finished, stopped = self._work / f"grpo-{last:06d}", self._work / f"stopped-{last:06d}"
                if not finished.exists() and not stopped.exists():
                    self.phase(weights, first, last, bar)
                if stopped.exists():
                    return stopped
                weights = finished
        return weights

    @abstractmethod
    def phase(self, weights: Path, first: int, last: int, bar: Bar) -> None:
        """GRPO steps after `first` up to `last`.

        The new weights go to `grpo-LAST`; where an alarm ended the run, the last healthy ones to `stopped-LAST`.
        """

    def hear(self, step: int, sampled: Sequence[ScoredEpisode]) -> None:
        """Tell the signal of a finished step."""
        self._signal.observe(step, sampled)

    def remember(self, step: int) -> None:
        """Tell of all steps up to this one again."""
        for number, episodes in sampled_episodes(self._work, step).items():
            self.hear(number, episodes)

    def _learn(self, weights: Path, step: int) -> Path:
        """The pause after a step: imitate what the signal has collected; without lessons the weights stay."""
        target, config = self._work / f"lessons-{step:06d}", self._ctx.params.signal.lessons
        told = Journal(self._work / "lessons.jsonl")
        if target.exists():
            self.metrics |= told.steps()[step][-1]
            return target
        self.remember(step)
        chat = load_chat(self._ctx.params.policy.model_copy(update={"base": str(weights)}))
        lessons = encode_sft(chat, self._signal.lessons(step), config.max_length)
        figures = {f"lessons/{step}": float(len(lessons.rows)), f"lessons_too_long/{step}": float(lessons.left_out)}
        self._ctx.log_metrics(figures)
        self.metrics |= figures
        told.add(step, figures)
        if not lessons.rows:
            return weights
        seeded = config.model_copy(update={"seed": mixed_seed(self._config.seed, step)})
        self._imitate(weights, lessons.rows, seeded, f"lessons_{step}", target)
        return target


def sampled_episodes(work: Path, last: int) -> dict[int, list[ScoredEpisode]]:
    """What the policy itself played in each step up to `last`, from the journal under `work`."""
    return {
        step: [episode for row in rows if (episode := episode_from_row(row)).policy == "sampled"]
        for step, rows in Journal(work / "train.jsonl").steps().items()
        if step <= last
    }


def guard_for(params: TrainParams, work: Path, first: int, last: int, checkpoint: Callable[[], int | None]) -> Guard:
    """Who watches the steps after `first` up to `last`; `checkpoint` tells the last one's step, None before it.

    Alarms are kept under `work`.
    """
    alarms, detector = Journal(work / "collapse_log.jsonl"), Detector(params.monitor)
    steps = range(first + 1, last + 1)
    return Guard(params.on_collapse, alarms, detector, checkpoint, steps, params.grpo.optim.lr)
