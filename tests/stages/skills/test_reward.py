"""The process score inside the reward: formulas, what needs a judge, and that the default is as it was."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from servers.kernel.catalog import load_catalog
from stages.artifacts import ArtifactError, Stamp
from stages.dataset import RlRow
from stages.episodes import ScoredEpisode, episode_from_row, episode_to_row, rescored, score_episode
from stages.params import ParamsError
from stages.records import EpisodeRecord, ToolSpec, TruthCall
from stages.reward.process import ProcessJudge
from stages.reward.rules import RewardRules
from stages.skills import scorer_under
from stages.skills.judge import ProgramJudge
from stages.skills.library import LIBRARY, Settings, built, tallied, write_library
from stages.skills.router import Router
from tests.stages.skills.bank import FACTS, VISIBLE, trace
from tests.stages.skills.labelled import BOTH, LABELLED, PAY, SENT, TOLD

GOOD = trace(PAY, BOTH, [SENT], TOLD)
ROW = RlRow(
    "r", "c", 0, "multi_turn", "banking", 1, VISIBLE, GOOD.messages[:1], (),
    (TruthCall("send_payment", GOOD.calls[-1].arguments or {}),), "after",
)  # fmt: skip
RECORD = EpisodeRecord(GOOD.messages, GOOD.calls, "after", "answered")
SCRIBE = RewardRules.model_validate({"kind": "scribe"})


class Always:
    """A judge with one opinion."""

    def __init__(self, score: float) -> None:
        self.score, self.asked = score, 0

    def process(self, visible: Sequence[ToolSpec], record: EpisodeRecord) -> float:
        self.asked += 1
        return self.score


def scored(rules: RewardRules, judge: ProcessJudge | None = None, **changes: object) -> ScoredEpisode:
    return score_episode("p", ROW, 0, replace(RECORD, **changes), rules, judge)  # type: ignore[arg-type]


def program() -> ProgramJudge:
    library = built(tallied([trajectory for trajectory, _ in LABELLED.values()], FACTS), Settings(min_cluster_size=5))
    return ProgramJudge(FACTS, Router(library))


def test_scribe_weighs_outcome_and_process() -> None:
    assert scored(SCRIBE, Always(0.5)).reward.total == pytest.approx(0.7 + 0.15)
    wrong = scored(SCRIBE, Always(0.5), state_hash="other").reward
    assert (wrong.total, wrong.outcome, wrong.process) == (pytest.approx(0.15), False, 0.5)
    half = RewardRules.model_validate({"kind": "scribe", "scribe": {"outcome": 1.0, "process": 1.0}})
    assert scored(half, Always(0.25)).reward.total == pytest.approx(1.25)


def test_process_is_a_sixth_component_of_the_dense_reward() -> None:
    plain, rules = scored(RewardRules()), RewardRules.model_validate({"weights": {"process": 0.4}})
    assert scored(rules, Always(0.5)).reward.total == pytest.approx(plain.reward.total + 0.2)
    silent = replace(ROW, truth=())
    judged = score_episode("p", silent, 0, replace(RECORD, calls=()), rules, Always(0.5)).reward
    assert judged.total == 1  # the rule for abstention is no weighted sum


def test_the_default_asks_nobody_and_writes_what_it_always_wrote() -> None:
    judge = Always(1)
    record = scored(RewardRules(), judge).reward
    outcome = scored(RewardRules.model_validate({"kind": "outcome", "weights": {"process": 1.0}}), judge).reward
    assert judge.asked == 0
    assert (record.process, outcome.total) == (None, 1)
    assert "process" not in json.loads(record.model_dump_json())
    assert "process" not in json.loads(episode_to_row(scored(RewardRules()))["reward"])


def test_a_process_score_survives_the_table() -> None:
    episode = scored(SCRIBE, Always(0.5))
    assert episode_from_row(episode_to_row(episode)).reward == episode.reward


def test_rules_that_need_a_judge_say_so() -> None:
    with pytest.raises(ParamsError, match=r"reward\.kind is scribe.*set reward\.kind"):
        scored(SCRIBE)
    with pytest.raises(ParamsError, match=r"reward\.weights\.process is above 0"):
        rescored(scored(RewardRules()), RewardRules.model_validate({"weights": {"process": 0.1}}))
    assert rescored(scored(RewardRules()), SCRIBE, Always(1)).reward.total == 1
    with pytest.raises(ValidationError):
        RewardRules.model_validate({"scribe": {"oucome": 1.0}})


def test_a_masked_episode_is_not_judged() -> None:
    judge = Always(1)
    broken = tuple(replace(call, infrastructure=True) for call in GOOD.calls)
    assert scored(SCRIBE, judge, calls=broken).reward.masked
    assert judge.asked == 0


def test_good_work_earns_more_than_bad_work() -> None:
    judge = program()
    bad, _ = LABELLED["answers an error with another invention"]
    assert judge.process(VISIBLE, RECORD) == 1
    assert judge.process(VISIBLE, EpisodeRecord(bad.messages, bad.calls, "", "answered")) < 0.3
    assert judge.process(VISIBLE, EpisodeRecord((), (), "", "deadline")) == 0


def test_the_training_stages_judge(tmp_path: Path) -> None:
    catalog = load_catalog(("banking",))
    assert scorer_under(RewardRules(), lambda: catalog, tmp_path).judge is None
    with pytest.raises(ArtifactError, match=r"library\.json is missing"):
        scorer_under(SCRIBE, lambda: catalog, tmp_path)
    library = built(tallied([GOOD], FACTS), Settings())
    write_library(tmp_path / LIBRARY, library, Stamp(catalog.fingerprint, "0"))
    judge = scorer_under(SCRIBE, lambda: catalog, tmp_path).judge
    assert judge is not None
    assert 0 <= judge.process(VISIBLE, RECORD) <= 1
