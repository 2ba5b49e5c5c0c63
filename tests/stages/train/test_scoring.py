"""A run that judges the process: its library follows the policy, and a resumed run has the library it had."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stages.artifacts import DATA, Stamp
from stages.episodes import ScoredEpisode
from stages.skills.facts import facts_of
from stages.skills.library import LIBRARY, Library, Settings, built, tallied, write_library
from stages.skills.trajectories import turns_of
from stages.stage import StageContext
from stages.train.params import TrainParams
from stages.train.scoring import Scoring
from tests.stages.synthesize.writing import SERVERS, catalog
from tests.stages.train.supervision.material import acting, call, made, perfect, played, silent

pytestmark = pytest.mark.timeout(120)  # the conversations are written first


@pytest.fixture
def ctx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StageContext[TrainParams]:
    monkeypatch.chdir(tmp_path)
    turns = [turn for one in made() for turn in turns_of(one)]
    library = built(tallied(turns, facts_of(catalog())), Settings())
    write_library(DATA / LIBRARY, library, Stamp(catalog().fingerprint, ""))
    reward = {"kind": "scribe", "scribe": {"refresh": 2}}
    return StageContext("train", TrainParams(), 7, {"bootstrap": {"servers": list(SERVERS)}, "reward": reward})


def library(scoring: Scoring) -> Library:
    judge: Any = scoring._scorer.judge
    found: Library = judge._router.library
    return found


def strange() -> ScoredEpisode:
    return played(acting(), (call("no_such_tool", {}), call("no_such_tool", {"again": 1})))


def test_the_total_is_outcome_and_process(ctx: StageContext[TrainParams]) -> None:
    row, scoring = acting(), Scoring(ctx)
    good, bad = (scoring.score("p", row, 0, e.record).reward for e in (perfect(row), silent(row)))
    assert good.process is not None and bad.process is not None
    assert good.total == pytest.approx(0.7 + 0.3 * good.process)
    assert bad.total == pytest.approx(0.3 * bad.process) and bad.process < good.process


def test_the_library_takes_in_the_episodes_of_the_last_steps(ctx: StageContext[TrainParams]) -> None:
    scoring = Scoring(ctx)
    scoring.observe(1, [strange()])
    assert not library(scoring).seen, "not yet"
    scoring.observe(2, [perfect(acting())])
    first = library(scoring)
    assert any("no_such_tool" in text or "can't be called" in text for text in first.seen)
    scoring.observe(3, [perfect(acting())])
    assert library(scoring) is first
    scoring.observe(4, [perfect(acting())])
    assert not any("can't be called" in text for text in library(scoring).seen), "steps 1 and 2 are no longer recent"


def test_hearing_of_all_steps_again_gives_the_same_library(ctx: StageContext[TrainParams]) -> None:
    scoring, resumed = Scoring(ctx), Scoring(ctx)
    steps = {1: [strange()], 2: [perfect(acting())], 3: [silent(acting())]}
    for step, episodes in steps.items():
        scoring.observe(step, episodes)
        resumed.observe(step, episodes)
    resumed.observe(1, steps[1])
    assert not library(resumed).seen, "gone back to before the refresh"
    for step in (2, 3):
        resumed.observe(step, steps[step])
    assert library(resumed) == library(scoring)
