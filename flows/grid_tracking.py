"""A grid in MLflow: one parent run over its trainings, with the table and the figure when it is done.

The parent is found again when a killed grid goes on; what was running when it was killed is marked so. Tracking never
stops a grid: the first failure is told, and what is left goes without a parent.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from flows.grid import Grid, Run
from stages.tracking import tracking_uri
from stages.tracking.database import connect, exclusive, experiment_id
from stages.tracking.provenance import revision
from stages.tracking.tracker import masked, safe_name

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

    from flows.ablation_results import CellResult

EXPERIMENT = "prove/train"
"""Where the trainings are: MLflow shows parents and children together in one experiment only."""


class GridTracking:
    """The parent run of a grid.

    Args:
        name: the grid's name.
        grid: the grid.
        every: its runs; another set of parameters is another parent.
        say: hears of failures.
    """

    def __init__(self, name: str, grid: Grid, every: Sequence[Run], say: Callable[[str], None]) -> None:
        self._name, self._grid, self._say, self._parent = name, grid, say, ""
        self._digest = hashlib.sha256("\n".join(str(run.directory) for run in every).encode()).hexdigest()[:16]
        self._enabled = os.environ.get("PROVE_TRACKING", "").lower() != "off"
        self._try(self._begin)

    def tags(self, run: Run) -> dict[str, str]:
        """What the MLflow run of a training is tagged with."""
        own = {"grid": self._name, "cell": run.cell, "seed": str(run.seed)}
        own["mlflow.runName"] = f"{run.cell}, seed {run.seed}"
        return {**own, "mlflow.parentRunId": self._parent} if self._parent else own

    def end(self, status: Literal["FINISHED", "FAILED"]) -> None:
        """Say how the grid ended."""
        if self._parent:
            self._try(lambda client: client.set_terminated(self._parent, status))

    def log(self, found: Sequence[CellResult], files: Sequence[Path]) -> None:
        """Put the cells' rewards and differences on the parent, and files beside them."""

        def write(client: MlflowClient) -> None:
            for cell in found:
                client.log_metric(self._parent, safe_name(f"reward/{cell.cell}"), cell.reward)
                if cell.difference:
                    client.log_metric(self._parent, safe_name(f"difference/{cell.cell}"), cell.difference.mean)
            for file in files:
                client.log_artifact(self._parent, str(file))

        if self._parent:
            self._try(write)

    def _begin(self, client: MlflowClient) -> None:
        experiment = experiment_id(client, EXPERIMENT)
        known = client.search_runs([experiment], f"tags.grid_digest = '{self._digest}'", max_results=1)
        if known:
            self._parent = known[0].info.run_id
            left = f"tags.mlflow.parentRunId = '{self._parent}' and attributes.status = 'RUNNING'"
            for child in client.search_runs([experiment], left):
                client.set_terminated(child.info.run_id, "KILLED")
            client.update_run(self._parent, "RUNNING")
            return
        tags = {"mlflow.source.name": "flows.ablations", "grid": self._name, "grid_digest": self._digest, **revision()}
        self._parent = client.create_run(experiment, tags=tags, run_name=f"grid {self._name}").info.run_id
        client.log_param(self._parent, "baseline", self._grid.baseline)
        client.log_param(self._parent, "cells", ", ".join(self._grid.cells)[:500])

    def _try(self, write: Callable[[MlflowClient], None]) -> None:
        if not self._enabled:
            return
        try:
            with exclusive(tracking_uri()):
                write(connect(tracking_uri()))
        except Exception as error:  # noqa: BLE001  # whatever MLflow or its database throws, the grid goes on
            self._enabled, self._parent = False, ""
            told = masked((str(error).strip().splitlines() or [""])[0])[:300]
            self._say(f"the grid is not tracked, MLflow failed ({type(error).__name__}: {told}); it goes on")
