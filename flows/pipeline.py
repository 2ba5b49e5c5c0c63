"""The pipeline as a Prefect flow: one task for each DVC stage, in order, of which only stale ones do work.

    python -m flows.pipeline

A held repository lock is waited for with growing pauses; any other failure ends the flow, since each
stage needs the one before. Exit codes: 0 done, 1 a stage failed, 2 bad usage or bad params.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from flows.settings import use_local_settings

use_local_settings()

from prefect import flow, get_run_logger, task  # noqa: E402  # the settings come first
from prefect.cache_policies import NO_CACHE  # noqa: E402
from prefect.tasks import exponential_backoff  # noqa: E402

from flows.stages import PIPELINE, Done, LockHeldError, StageFailedError, run_dvc_stage, stage_names  # noqa: E402
from stages.progress import human_time  # noqa: E402

LOCK_RETRIES = 4

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@dataclass(frozen=True, slots=True)
class Result:
    """A row of the final table; `code` is the exit code that the stage asks for."""

    stage: str
    outcome: str
    seconds: float
    code: int = 0


def _is_retryable(_task: Any, _run: Any, state: Any) -> bool:
    return isinstance(state.data, LockHeldError)


@task(
    task_run_name="{stage}",
    cache_policy=NO_CACHE,
    retries=LOCK_RETRIES,
    retry_delay_seconds=exponential_backoff(backoff_factor=5),
    retry_condition_fn=_is_retryable,
)
def run_stage_task(stage: str, force: bool) -> Done:
    """One stage as a task."""
    return run_dvc_stage(stage, force=force, say=get_run_logger().info)


@flow(name="pipeline", validate_parameters=False)
def pipeline(stages: list[str], force: bool = False) -> list[Result]:
    """Bring the stages up to date, in order; stops at the first that fails."""
    results: list[Result] = []
    for stage in stages:
        begin = time.monotonic()
        outcome, code = "failed", 0
        try:
            outcome = run_stage_task(stage, force).outcome
        except StageFailedError as error:
            get_run_logger().error(str(error))
            code = error.code
        results.append(Result(stage, outcome, time.monotonic() - begin, code))
        if code:
            break
    return results + [Result(stage, "not tried", 0.0) for stage in stages[len(results) :]]


def show(results: list[Result]) -> None:
    """Print the table of stages."""
    table = Table("stage", "outcome", box=None, header_style="bold")
    table.add_column("time", justify="right")
    for result in results:
        table.add_row(result.stage, result.outcome, human_time(result.seconds) if result.seconds else "")
    Console(highlight=False).print(table)


@app.command()
def main(
    until: Annotated[str, typer.Option(metavar="STAGE", help="the last stage to bring up to date")] = "",
    force: Annotated[bool, typer.Option("--force", help="run stages even if nothing changed")] = False,
) -> None:
    """Rebuild whatever is out of date, stage by stage, as a Prefect flow."""
    if not PIPELINE.exists():
        raise typer.BadParameter(f"there is no {PIPELINE} here: run from the repository's root")
    names = stage_names()
    if until and until not in names:
        raise typer.BadParameter(f"unknown stage {until!r}; there are {', '.join(names)}", param_hint="--until")
    results = pipeline(names[: names.index(until) + 1] if until else names, force)
    show(results)
    raise typer.Exit(max(result.code for result in results))


if __name__ == "__main__":
    app()
