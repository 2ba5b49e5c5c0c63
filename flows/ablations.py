"""Ablations: a grid of training runs from one warm start, judged by one reward, in one table and one figure.

    python -m flows.ablations --grid rewards
    python -m flows.ablations --grid supervision --finished     # what is there already, without training on

A killed grid goes on where it stopped. In MLflow the grid is one run with its trainings below it; in a git repository
each finished training is a DVC experiment too. Exit codes: 0 done, 1 a run failed, 2 bad usage.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from flows.grid import Grid, GridError, Run, load_grid, runs, train, warm_start
from flows.settings import use_local_settings

use_local_settings()

from prefect import flow, get_run_logger, task, unmapped  # noqa: E402  # the settings come first
from prefect.cache_policies import NO_CACHE  # noqa: E402
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner  # noqa: E402

from flows.ablation_figure import draw  # noqa: E402
from flows.ablation_results import CellResult, judged, results  # noqa: E402
from flows.experiments import NoRepositoryError, repository, save  # noqa: E402
from flows.grid_tracking import GridTracking  # noqa: E402
from servers.kernel.catalog import load_catalog  # noqa: E402
from stages.artifacts import write_json  # noqa: E402
from stages.episodes import Scorer  # noqa: E402
from stages.params import DEFAULT_SEED, BootstrapParams, ParamsError, check_block, load_params  # noqa: E402
from stages.progress import human_time  # noqa: E402
from stages.reward.rules import RewardRules  # noqa: E402
from stages.skills import scorer_under  # noqa: E402

PARAMS = Path("params.yaml")
REPORTS = Path("reports/ablations")
SHOWN = ("calls", "calls_over_budget", "solved")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@dataclass(frozen=True)
class Keeper:
    """Who keeps what a run of the grid left: its parent in MLflow, and whether it becomes a DVC experiment."""

    grid: str
    tracking: GridTracking
    scorer: Scorer
    experiments: bool


@task(task_run_name="{run.cell}, seed {run.seed}", cache_policy=NO_CACHE)
def train_run(run: Run, keeper: Keeper, warm: bool = False) -> None:
    """One run as a task."""
    logger, begin = get_run_logger(), time.monotonic()
    ran = train(run, keep_weights=warm, tags=keeper.tracking.tags(run), say=logger.info)
    told = f"trained in {human_time(time.monotonic() - begin)}" if ran else "had been trained before"
    logger.info(f"{run.cell}, seed {run.seed}: {told}")
    if keeper.experiments and not warm:
        try:
            logger.info(f"DVC experiment {save(run, keeper.grid, judged(run, keeper.scorer))}")
        except (subprocess.CalledProcessError, NoRepositoryError) as error:
            said = (getattr(error, "stderr", "") or str(error)).strip()
            logger.warning(f"{run.cell}, seed {run.seed}: no DVC experiment, git says: {said[:300]}")


@flow(name="ablations", validate_parameters=False)
def ablations(name: str, grid: Grid, params: Path) -> tuple[list[Run], GridTracking]:
    """Train the warm start, then every run of the grid, as many at once as the flow's task runner takes."""
    logger, warm = get_run_logger(), warm_start(name, grid, params)
    every = list(runs(name, grid, params, warm))
    called = Path(name).stem
    keeper = Keeper(called, GridTracking(called, grid, every, logger.warning), scorer_of(params), _versioned())
    try:
        train_run(warm, keeper, warm=True)
        train_run.map(every, unmapped(keeper)).result()
    except BaseException:
        keeper.tracking.end("FAILED")
        raise
    return every, keeper.tracking


def _versioned() -> bool:
    """Whether runs can become DVC experiments here."""
    try:
        repository()
    except NoRepositoryError as error:
        get_run_logger().info(f"no DVC experiments: {error}")
        return False
    return True


def finished(name: str, grid: Grid, params: Path) -> tuple[Grid, list[Run]]:
    """The runs that are done, and the grid of their cells.

    Raises:
        GridError: the baseline has no run yet.
    """
    every = [run for run in runs(name, grid, params, warm_start(name, grid, params)) if run.finished]
    cells = {cell: overlay for cell, overlay in grid.cells.items() if any(run.cell == cell for run in every)}
    if grid.baseline not in cells:
        raise GridError(f"no run of the baseline {grid.baseline!r} is finished yet")
    return Grid(baseline=grid.baseline, seeds=grid.seeds, base=grid.base, cells=cells), every


def scorer_of(params: Path) -> Scorer:
    """The whole reward, by which all cells are judged: that of the parameters without the grid."""
    document = load_params(params)
    rules: RewardRules = check_block(RewardRules, document.get("reward", {}), "reward")
    servers: BootstrapParams = check_block(BootstrapParams, document.get("bootstrap", {}), "bootstrap")
    return scorer_under(rules, lambda: load_catalog(tuple(servers.servers)))


def show(found: Sequence[CellResult]) -> None:
    """Print the table of cells."""
    table = Table(box=None, header_style="bold")
    table.add_column("cell", no_wrap=True)
    for title in ("seeds", "reward", "to the baseline", "95 %", *(name.replace("_", " ") for name in SHOWN), "alarms"):
        table.add_column(title, justify="right")
    for cell in found:
        d = cell.difference
        difference = (f"{d.mean:+.3f}", f"[{d.low:+.3f}, {d.high:+.3f}]") if d else ("", "")
        figures = (f"{cell.metrics.get(name, 0.0):.3f}" for name in SHOWN)
        table.add_row(cell.cell, str(cell.seeds), f"{cell.reward:.3f}", *difference, *figures, alarms(cell))
    console = Console(highlight=False)
    console.print(table)
    console.print(f"{found[0].rows} validation rows, greedy, all under the whole reward; alarms: runs, first steps")


def alarms(cell: CellResult) -> str:
    """How many runs of a cell raised an alarm, and at which steps first."""
    steps = [str(step) for step in cell.alarms if step is not None]
    return f"{len(steps)} of {cell.seeds}" + (f" ({', '.join(steps)})" if steps else "")


@app.command()
def main(
    grid: Annotated[str, typer.Option(help="a grid of flows/grids, or a YAML file")] = "rewards",
    params: Annotated[Path, typer.Option(help="the parameters that the grid lies over")] = PARAMS,
    parallel: Annotated[int, typer.Option(min=1, help="runs at once")] = 1,
    only_finished: Annotated[bool, typer.Option("--finished", help="show the runs that are done")] = False,
) -> None:
    """Run a grid of ablations, print its table and draw its figure."""
    tracking = None
    try:
        wanted, scorer = load_grid(grid), scorer_of(params)
        if only_finished:
            wanted, every = finished(grid, wanted, params)
        else:
            runner: TaskRunner[Any] = ThreadPoolTaskRunner(max_workers=parallel)
            train_all = ablations.with_options(task_runner=runner)
            every, tracking = train_all(grid, wanted, params)
        found = results(every, wanted, scorer, load_params(params).get("seed", DEFAULT_SEED))
    except (GridError, ParamsError) as error:
        Console(stderr=True, highlight=False).print(f"ablations: {error}", markup=False, soft_wrap=True)
        raise typer.Exit(2 if isinstance(error, ParamsError) else 1) from None
    path = REPORTS / f"{Path(grid).stem}.json"
    write_json(path, [cell.plain() for cell in found])
    draw(path.with_suffix(".svg"), found, every)
    if tracking:
        tracking.log(found, (path, path.with_suffix(".svg")))
        tracking.end("FINISHED")
    show(found)
    Console(highlight=False).print(f"[dim]{path}\n{path.with_suffix('.svg')}[/dim]")


if __name__ == "__main__":
    app()
