"""A grid from one command: killed and resumed, what is finished stays, and the result is that of a run in peace."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.grids import Grids, make_grid
from tests.flows.test_remote import dvc

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Grids, dict[Path, int], str]]:
    """A grid of two cells that was killed in its last training and then resumed; what it said last."""
    grids = Grids(make_grid(tmp_path_factory.mktemp("grid"), cells=2, seeds=(1,)))
    done = grids.killed_when(2)
    yield grids, done, grids.run()


def test_a_killed_grid_goes_on_and_ends_like_one_in_peace(killed: tuple[Grids, dict[Path, int], str]) -> None:
    grids, done, told = killed
    finished = grids.finished()
    assert len(done) == 2 and len(finished) == 3
    assert done.items() <= finished.items(), "a finished training was run again"
    assert "95 %" in told and "2 validation rows" in told
    outputs = grids.outputs()
    cells = json.loads(outputs["reports/ablations/tiny.json"])
    assert [(cell["cell"], cell["seeds"]) for cell in cells] == [("dense", 1), ("outcome", 1)]
    assert cells[1]["difference"]["low"] <= cells[1]["difference"]["mean"] <= cells[1]["difference"]["high"]
    grids.forget()
    grids.tracking = False
    assert "had been trained before" not in grids.run("--parallel", "2")
    assert grids.outputs() == outputs


def test_cells_are_dvc_experiments(killed: tuple[Grids, dict[Path, int], str]) -> None:
    grids, _, _ = killed
    (head, *rows) = json.loads(dvc(grids.root, "exp", "show", "--json"))[1:]
    assert not rows and head["experiments"] is not None
    shown = {found["name"]: found["revs"][0]["data"] for found in head["experiments"]}
    assert {name.rpartition("-")[0] for name in shown} == {"tiny-dense-1", "tiny-outcome-1"}
    for name, data in shown.items():
        kind = data["params"]["params.yaml"]["data"]["reward"].get("kind", "dense")
        assert kind in name
        metrics = data["metrics"]["reports/metrics/train.json"]["data"]
        assert metrics["judged"]["rows"] == 2 and metrics["last_step"] == 1


def test_the_grid_is_one_mlflow_run_over_its_trainings(killed: tuple[Grids, dict[Path, int], str]) -> None:
    grids, _, _ = killed
    with sqlite3.connect(grids.root / "mlflow.db") as database:
        runs = dict(database.execute("select name, status from runs").fetchall())
        parents = database.execute("select value, count(*) from tags where key = 'mlflow.parentRunId' group by value")
        ((parent, children),) = parents.fetchall()
        (name,) = database.execute("select name from runs where run_uuid = ?", [parent]).fetchone()
        told = "select distinct key from latest_metrics where run_uuid = ?"
        figures = {key for (key,) in database.execute(told, [parent]).fetchall()}
    assert name == "grid tiny" and children == 3, "the warm start and two cells"
    assert {"grid tiny", "warm start, seed 0", "dense, seed 1", "outcome, seed 1"} == set(runs)
    assert set(runs.values()) == {"FINISHED"}
    assert figures == {"reward/dense", "reward/outcome", "difference/outcome"}
