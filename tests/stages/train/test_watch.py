"""What a batch of episodes says, and what a profile makes of groups."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stages.dataset import RlRow
from stages.episodes import ScoredEpisode, rescored, score_episode
from stages.records import EpisodeRecord, ExecutedCall, Message, ToolSpec, TruthCall
from stages.reward.rules import RewardRules, Weights
from stages.train.profile import spread
from stages.train.watch import episode_metrics

READ = ToolSpec("read", "", {"properties": {"id": {"type": "string"}}, "required": ["id"]})
ROW = RlRow(
    "r", "c", 0, "multi_turn", "s", 1, (READ,), (Message("user", "?"),), (),
    (TruthCall("read", {"id": "a"}),), "after", ('{"n": 1}',),
)  # fmt: skip
GOOD = ExecutedCall("read", {"id": "a"}, 1, True, True, '{"n":1}')
WRONG = ExecutedCall("write", {}, 1, False, False, "{}", "unknown_tool")


def scored(*calls: ExecutedCall, state: str = "after", row: RlRow = ROW, kind: str = "dense") -> ScoredEpisode:
    record = EpisodeRecord((Message("user", "?"), Message("assistant", "")), calls, state, "answered")
    return score_episode("p", row, 0, record, RewardRules.model_validate({"kind": kind}))


def test_parts_calls_errors_and_endings_are_means_over_live_episodes() -> None:
    masked = scored(replace(GOOD, infrastructure=True))
    found = episode_metrics([scored(GOOD), scored(WRONG, WRONG, WRONG, GOOD), masked])
    assert found["part_coverage"] == 1
    assert found["part_name"] == pytest.approx((1 + 1 / 4) / 2)
    assert found["calls"] == 2.5
    assert found["calls_over_budget"] == 1  # 4 calls on a budget of 2, and none
    assert found["errors/unknown_tool"] == 1.5
    assert found["stops/answered"] == 1
    assert found["solved"] == 1
    assert episode_metrics([masked]) == {}


def test_the_outcome_needs_the_state_and_the_required_result() -> None:
    assert scored(GOOD).reward.outcome is True
    assert scored(GOOD, state="other").reward.outcome is False
    assert scored(replace(GOOD, result='{"n": 2}')).reward.outcome is False
    assert scored().reward.outcome is False
    nothing = replace(ROW, truth=(), required=())
    assert scored(row=nothing).reward.outcome is True
    assert scored(GOOD, row=nothing).reward.outcome is False
    assert scored(replace(GOOD, infrastructure=True)).reward.outcome is None


def test_the_outcome_can_be_the_reward_and_stored_episodes_change_with_the_rules() -> None:
    good, bad = scored(GOOD, kind="outcome"), scored(GOOD, state="other", kind="outcome")
    assert (good.reward.total, bad.reward.total) == (1, 0)
    assert bad.reward.coverage == 1  # the parts stand beside it
    assert rescored(bad, RewardRules()).reward.total == pytest.approx(1.3)
    assert rescored(scored(GOOD), RewardRules(weights=Weights(validity=0))).reward.total == pytest.approx(0.8)


def test_a_profile_counts_groups_by_what_they_teach() -> None:
    good, bad = scored(GOOD), scored()
    found = spread([[good, good], [bad, bad], [good, bad], [scored(replace(GOOD, infrastructure=True))] * 2])
    assert (found["rows"], found["episodes"], found["masked"]) == (4, 8, 2)
    assert found["all_one"] == found["all_zero"] == pytest.approx(1 / 3)
    assert found["alike"] == pytest.approx(2 / 3)
    assert found["deviation"] == pytest.approx(0.65 / 3)
    assert found["reward"] == pytest.approx(0.65)
