"""Tracks, and the tasks of each.

A track is a domain played in one way: with a user, or solo, where a ticket stands in for the user and the
agent has the user's tools. A task is left out where it cannot be scored here: its reward depends on
sentences that only a judge model can check, or it needs parts that the package's environments lack.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stages.evaluate.tau2.package import Tau2Package


@dataclass(frozen=True, slots=True)
class Track:
    """A domain played in one way; `policy` are the files of its rules."""

    name: str
    domain: str
    policy: tuple[str, ...]
    solo: bool = False

    def rules(self, package: Tau2Package) -> str:
        """The domain policy as the agent reads it."""
        texts = [package.text(f"domains/{self.domain}/{name}") for name in self.policy]
        if len(texts) == 1:
            return texts[0]
        main, support = texts
        return "\n".join(
            ("<main_policy>", main, "</main_policy>", "<tech_support_policy>", support, "</tech_support_policy>")
        )


TRACKS: Mapping[str, Track] = {
    track.name: track
    for track in (
        Track("airline", "airline", ("policy.md",)),
        Track("retail", "retail", ("policy.md",)),
        Track("telecom", "telecom", ("main_policy.md", "tech_support_manual.md")),
        Track("telecom_solo", "telecom", ("main_policy_solo.md", "tech_support_manual.md"), solo=True),
        Track("telecom_workflow_solo", "telecom", ("main_policy_solo.md", "tech_support_workflow_solo.md"), solo=True),
        Track("mock_solo", "mock", ("policy_solo.md",), solo=True),
    )
}
SOLO = tuple(name for name, track in TRACKS.items() if track.solo)
"""What a policy can play alone."""


@dataclass(frozen=True, slots=True)
class Tau2Task:
    """One task of a track, in one of its trials; `official` is the package's own record, never changed."""

    track: Track
    name: str
    trial: int
    official: Any = field(repr=False, compare=False)

    @property
    def id(self) -> str:
        """Track and task, and the trial from the second on."""
        return f"{self.track.name}/{self.name}" + (f"#{self.trial}" if self.trial else "")

    @property
    def category(self) -> str:
        """The track."""
        return self.track.name


@dataclass(frozen=True, slots=True)
class TaskSet:
    """A track's tasks in the official order, and the names of those left out."""

    tasks: tuple[Tau2Task, ...]
    not_judged: tuple[str, ...]
    unsupported: tuple[str, ...]


def load_tasks(package: Tau2Package, track: Track) -> TaskSet:
    """The base split of a track's domain; in solo mode, of those tasks that can be played so.

    Raises:
        BenchmarkUnavailableError: a file that the track needs is missing.
    """
    track.rules(package)
    package.tools(track.domain, solo=track.solo)
    if not track.solo:
        package.guidelines(track.domain)
    kind = package.module("data_model.tasks").Task
    base = set(package.parsed(f"domains/{track.domain}/split_tasks.json")["base"])
    plain = [task for task in package.parsed(f"domains/{track.domain}/tasks.json") if task["id"] in base]
    official = [kind.model_validate(task) for task in plain]
    if track.solo:
        official = [task for task in official if _is_solo(task)]
    users_act = package.has_user_tools(track.domain)
    unsupported = [task.id for task in official if not users_act and _needs_acting_user(task)]
    not_judged = [task.id for task in official if needs_judge(task)]
    kept = [task for task in official if task.id not in {*unsupported, *not_judged}]
    return TaskSet(tuple(Tau2Task(track, task.id, 0, task) for task in kept), tuple(not_judged), tuple(unsupported))


def needs_judge(official: Any) -> bool:
    """Whether the reward depends on sentences that only a judge can check."""
    criteria = official.evaluation_criteria
    return bool(criteria.nl_assertions) and "NL_ASSERTION" in {basis.value for basis in criteria.reward_basis}


def _is_solo(official: Any) -> bool:
    """The official condition: no conversation that has begun, and a ticket with actions where nothing is set up."""
    if official.initial_state is not None:
        return not official.initial_state.message_history
    return official.ticket is not None and bool(official.evaluation_criteria.actions)


def _needs_acting_user(official: Any) -> bool:
    criteria, state = official.evaluation_criteria, official.initial_state
    steps: Iterable[Any] = [*(criteria.env_assertions or ()), *((state and state.initialization_actions) or ())]
    acting = any(action.requestor == "user" for action in criteria.actions or ())
    return acting or any(step.env_type == "user" for step in steps)
