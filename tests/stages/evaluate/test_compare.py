"""Two sides, task by task: pairing, flips, what is refused, and the command's output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stages.artifacts import ArtifactError, Stamp
from stages.evaluate.benchmark import Score, TaskResult
from stages.evaluate.compare import compare_sides
from stages.evaluate.compare_command import compare
from stages.evaluate.scores import write_scores
from stages.evaluate.statistics import mcnemar, verdict
from stages.evaluate.store import FLOOR, AgentRow


def rows(agent: str, passed: str, version: str = "1") -> list[AgentRow]:
    """One row for each letter: passed (+), failed (-), masked (?)."""
    return [
        AgentRow(
            agent,
            version,
            TaskResult(f"t{n}", "c", "infrastructure" if mark == "?" else "scored", Score(mark == "+")),
        )
        for n, mark in enumerate(passed)
    ]


def run(place: Path, *played: list[AgentRow]) -> Path:
    write_scores(place, {}, {"bfcl": [row for part in played for row in part]}, Stamp("f", "p"))
    return place


@pytest.fixture
def scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    floor, base, policy = rows(FLOOR, "-" * 12), rows("base", "-----++---??"), rows("policy", "++++++++--+?")
    return run(tmp_path / "data" / "scores", floor, base, policy)


def test_two_agents_of_one_run_are_paired_by_task(scores: Path) -> None:
    (found,) = compare_sides("policy", "base", seed=0, resamples=2000)
    assert (found.on, found.tasks, found.left_out) == ("bfcl", 10, 1)
    assert (found.first_mean, found.second_mean) == (0.8, 0.2)
    assert found.difference == pytest.approx(0.6)
    assert found.gained == ("t0", "t1", "t2", "t3", "t4", "t7") and found.lost == ()
    assert found.p == mcnemar(6, 0) == 2 / 2**6
    assert found.low > 0 and found.verdict == "higher"
    (back,) = compare_sides("base", "policy", seed=0, resamples=2000)
    assert (back.difference, back.lost, back.verdict) == (-found.difference, found.gained, "lower")


def test_two_runs_meet_agent_by_agent_and_an_agent_may_be_named(scores: Path, tmp_path: Path) -> None:
    other = run(tmp_path / "other", rows("policy", "++++++++-?++"), rows("sft", "-" * 12))
    (found,) = compare_sides("data/scores", str(other), seed=0, resamples=100)
    assert (found.first, found.second, found.tasks, found.left_out) == ("policy", "policy", 10, 2)
    (found,) = compare_sides("base", f"{other}:sft", seed=0, resamples=100)
    assert (found.first, found.second, found.gained) == ("base", "sft", ("t5", "t6"))
    (found,) = compare_sides("base", "do_nothing", seed=0, resamples=100)
    assert found.second_mean == 0.0


def test_trials_of_a_task_count_as_one(tmp_path: Path) -> None:
    def trials(agent: str, marks: dict[str, bool]) -> list[AgentRow]:
        return [AgentRow(agent, "1", TaskResult(name, "c", "scored", Score(ok))) for name, ok in marks.items()]

    place = run(
        tmp_path / "s",
        trials("a", {"x": True, "x#1": False, "y": True, "y#1": True}),
        trials("b", {"x": False, "x#1": False, "y": False, "y#1": True}),
    )
    (found,) = compare_sides(f"{place}:a", f"{place}:b", seed=0, resamples=100)
    assert (found.tasks, found.first_mean, found.second_mean) == (2, 0.75, 0.25)
    assert found.gained == ("y",)  # it passes when each of its trials does


def test_what_cannot_be_compared_is_refused_with_the_reason(scores: Path, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="no agent 'polcy'; it has do_nothing, base, policy"):
        compare_sides("polcy", "base", seed=0, resamples=100)
    with pytest.raises(ArtifactError, match="no directory of scores"):
        compare_sides("nowhere:policy", "base", seed=0, resamples=100)
    newer = run(tmp_path / "newer", rows("policy", "++", version="2"))
    with pytest.raises(ArtifactError, match=r"t0 is of other data on each side \(1; 2\)"):
        compare_sides("policy", f"{newer}:policy", seed=0, resamples=100)
    masked = run(tmp_path / "masked", rows("policy", "??"))
    with pytest.raises(ArtifactError, match="share no task"):
        compare_sides("policy", f"{masked}:policy", seed=0, resamples=100)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ArtifactError, match="holds no scores"):
        compare_sides(str(empty), "policy", seed=0, resamples=100)


def test_the_command_prints_a_table_json_or_one_line_of_complaint(
    scores: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(["policy", "base"]) == 0
    shown = capsys.readouterr().out
    assert "+0.600 [" in shown and "higher" in shown and "1 tasks are masked" in shown
    assert compare(["policy", "base", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["gained"] == ["t0", "t1", "t2", "t3", "t4", "t7"]
    assert compare(["policy", "nobody"]) == 1
    assert capsys.readouterr().err.startswith("compare: data/scores has no agent 'nobody'")
    with pytest.raises(SystemExit) as usage:
        compare(["policy"])
    assert usage.value.code == 2


@pytest.mark.parametrize(
    ("gained", "lost", "p"),
    [(0, 0, 1.0), (5, 5, 1.0), (1, 0, 1.0), (6, 0, 0.03125), (10, 2, 0.038574), (2, 10, 0.038574)],
)
def test_mcnemar_is_the_exact_binomial(gained: int, lost: int, p: float) -> None:
    assert mcnemar(gained, lost) == pytest.approx(p, abs=1e-6)


def test_a_difference_is_claimed_only_where_its_interval_leaves_zero_out() -> None:
    assert [verdict(*ends) for ends in ((0.1, 0.2), (-0.2, -0.1), (0.0, 0.2), (-0.1, 0.1))] == [
        "higher",
        "lower",
        "no clear difference",
        "no clear difference",
    ]
    with pytest.raises(ValueError, match="not counts"):
        mcnemar(-1, 0)
