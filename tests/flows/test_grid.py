"""Grids of ablations: overlays, workspaces, and a table that pairs rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from flows.ablation_figure import draw
from flows.ablation_results import judged, results
from flows.ablations import alarms, finished
from flows.grid import Grid, GridError, Run, load_grid, runs, train, warm_start
from stages.artifacts import Stamp, write_table
from stages.episodes import EPISODES, ScoredEpisode, Scorer, episode_to_row
from stages.params import ParamsError, check_block
from stages.reward.rules import RewardRules
from stages.train.params import TrainParams
from tests.stages.train.test_watch import GOOD, WRONG, scored

PARAMS = Path("params.yaml")


def test_every_shipped_grid_gives_valid_params() -> None:
    for path in sorted(Path("flows/grids").glob("*.yaml")):
        grid = load_grid(path.stem)
        warm = warm_start(path.stem, grid, PARAMS)
        for run in (warm, *runs(path.stem, grid, PARAMS, warm)):
            check_block(TrainParams, run.params["train"], "train")
            check_block(RewardRules, run.params["reward"], "reward")


def test_runs_differ_in_their_workspaces_and_start_from_the_warm_start() -> None:
    grid = load_grid("rewards")
    warm = warm_start("rewards", grid, PARAMS)
    every = list(runs("rewards", grid, PARAMS, warm))
    assert len({run.directory for run in every}) == len(every) == len(grid.cells) * len(grid.seeds)
    assert warm.params["train"]["phases"] == ["sft"]
    for run in every:
        assert run.params["train"]["policy"]["base"].endswith("data/policy/final")
        assert run.params["train"]["grpo"]["seed"] == run.seed
    by_cell = {run.cell: run.params["reward"] for run in every}
    assert by_cell["−validity"]["weights"]["validity"] == 0 and by_cell["full"]["weights"]["validity"] == 0.5
    assert by_cell["β = 0"]["beta"] == 0


def test_bad_grids_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParamsError, match=r"no grid 'reward': give a YAML file or one of .*rewards"):
        load_grid("reward")
    bad = tmp_path / "bad.yaml"
    bad.write_text(yaml.safe_dump({"baseline": "x", "seeds": [1], "cells": {"y": {}}}))
    with pytest.raises(ParamsError, match="baseline 'x' is none of the cells y"):
        load_grid(str(bad))


def test_a_cell_may_have_seeds_of_its_own(tmp_path: Path) -> None:
    grid = Grid(baseline="a", seeds=[1, 2], seeds_of={"b": [1, 2, 3]}, cells={"a": {}, "b": {}})
    every = list(runs("t", grid, PARAMS, warm_start("t", grid, PARAMS)))
    assert [(run.cell, run.seed) for run in every] == [("a", 1), ("a", 2), ("b", 1), ("b", 2), ("b", 3)]
    with pytest.raises(ValueError, match="seeds_of: 'c' is none of the cells a, b"):
        Grid(baseline="a", seeds=[1], seeds_of={"c": [1]}, cells={"a": {}, "b": {}})


def test_what_is_finished_can_be_shown_without_training_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grid, params = Grid(baseline="a", seeds=[1, 2], cells={"a": {}, "b": {}}), PARAMS.resolve()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GridError, match="no run of the baseline 'a' is finished yet"):
        finished("t", grid, params)
    done = next(runs("t", grid, params, warm_start("t", grid, params)))
    done.episodes.parent.mkdir(parents=True)
    done.episodes.touch()
    with pytest.raises(GridError, match="no run of the baseline"):  # killed before its figures were written
        finished("t", grid, params)
    finish(done)
    part, every = finished("t", grid, params)
    assert list(part.cells) == ["a"] and every == [done]


def finish(run: Run) -> None:
    run.metrics.parent.mkdir(parents=True)
    run.metrics.write_text("{}")


def test_a_failed_run_says_what_training_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVE_TRACKING", "off")
    grid = Grid(baseline="a", seeds=[1], base={"train": {"sft": {"epoch": 1}}}, cells={"a": {}})
    warm = replace(warm_start("t", grid, PARAMS), directory=tmp_path / "warm")
    with pytest.raises(GridError, match="unknown key; did you mean 'epochs'"):
        train(warm)


def test_differences_are_paired_over_rows_after_averaging_seeds(tmp_path: Path) -> None:
    grid = Grid(baseline="a", seeds=[1, 2], cells={"a": {}, "b": {}})
    warm = warm_start("t", grid, PARAMS)
    every = [replace(run, directory=tmp_path / run.directory.name) for run in runs("t", grid, PARAMS, warm)]

    def keep(run_index: int, good: list[bool]) -> None:
        played: list[ScoredEpisode] = []
        for number, fine in enumerate(good):
            episode = scored(GOOD if fine else WRONG)
            played.append(replace(episode, policy="step-4", row=f"r{number}"))
            played.append(replace(episode, policy="step-0", row=f"r{number}"))
        path = every[run_index].episodes
        path.parent.mkdir(parents=True)
        write_table(path, EPISODES, [episode_to_row(e) for e in played], Stamp("f", "p"))

    keep(0, [True, True, False, False])
    keep(1, [True, False, False, False])
    keep(2, [True, True, True, True])
    keep(3, [True, True, True, False])
    first, second = results(every, grid, Scorer(RewardRules()), seed=0)
    assert first.difference is None and first.rows == 4 and first.seeds == 2
    assert first.reward == pytest.approx(1.3 * 3 / 8)
    assert second.difference is not None
    assert second.difference.mean == pytest.approx(1.3 * 4 / 8)
    assert second.difference.low >= 0
    assert first.rewards == pytest.approx([1.3 * 2 / 4, 1.3 / 4]) and first.alarms == [None, None]
    alarmed = every[3].directory / "data/policy/collapse_log.jsonl"
    alarmed.parent.mkdir(parents=True)
    alarmed.write_text('{"step": 9, "action": "log"}\n{"step": 7, "action": "log"}\n')
    (alarmed.parent / "grpo_log.jsonl").write_text('{"step": 1, "solved": 0.5, "forms/polluted": 0.1}\n')
    again = results(every, grid, Scorer(RewardRules()), seed=0)
    assert again[1].alarms == [None, 7] and alarms(again[1]) == "1 of 2 (7)" and alarms(again[0]) == "0 of 2"
    draw(tmp_path / "figure.svg", again, every)
    drawn = (tmp_path / "figure.svg").read_bytes()
    draw(tmp_path / "figure.svg", again, every)
    assert (tmp_path / "figure.svg").read_bytes() == drawn
    finish(every[0])
    assert not train(every[0])  # its episodes are there: nothing to do


def test_a_run_is_judged_by_its_last_validation_without_masked_rows(tmp_path: Path) -> None:
    run = Run("a", 1, {}, tmp_path)
    good, wrong = scored(GOOD), scored(WRONG)
    masked = scored(replace(GOOD, infrastructure=True))
    episodes = [replace(e, policy="step-4", row=f"r{n}") for n, e in enumerate([good, wrong, masked])]
    run.episodes.parent.mkdir(parents=True)
    rows = [episode_to_row(e) for e in [replace(good, policy="step-2"), *episodes]]
    write_table(run.episodes, EPISODES, rows, Stamp("f", "p"))
    found = judged(run, Scorer(RewardRules()))
    assert found == {"rows": 2, "reward": pytest.approx((good.reward.total + wrong.reward.total) / 2), "solved": 0.5}
