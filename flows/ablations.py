"""Ablations: a grid of training runs from one warm start, judged by one reward, in one table.

    python -m flows.ablations rewards

A killed grid goes on where it stopped. Differences to the baseline are paired over validation rows, each
averaged over the seeds first, with a 95 % bootstrap interval. Exit codes: 0 done, 1 a run failed, 2 bad usage.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from flows.grid import Grid, GridError, Run, load_grid, runs, train, warm_start
from flows.settings import use_local_settings

use_local_settings()

import pyarrow.parquet as pq  # noqa: E402
from prefect import flow, get_run_logger, task  # noqa: E402  # the settings come first
from prefect.cache_policies import NO_CACHE  # noqa: E402

from stages.artifacts import write_json  # noqa: E402
from stages.episodes import ScoredEpisode, episode_from_row, rescored  # noqa: E402
from stages.evaluate.statistics import Difference, paired_difference  # noqa: E402
from stages.params import DEFAULT_SEED, ParamsError, check_block, load_params  # noqa: E402
from stages.progress import human_time  # noqa: E402
from stages.reward.rules import RewardRules  # noqa: E402
from stages.train.watch import episode_metrics  # noqa: E402

PARAMS = Path("params.yaml")
REPORTS = Path("reports/ablations")
SHOWN = ("calls", "calls_over_budget", "solved")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@dataclass(frozen=True, slots=True)
class CellResult:
    """A cell's mean reward under the whole reward, and its difference to the baseline."""

    cell: str
    seeds: int
    rows: int
    reward: float
    difference: Difference | None
    metrics: Mapping[str, float]


@task(task_run_name="{run.cell}, seed {run.seed}", cache_policy=NO_CACHE)
def train_run(run: Run, keep_weights: bool = False) -> None:
    """One run as a task."""
    begin = time.monotonic()
    ran = train(run, keep_weights=keep_weights)
    told = f"trained in {human_time(time.monotonic() - begin)}" if ran else "had been trained before"
    get_run_logger().info(f"{run.cell}, seed {run.seed}: {told}")


@flow(name="ablations", validate_parameters=False)
def ablations(name: str, grid: Grid, params: Path) -> list[Run]:
    """Train the warm start, then every run of the grid, one after another."""
    warm = warm_start(name, grid, params)
    train_run(warm, keep_weights=True)
    every = list(runs(name, grid, params, warm))
    for run in every:
        train_run(run)
    return every


def results(every: Sequence[Run], grid: Grid, rules: RewardRules, seed: int) -> list[CellResult]:
    """The cells in order, from their last validation; masked rows are left out of all pairs.

    Raises:
        GridError: a run was never validated, or no row was played by all of them.
    """
    played = {cell: [_last(run, rules) for run in every if run.cell == cell] for cell in grid.cells}
    known = [{e.row for e in run if not e.reward.masked} for part in played.values() for run in part]
    common = set.intersection(*known)
    if not common:
        raise GridError("no validation row was played by every run without a failure outside the model")
    rewards = {cell: _by_row(part, common) for cell, part in played.items()}
    out = []
    for cell, part in played.items():
        paired = paired_difference(rewards[cell], rewards[grid.baseline], seed=seed)
        whole = [e for run in part for e in run if e.row in common]
        mean = sum(rewards[cell].values()) / len(common)
        difference = None if cell == grid.baseline else paired
        out.append(CellResult(cell, len(part), len(common), mean, difference, episode_metrics(whole)))
    return out


def _last(run: Run, rules: RewardRules) -> list[ScoredEpisode]:
    """The episodes of the run's last validation, under the whole reward."""
    episodes = [episode_from_row(row) for row in pq.read_table(run.episodes).to_pylist()]
    if not episodes:
        raise GridError(f"{run.cell} was never validated: let train.validation.every divide train.grpo.steps")
    last = max(int(e.policy.removeprefix("step-")) for e in episodes)
    return [rescored(e, rules) for e in episodes if e.policy == f"step-{last}"]


def _by_row(part: Sequence[Sequence[ScoredEpisode]], rows: set[str]) -> dict[str, float]:
    """Each row's reward, averaged over the seeds."""
    totals = dict.fromkeys(sorted(rows), 0.0)
    for run in part:
        for episode in run:
            if episode.row in totals:
                totals[episode.row] += episode.reward.total / len(part)
    return totals


def show(found: Sequence[CellResult]) -> None:
    """Print the table of cells."""
    table = Table("cell", box=None, header_style="bold")
    for title in ("reward", "to the baseline", "95 %", *(name.replace("_", " ") for name in SHOWN)):
        table.add_column(title, justify="right")
    for cell in found:
        d = cell.difference
        difference = (f"{d.mean:+.3f}", f"[{d.low:+.3f}, {d.high:+.3f}]") if d else ("", "")
        figures = (f"{cell.metrics.get(name, 0.0):.3f}" for name in SHOWN)
        table.add_row(cell.cell, f"{cell.reward:.3f}", *difference, *figures)
    console = Console(highlight=False)
    console.print(table)
    console.print(f"{found[0].seeds} seeds, {found[0].rows} validation rows, greedy, all under the whole reward")


@app.command()
def main(
    grid: Annotated[str, typer.Argument(help="a grid of flows/grids, or a YAML file")] = "rewards",
    params: Annotated[Path, typer.Option(help="the parameters that the grid lies over")] = PARAMS,
) -> None:
    """Run a grid of ablations and print its table."""
    try:
        wanted, document = load_grid(grid), load_params(params)
        rules: RewardRules = check_block(RewardRules, document.get("reward", {}), "reward")
        found = results(ablations(grid, wanted, params), wanted, rules, document.get("seed", DEFAULT_SEED))
    except (GridError, ParamsError) as error:
        Console(stderr=True, highlight=False).print(f"ablations: {error}", markup=False, soft_wrap=True)
        raise typer.Exit(2 if isinstance(error, ParamsError) else 1) from None
    path = REPORTS / f"{Path(grid).stem}.json"
    write_json(path, [{**asdict(cell), "difference": cell.difference and cell.difference._asdict()} for cell in found])
    show(found)
    Console(highlight=False).print(f"[dim]{path}[/dim]")


if __name__ == "__main__":
    app()
