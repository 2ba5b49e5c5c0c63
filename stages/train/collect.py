"""The episodes of one GRPO step: groups of them per row, scored, with their advantages."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from stages.train.batched_rollout import Episode, Trajectory, rollout
from stages.train.config import GrpoConfig
from stages.train.demonstrate import demonstrate
from stages.train.losses import group_advantages
from stages.train.order import mixed_seed, row_order
from stages.train.policy import Policy
from stages.train.supervision.signal import SAMPLED, Member

T = TypeVar("T")
SPREAD = 1e-9
"""Rewards of a group that lie closer together teach nothing."""


class Scored(Protocol):
    """What a reward callback returns; a masked episode is dropped."""

    @property
    def total(self) -> float:
        """The reward."""

    @property
    def masked(self) -> bool:
        """Whether the episode says nothing about the policy."""


@dataclass(frozen=True, slots=True)
class Rollout(Generic[T]):
    """One scored episode: which row it is of, its group within the step, and what it was worth."""

    row: T
    group: int
    trajectory: Trajectory
    reward: float
    masked: bool
    advantage: float = 0.0


Groups = Callable[[Sequence[T], int], list[list[Member]]]
"""From the rows of a step and the size of a group to how each member comes about."""


def sampled_groups(rows: Sequence[T], size: int) -> list[list[Member]]:
    """Every member is sampled."""
    return [[SAMPLED] * size for _ in rows]


class Environment(Generic[T]):
    """Opens and scores episodes, and knows how long that took."""

    def __init__(self, open_episode: Callable[[T], Episode], reward: Callable[[T, Trajectory], Scored]) -> None:
        self._open_episode, self._reward = open_episode, reward
        self.seconds = 0.0

    def open(self, rows: Sequence[T]) -> list[Episode]:
        """An episode for each row."""
        started = time.perf_counter()
        episodes = [self._open_episode(row) for row in rows]
        self.seconds += time.perf_counter() - started
        return episodes

    def score(self, row: T, trajectory: Trajectory) -> Scored:
        """The reward of a finished episode."""
        started = time.perf_counter()
        scored = self._reward(row, trajectory)
        self.seconds += trajectory.seconds + time.perf_counter() - started
        return scored


def collect(
    policy: Policy,
    rows: Sequence[T],
    groups: Groups[T],
    world: Environment[T],
    config: GrpoConfig,
    step: int,
    cursor: int,
) -> tuple[list[Rollout[T]], int]:
    """Scored episodes of one step with their advantages, and the cursor after the rows drawn.

    A demonstration that outgrows the context leaves its group one member smaller.
    """
    order = row_order(len(rows), config.seed, cursor)
    kept: list[Rollout[T]] = []
    wanted, draws = config.batch_size, config.max_draws if config.dynamic_sampling else 1
    for draw in range(draws):
        chosen = [rows[next(order)] for _ in range(wanted)]
        cursor += wanted
        members = groups(chosen, config.group_size)
        played = _play(policy, world, chosen, members, config, mixed_seed(config.seed, step, draw))
        base = draw * config.batch_size
        for number, trajectory in played:
            row = chosen[number]
            scored = world.score(row, trajectory)
            kept.append(Rollout(row, base + number, trajectory, scored.total, scored.masked))
        if config.dynamic_sampling:
            spread = groups_with_spread(kept)
            if draw + 1 < draws:
                kept = [r for r in kept if r.group in spread]
            wanted = config.batch_size - len(spread)
        if wanted <= 0:
            break
    return _with_advantages(kept, config), cursor


def groups_with_spread(rollouts: Sequence[Rollout[T]]) -> set[int]:
    """The groups whose rewards differ."""
    rewards: dict[int, list[float]] = {}
    for r in rollouts:
        if not r.masked:
            rewards.setdefault(r.group, []).append(r.reward)
    return {group for group, values in rewards.items() if max(values) - min(values) > SPREAD}


def _play(
    policy: Policy,
    world: Environment[T],
    rows: Sequence[T],
    members: Sequence[Sequence[Member]],
    config: GrpoConfig,
    seed: int,
) -> list[tuple[int, Trajectory]]:
    """Every finished episode with the number of its row, in order."""
    seats = [(number, member) for number, group in enumerate(members) for member in group]
    episodes = world.open([rows[number] for number, _ in seats])
    drawn = [i for i, (_, member) in enumerate(seats) if not member.replies]
    hints = [seats[i][1].hint for i in drawn]
    sampled = rollout(
        policy.network, policy.chat, [episodes[i] for i in drawn], config.sampling, seed=seed, hints=hints
    )
    found: dict[int, Trajectory] = dict(zip(drawn, sampled, strict=True))
    for i, (_, member) in enumerate(seats):
        if member.replies:
            shown = demonstrate(policy.chat, episodes[i], member.replies, config.sampling.max_context)
            if shown is not None:
                found[i] = shown
    return [(seats[i][0], found[i]) for i in sorted(found)]


def _with_advantages(rollouts: Sequence[Rollout[T]], config: GrpoConfig) -> list[Rollout[T]]:
    """Masked episodes take no part in their group's mean and keep advantage 0."""
    live = [r for r in rollouts if not r.masked]
    values = iter(group_advantages([r.reward for r in live], [r.group for r in live], config.advantage))
    return [r if r.masked else replace(r, advantage=next(values)) for r in rollouts]
