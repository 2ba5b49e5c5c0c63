"""Dynamics over training: steps, entropy of completion, and separability of plans."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from stages.episodes import ScoredEpisode
from stages.records import EpisodeRecord
from stages.reward.combine import RewardRecord
from stages.skills.decompose import Subgoal
from stages.skills.dynamics import LEAST_EPISODES, by_step, completion_entropy, dynamics, separability
from stages.skills.embed import embedder_for
from stages.skills.judge import ProgramJudge, Verdict
from stages.skills.library import Settings, built, tallied
from stages.skills.router import Router
from tests.stages.skills.bank import FACTS, VISIBLE
from tests.stages.skills.labelled import LABELLED

GOOD, _ = LABELLED["reads both, then pays"]
BAD, _ = LABELLED["answers an error with another invention"]


def episode(sample: int, row: str = "r", good: bool = True, policy: str = "sampled") -> ScoredEpisode:
    turn = GOOD if good else BAD
    record = EpisodeRecord(turn.messages, turn.calls, "", "answered")
    reward = RewardRecord(total=0.0, outcome=good)
    return ScoredEpisode(policy, row, sample, "multi_turn", "banking", VISIBLE, (), record, "", (), reward)


def verdicts(*scores: int, prototype: str = "p") -> list[Verdict]:
    return [Verdict(Subgoal("report", "x"), prototype, score) for score in scores]


def test_a_step_begins_where_samples_start_again() -> None:
    other = episode(2, policy="demonstrated")
    masked = episode(3)
    masked = replace(masked, reward=RewardRecord(total=0.0, masked=True))
    steps = by_step([episode(0), episode(1), other, masked, episode(0), episode(0), episode(1, policy="train")])
    assert [len(step) for step in steps] == [2, 1, 2]
    assert by_step([]) == []


def test_entropy_is_that_of_completion_within_each_prototype() -> None:
    assert completion_entropy(verdicts(*[3] * 30)) == 0
    assert completion_entropy(verdicts(*[2, 1] * 15)) == pytest.approx(1)
    apart = verdicts(*[3] * 15) + verdicts(*[0] * 15, prototype="q")
    assert completion_entropy(apart) == 0
    quarter = -(0.25 * math.log2(0.25) + 0.75 * math.log2(0.75))
    mixed = verdicts(*[3, 0, 0, 1] * 10) + verdicts(*[3] * 40, prototype="q")
    assert completion_entropy(mixed) == pytest.approx(quarter / 2)
    assert completion_entropy(verdicts(*[3] * 29)) is None


def test_separable_plans_have_an_auroc_of_one_and_noise_one_half() -> None:
    dice = np.random.default_rng(5)
    solved = [n % 2 == 0 for n in range(400)]
    rows = [f"row-{n // 4}" for n in range(400)]
    apart = np.array([[float(s), 1.0] for s in solved]) + 0.1 * dice.standard_normal((400, 2))
    assert separability(apart, solved, rows, 0) == 1
    noise = separability(dice.standard_normal((400, 2)), solved, rows, 0)
    assert noise is not None
    assert 0.35 < noise < 0.65


def test_a_row_is_never_in_two_folds() -> None:
    """Plans that tell the row but nothing else must not look separable."""
    rows = [f"row-{n // 8}" for n in range(400)]
    solved = [hash(("row", n // 8)) % 2 == 0 or n // 8 % 3 == 0 for n in range(400)]
    told = separability(np.eye(50)[[n // 8 for n in range(400)]], solved, rows, 0)
    assert told is None or told < 0.7


def test_too_little_data_says_nothing() -> None:
    plans, rows = np.ones((LEAST_EPISODES, 1)), [str(n) for n in range(LEAST_EPISODES)]
    assert separability(plans[1:], [True, False] * 24 + [True], rows[1:], 0) is None
    assert separability(plans, [True] * 9 + [False] * 41, rows, 0) is None
    assert separability(plans, [True, False] * 25, ["r"] * 50, 0) is None


def test_windows_cover_the_run() -> None:
    library = built(tallied([turn for turn, _ in LABELLED.values()], FACTS), Settings(min_cluster_size=5))
    judge, embed = ProgramJudge(FACTS, Router(library)), embedder_for("tfidf", library.corpus)
    steps = by_step([episode(n, f"r{n}", good=n % 2 == 0) for _ in range(12) for n in range(30)])
    windows = dynamics(steps, judge, embed, 0)
    assert [(window.first, window.last) for window in windows] == [(n, n + 1) for n in range(1, 12, 2)]
    first = windows[0]
    assert (first.episodes, first.subgoals, first.solved) == (60, 180, 0.5)
    assert first.separability == 1
    assert first.process is not None
    assert 0 < first.process < 1
    assert dynamics([], judge, embed, 0) == []
